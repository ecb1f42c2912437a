"""What only tools can report, most of it only to root: which commands to run, and what they printed.

The tools can hang on dead hardware, so a child process runs them (``fstui.measure.helpers.claims``). The modules of the
layers interpret what they printed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fstui.model.storage import Reading

Command = tuple[str, ...]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    output: str = ""
    error: str | None = None


Claims = Mapping[str, Answer]
"""Answers by command line, as typed in a shell. Readings that come from an answer have this command line as path."""

UNASKED: Claims = {}


ROOT_ONLY = frozenset({"dmsetup", "hdparm", "losetup", "nvme", "smartctl"})


def line(command: Command) -> str:
    return shlex.join(command)


def answer(claims: Claims, command: Command) -> str | None:
    found = claims.get(line(command))
    return found.output if found is not None and found.error is None else None


def missing(what: str, commands: Sequence[Command], claims: Claims) -> Reading:
    """Return a reading that says what could not be read, and why."""
    lines = [line(command) for command in commands]
    # if no command was run, the last one stands for all
    no_answer = "root only, or not asked yet" if commands[-1][0] in ROOT_ONLY else "not asked yet"
    errors = [(each, found.error or "does not report it") for each in lines if (found := claims.get(each)) is not None]
    # the message of an installed tool is more useful than the absence of another
    errors.sort(key=lambda pair: pair[1].endswith("is not installed"))
    command, why = errors[0] if errors else (lines[-1], no_answer)
    return Reading(what="missing", value=f"{what}: {why}", path=command)


def decode(answer: Any) -> Claims:
    """Decode one line of the child; empty if it has another form."""
    try:
        return {str(answer["command"]): msgspec.convert(answer, Answer)}
    except (TypeError, KeyError, msgspec.ValidationError):
        return {}


def unanswered(commands: Iterable[Command]) -> Claims:
    return {line(command): Answer(error="no answer") for command in commands}
