"""What the writer of the power-cut check prints, line by line, and the log that the witness keeps of it.

The first line is the header, a JSON object with ``"fstui": "powercut/1"``. Then, in any mixture:

``ack WRITER SEQUENCE MS``  this record's sync has returned, MS milliseconds after the header
``alive MS``                once a second, also while the storage hangs: a line that stays away means a dead connection
``end MS REASON``           the writer stopped in good order: no power was cut while it wrote; or its storage failed,
                            ``failed: …``

A writer's sequences follow each other without a gap. A log ends anywhere; what stands after its last newline is not
read. It comes from outside: whatever it holds, only BadLog is raised.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

FORMAT = "powercut/1"
GONE = "the reader of its acknowledgements has gone"
"""Why a writer ends whose connection broke: the box itself is well."""
LONGEST_HEADER, LONGEST_LINE = 4 << 20, 4096
"""Bytes. The header holds the whole stack; a reason to end is one sentence."""
FAILED = "failed: "
"""How the reason begins of a writer whose storage answered with an error: its power may be gone."""
_MOST_DIGITS = 18
"""Of a number: it fits into 64 bits."""


class BadLog(Exception):  # noqa: N818  said to the user as it is
    """This is not the log of a power-cut run; the message says why."""


class Ack(NamedTuple):
    """An acknowledged record."""

    writer: int
    sequence: int
    at_ms: int


class Alive(NamedTuple):
    """The writer lives."""

    at_ms: int


class End(NamedTuple):
    """The writer's own end."""

    at_ms: int
    reason: str


class Acknowledged:
    """What one writer acknowledged: ``first`` to ``last``, and when."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.at_ms = array("q")

    @property
    def last(self) -> int:
        """The newest sequence."""
        return self.first + len(self.at_ms) - 1

    def when(self, sequence: int) -> int:
        """Milliseconds after the header."""
        return self.at_ms[sequence - self.first]


class Log:
    """A run's header and what was acknowledged of it."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header
        self.writers: dict[int, Acknowledged] = {}
        self.newest: Ack | None = None
        self.ended: str | None = None
        self.last_ms = 0
        """The newest acknowledgement."""
        self.heard_ms = 0
        """The newest line of any kind."""

    @property
    def failed(self) -> bool:
        """It ended by an error of its storage, as where a disk alone loses its power."""
        return self.ended is not None and self.ended.startswith(FAILED)

    @property
    def acknowledged(self) -> int:
        """How many records."""
        return sum(len(writer.at_ms) for writer in self.writers.values())

    def add(self, line: bytes) -> None:
        """One more line, without its newline. Raises BadLog."""
        match parse_line(line):
            case Ack(writer, sequence, at_ms) as ack:
                known = self.writers.setdefault(writer, Acknowledged(sequence))
                if sequence != known.last + 1:
                    raise BadLog(f"writer {writer} acknowledges {sequence} after {known.last}: lines are missing")
                known.at_ms.append(at_ms)
                self.newest = ack
                self.last_ms = self.heard_ms = max(self.last_ms, at_ms)
            case Alive(at_ms):
                self.heard_ms = max(self.heard_ms, at_ms)
            case End(at_ms, reason):
                self.heard_ms = max(self.heard_ms, at_ms)
                self.ended = reason


def parse_line(line: bytes) -> Ack | Alive | End:
    """Any line but the header. Raises BadLog."""
    try:
        match line[: LONGEST_LINE + 1].split(b" "):
            case [b"ack", writer, sequence, at_ms]:
                return Ack(_number(writer), _number(sequence), _number(at_ms))
            case [b"alive", at_ms]:
                return Alive(_number(at_ms))
            case [b"end", at_ms, *reason] if len(line) <= LONGEST_LINE:
                return End(_number(at_ms), b" ".join(reason).decode(errors="backslashreplace"))
    except ValueError:
        pass
    raise BadLog(f"{_beginning(line)} is no line of a power-cut run")


def _number(digits: bytes) -> int:
    """Raises ValueError: int() would take signs, blanks and underscores as well, and what fits into no field."""
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        raise ValueError
    return int(digits)


def parse_header(line: bytes) -> dict[str, Any]:
    """The first line. Raises BadLog."""
    try:
        header = json.loads(line) if len(line) <= LONGEST_HEADER else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or not str(header.get("fstui", "")).startswith("powercut/"):
        raise BadLog(f"it begins with {_beginning(line)}, not with a power-cut run's header")
    if header["fstui"] != FORMAT:
        raise BadLog(f"its format is {str(header['fstui'])[:20]!r}, and this fstui reads {FORMAT!r}")
    return header


def _beginning(line: bytes) -> str:
    return repr(line[:60].decode(errors="backslashreplace"))


def parse(data: bytes) -> Log:
    """A whole log. A last line that was cut off is left out. Raises BadLog, with the number of the line."""
    if not data:
        raise BadLog("it is empty: the witness saw nothing")
    *lines, _ = data.split(b"\n")
    if not lines:
        raise BadLog("it ends within its first line: nothing was acknowledged")
    log = Log(parse_header(lines[0]))
    for number, line in enumerate(lines[1:], 2):
        try:
            log.add(line)
        except BadLog as bad:
            raise BadLog(f"line {number}: {bad}") from None
    return log


class Lines:
    """The log while it arrives, in any pieces → its whole lines."""

    def __init__(self) -> None:
        self.rest = b""
        """What came after the last newline."""

    def feed(self, data: bytes, longest: int) -> Iterator[bytes]:
        """The lines that are whole now. Then raises BadLog where the next has no end: what is kept is bounded."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        yield from lines
        if len(self.rest) > longest:
            raise BadLog(f"{_beginning(self.rest)} goes on for more than {longest} bytes without an end of line")
