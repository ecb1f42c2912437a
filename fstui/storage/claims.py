"""What only tools can tell, and most of it only to root: what to ask them, and what they answered.

They can hang on dead hardware, so a child process runs them (``fstui.measure.helpers.claims``). The layers' own modules
interpret the answers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fstui.model.storage import Reading

Command = tuple[str, ...]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command printed, or why there is no answer."""

    output: str = ""
    error: str | None = None


Claims = Mapping[str, Answer]
"""Answers by command line, as a person would type it: it is also the path of the readings that come of it."""

UNASKED: Claims = {}


class Question(NamedTuple):
    """A read-only command."""

    command: Command
    root: bool = False
    """Only root is answered."""


def line(command: Command) -> str:
    """The command as it is typed."""
    return shlex.join(command)


def answer(claims: Claims, command: Command) -> str | None:
    """What a command printed; None where it gave no answer."""
    found = claims.get(line(command))
    return found.output if found is not None and found.error is None else None


def missing(what: str, commands: Iterable[Command], claims: Claims, unasked: str = "not asked yet") -> Reading:
    """Says what could not be read, and why: in the words of the tools, or ``unasked`` where none has answered."""
    lines = [line(command) for command in commands]
    given = [
        (asked, found.error or "says nothing of it") for asked in lines if (found := claims.get(asked)) is not None
    ]
    # an installed tool's own words are worth more than the absence of another
    given.sort(key=lambda pair: pair[1].endswith("is not installed"))
    command, why = given[0] if given else (lines[-1], unasked)
    return Reading(what="missing", value=f"{what}: {why}", path=command)


def decode(answer: Any) -> Claims:
    """One line of the child's; empty where it is not of that shape."""
    try:
        return {str(answer["command"]): msgspec.convert({**answer, "command": None}, Answer)}
    except (TypeError, KeyError, msgspec.ValidationError):
        return {}


def unanswered(asked: Iterable[Command]) -> Claims:
    """What to think of commands until they have answered."""
    return {line(command): Answer(error="no answer") for command in asked}
