"""The bytes between a probe and the engine, the fstui process that started it.

A probe sends frames: a header (payload length, kind) and a payload, which is JSON, or binary for ``samples``. A frame
never exceeds PIPE_BUF. Such a write is atomic (pipe(7)), so the writers of a probe share its stdout without a lock.

The kinds of frames, in the usual order: ``facts`` ``preparing`` ``ready`` ``samples`` ``inflight`` ``figures``
``error`` ``done``. The engine sends the settings as one line of JSON, then the lines ``go`` and ``stop``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from operator import sub
from typing import Any, NamedTuple

PIPE_BUF = 4096
_TIME = "n" if struct.calcsize("n") == 8 else "q"
"""A time in ns. Packing a native word takes a third of the time of a ``q``."""
_HEADER = struct.Struct("IB3x")
_SAMPLES_HEADER = struct.Struct(f"IBB2x{_TIME}")
# an even number, so that a write and its sync are in the same frame
_MARKS_PER_FRAME = (PIPE_BUF - _HEADER.size - _SAMPLES_HEADER.size) // 16 * 2

KINDS = ("facts", "preparing", "ready", "inflight", "samples", "figures", "error", "done")
_NO_FRAME = "not a frame: the probe printed something else"
_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


class BadFrame(ValueError):  # noqa: N818  reported to the user
    """The bytes are not a frame."""


class Frame(NamedTuple):
    kind: str
    fields: dict[str, Any]


class Samples(NamedTuple):
    """Operations of one writer in order. Each has one part, or two: a write and its sync."""

    writer: int
    parts: int
    apart: bool
    """Whether there are pauses between operations. If not, an operation begins when the one before it ends, so both
    share a clock reading."""
    readings_ns: memoryview
    """The monotonic clock at the start of the operations, and at the end of each part."""
    spans_ns: tuple[int, ...]
    """The time from each reading to the next."""

    @classmethod
    def of(cls, writer: int, parts: int, start_ns: int, marks: Sequence[int]) -> Samples:
        """``marks``: when each part ended. Raises BadFrame if the last part ended before the first."""
        return _samples(memoryview(_packed(writer, parts, False, start_ns, marks)))

    @property
    def _stride(self) -> int:
        return self.parts + self.apart

    @property
    def begins_ns(self) -> memoryview:
        return self.readings_ns[: -self.parts : self._stride]

    @property
    def ends_ns(self) -> memoryview:
        return self.readings_ns[self.parts :: self._stride]

    def durations_ns(self, part: int) -> tuple[int, ...]:
        """Return the durations of that part (0 or 1) of each operation."""
        return self.spans_ns[part :: self._stride]


def encode(kind: str, **fields: Any) -> bytes:
    """Return a JSON frame. Raises ValueError if it would exceed PIPE_BUF."""
    payload = json.dumps(fields, separators=(",", ":")).encode()
    if len(payload) + _HEADER.size > PIPE_BUF:
        raise ValueError(f"a {kind} frame of {len(payload)} bytes exceeds {PIPE_BUF}")
    return _HEADER.pack(len(payload), _NUMBER[kind]) + payload


def encode_samples(writer: int, parts: int, start_ns: int, marks: Sequence[int]) -> Iterator[bytes]:
    """Yield samples without pauses in frames that fit into PIPE_BUF."""
    for first in range(0, len(marks), _MARKS_PER_FRAME):
        begun_ns = start_ns if first == 0 else marks[first - 1]
        yield _samples_frame(writer, parts, False, begun_ns, marks[first : first + _MARKS_PER_FRAME])


def encode_samples_apart(writer: int, parts: int, readings: Sequence[int]) -> Iterator[bytes]:
    """Yield samples with pauses. ``readings``: of each operation, the start and the end of each part."""
    readings_per_op = parts + 1
    most = (_MARKS_PER_FRAME + 1) // readings_per_op * readings_per_op
    for first in range(0, len(readings), most):
        yield _samples_frame(writer, parts, True, readings[first], readings[first + 1 : first + most])


def _samples_frame(writer: int, parts: int, apart: bool, start_ns: int, marks: Sequence[int]) -> bytes:
    payload = _packed(writer, parts, apart, start_ns, marks)
    return _HEADER.pack(len(payload), _NUMBER["samples"]) + payload


def _packed(writer: int, parts: int, apart: bool, start_ns: int, marks: Sequence[int]) -> bytes:
    # quicker than array("q", marks)
    return struct.pack(f"{_SAMPLES_HEADER.format}{len(marks)}{_TIME}", writer, parts, int(apart), start_ns, *marks)


class Decoder:
    """Split the bytes of a probe into frames. An incomplete frame is kept for later."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Frame | Samples]:
        view = memoryview(self._rest + data)
        offset = 0
        while offset + _HEADER.size <= len(view):
            length, number = _HEADER.unpack_from(view, offset)
            if number >= len(KINDS) or length > PIPE_BUF:
                raise BadFrame(_NO_FRAME)
            end = offset + _HEADER.size + length
            if end > len(view):
                break
            yield _decode(KINDS[number], view[offset + _HEADER.size : end])
            offset = end
        self._rest = bytes(view[offset:])


def _decode(kind: str, payload: memoryview) -> Frame | Samples:
    if kind == "samples":
        return _samples(payload)
    try:
        fields = json.loads(bytes(payload), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadFrame(_NO_FRAME) from None
    if not isinstance(fields, dict):
        raise BadFrame(_NO_FRAME)
    return Frame(kind, fields)


def _samples(payload: memoryview) -> Samples:
    count, odd = divmod(len(payload) - _SAMPLES_HEADER.size, 8)
    if count < 0 or odd:
        raise BadFrame(_NO_FRAME)
    writer, parts, apart, _ = _SAMPLES_HEADER.unpack_from(payload)
    readings = payload[_SAMPLES_HEADER.size - 8 :].cast("q")  # the header ends with the first reading
    is_complete = parts in (1, 2) and apart in (0, 1) and (count + apart) % (parts + apart) == 0
    if not is_complete or (count and not readings[0] <= readings[1] <= readings[-1]):
        raise BadFrame(_NO_FRAME)
    spans = tuple(map(sub, readings[1:], readings))
    if min(spans, default=0) < 0:  # the clock went back
        spans = tuple(max(0, span) for span in spans)
    return Samples(writer, parts, bool(apart), readings, spans)


def _no_number(name: str) -> None:
    raise ValueError(name)
