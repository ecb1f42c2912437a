"""The lines that the writer of the power-cut test prints, and the log in which the witness stores them.

The first line is the header, a JSON object with ``"fstui": "powercut/1"``. Then, in any order:

``ack WRITER SEQUENCE MS``  the sync of this record returned, MS milliseconds after the header
``alive MS``                once a second, even if the storage hangs; if this line is missing, the connection is dead
``end MS REASON``           the writer stopped by itself, so no power was cut while it wrote; or it failed
                            (``failed: …``)

The sequence numbers of a writer have no gaps. A log may end anywhere: text after its last newline is ignored. Logs are
untrusted input: for any content, only BadLog is raised.
"""

import json
from array import array
from typing import Any, NamedTuple

FORMAT = "powercut/1"
READER_GONE = "the reader of its acknowledgements has gone"
"""The reason if a writer ends because its connection broke while its host is still running."""
MAX_HEADER, MAX_LINE = 4 << 20, 4096
"""Bytes. The header contains the whole stack; the reason in an ``end`` line is one sentence."""
FAILURE_PREFIX = "failed: "
"""Prefix of the reason if the storage returned an error: its power may have been cut."""
_MAX_DIGITS = 18
"""A number with this many digits fits into 64 bits."""


class BadLog(Exception):  # noqa: N818  its message is printed
    """The data is not the log of a power-cut test; the message says why."""


class Ack(NamedTuple):
    writer: int
    sequence: int
    at_ms: int


class WriterEnd(NamedTuple):
    reason: str
    has_failed: bool = False
    """The storage returned an error."""


class AckSeries:
    def __init__(self, first_sequence: int) -> None:
        self.first_sequence = first_sequence
        """The sequence number of the first acknowledgement. The others follow without a gap."""
        self.at_ms = array("q")

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + len(self.at_ms) - 1

    def time_ms(self, sequence: int) -> int:
        return self.at_ms[sequence - self.first_sequence]


class Log:
    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header
        self.writers: dict[int, AckSeries] = {}
        self.newest_ack: Ack | None = None
        self.end_reason: str | None = None
        self.last_ms = 0

    @property
    def has_failed(self) -> bool:
        """Whether the storage returned an error, as after a power cut of the disk alone."""
        return self.end_reason is not None and self.end_reason.startswith(FAILURE_PREFIX)

    @property
    def ack_count(self) -> int:
        return sum(len(writer.at_ms) for writer in self.writers.values())

    def add(self, line: bytes) -> None:
        """Add a line without its newline. Raises BadLog."""
        try:
            match line[: MAX_LINE + 1].split(b" "):
                case [b"ack", writer, sequence, at_ms]:
                    self._acknowledge(Ack(_number(writer), _number(sequence), _number(at_ms)))
                case [b"alive", at_ms]:
                    _number(at_ms)
                case [b"end", at_ms, *reason] if len(line) <= MAX_LINE:
                    _number(at_ms)
                    self.end_reason = b" ".join(reason).decode(errors="backslashreplace")
                case _:
                    raise ValueError
        except ValueError:
            raise BadLog(f"{beginning(line)} is not a line of a power-cut test") from None

    def _acknowledge(self, ack: Ack) -> None:
        acks = self.writers.setdefault(ack.writer, AckSeries(ack.sequence))
        last = acks.last_sequence
        if ack.sequence != last + 1:
            raise BadLog(f"writer {ack.writer} acknowledges {ack.sequence} after {last}: lines are missing")
        acks.at_ms.append(ack.at_ms)
        self.newest_ack = ack
        self.last_ms = max(self.last_ms, ack.at_ms)


def _number(digits: bytes) -> int:
    # int() also accepts signs, blanks, underscores and any number of digits
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise ValueError
    return int(digits)


def parse_header(line: bytes) -> dict[str, Any]:
    """Parse the first line. Raises BadLog."""
    try:
        header = json.loads(line) if len(line) <= MAX_HEADER else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or not str(header.get("fstui", "")).startswith("powercut/"):
        raise BadLog(f"it begins with {beginning(line)}, not with the header of a power-cut test")
    if header["fstui"] != FORMAT:
        raise BadLog(f"its format is {str(header['fstui'])[:20]!r}; this version of fstui reads {FORMAT!r}")
    return header


def beginning(line: bytes) -> str:
    return repr(line[:60].decode(errors="backslashreplace"))


def parse(data: bytes) -> Log:
    """Parse a whole log and ignore an incomplete last line. Raises BadLog with the line number."""
    if not data:
        raise BadLog("it is empty: the witness received no acknowledgement")
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
