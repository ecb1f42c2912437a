"""The bytes between a probe and the engine, the fstui process that started it.

A probe sends frames: a header (payload length, kind) and a payload, which is JSON, or binary for ``samples``. A frame
has at most PIPE_BUF bytes, so its write is atomic (pipe(7)), and the writers of a probe share stdout without a lock.

The kinds of frames, in the usual order: ``facts`` ``preparing`` ``ready`` ``samples`` ``inflight`` ``figures``
``error`` ``done``. The engine sends the settings as one line of JSON, then the lines ``go`` and ``stop``.

Samples are readings of the monotonic clock in ns at the start of an operation and at the end of each of its parts.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from operator import sub
from typing import Any, NamedTuple

PIPE_BUF = 4096
FIRST_SAMPLES = 100
"""A probe sends its first samples when it has so many, because the engine then pauses the trace of a fast step."""
_TIME = "n" if struct.calcsize("n") == 8 else "q"
"""The struct format of a time in ns. Packing the native ``n`` takes a third of the time of a ``q``."""
_HEADER = struct.Struct("IB3x")
_SAMPLES_HEADER = struct.Struct(f"IBB2x{_TIME}")
# an even number, so that a write and its sync are in the same frame
_PART_ENDS_PER_FRAME = (PIPE_BUF - _HEADER.size - _SAMPLES_HEADER.size) // 16 * 2

KINDS = ("facts", "preparing", "ready", "inflight", "samples", "figures", "error", "done")
_NOT_A_FRAME = "not a frame: the probe printed something else"
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class BadFrame(ValueError):  # noqa: N818  reported to the user
    """The bytes are not a frame."""


class Frame(NamedTuple):
    kind: str
    fields: dict[str, Any]


class Samples(NamedTuple):
    """Operations of one writer, in order. An operation has two parts, a write and its sync, or only one part."""

    writer: int
    parts: int
    has_pauses: bool
    """Whether there are pauses between operations. Otherwise, the end of an operation is also the start of the next."""
    readings_ns: memoryview
    """The start of the first operation, or of each operation if there are pauses, and the end of each part."""
    spans_ns: tuple[int, ...]
    """The time from each reading to the next."""

    @classmethod
    def from_part_ends(cls, writer: int, parts: int, start_ns: int, part_ends_ns: Sequence[int]) -> Samples:
        """Return samples without pauses. Raises BadFrame if the first end is before ``start_ns`` or after the last."""
        return _decode_samples(memoryview(_pack(writer, parts, False, start_ns, part_ends_ns)))

    @property
    def _stride(self) -> int:
        return self.parts + self.has_pauses

    @property
    def begins_ns(self) -> memoryview:
        return self.readings_ns[: -self.parts : self._stride]

    @property
    def ends_ns(self) -> memoryview:
        return self.readings_ns[self.parts :: self._stride]

    def durations_ns(self, part: int) -> tuple[int, ...]:
        """Return the durations of part 0 or 1 of each operation."""
        return self.spans_ns[part :: self._stride]


def encode(kind: str, **fields: Any) -> bytes:
    """Return a JSON frame. Raises ValueError if the frame would exceed PIPE_BUF."""
    payload = json.dumps(fields, separators=(",", ":")).encode()
    if len(payload) + _HEADER.size > PIPE_BUF:
        raise ValueError(f"a {kind} frame of {len(payload)} bytes exceeds {PIPE_BUF}")
    return _HEADER.pack(len(payload), _KIND_NUMBERS[kind]) + payload


def encode_samples(writer: int, parts: int, start_ns: int, part_ends_ns: Sequence[int]) -> Iterator[bytes]:
    """Yield samples without pauses in frames that fit into PIPE_BUF."""
    for first in range(0, len(part_ends_ns), _PART_ENDS_PER_FRAME):
        frame_start_ns = start_ns if first == 0 else part_ends_ns[first - 1]
        yield _encode_frame(writer, parts, False, frame_start_ns, part_ends_ns[first : first + _PART_ENDS_PER_FRAME])


def encode_samples_with_pauses(writer: int, parts: int, readings: Sequence[int]) -> Iterator[bytes]:
    """Yield samples with pauses. ``readings``: the start and the ends of the parts of each operation."""
    readings_per_op = parts + 1
    max_readings = (_PART_ENDS_PER_FRAME + 1) // readings_per_op * readings_per_op
    for first in range(0, len(readings), max_readings):
        yield _encode_frame(writer, parts, True, readings[first], readings[first + 1 : first + max_readings])


def _encode_frame(writer: int, parts: int, has_pauses: bool, start_ns: int, part_ends_ns: Sequence[int]) -> bytes:
    payload = _pack(writer, parts, has_pauses, start_ns, part_ends_ns)
    return _HEADER.pack(len(payload), _KIND_NUMBERS["samples"]) + payload


def _pack(writer: int, parts: int, has_pauses: bool, start_ns: int, part_ends_ns: Sequence[int]) -> bytes:
    # faster than array("q", part_ends_ns)
    return struct.pack(
        f"{_SAMPLES_HEADER.format}{len(part_ends_ns)}{_TIME}", writer, parts, int(has_pauses), start_ns, *part_ends_ns
    )


class Decoder:
    """Split the bytes of a probe into frames. Keep an incomplete frame until more bytes arrive."""

    def __init__(self) -> None:
        self._incomplete = b""

    def feed(self, data: bytes) -> Iterator[Frame | Samples]:
        view = memoryview(self._incomplete + data)
        offset = 0
        while offset + _HEADER.size <= len(view):
            length, number = _HEADER.unpack_from(view, offset)
            if number >= len(KINDS) or length > PIPE_BUF:
                raise BadFrame(_NOT_A_FRAME)
            end = offset + _HEADER.size + length
            if end > len(view):
                break
            yield _decode(KINDS[number], view[offset + _HEADER.size : end])
            offset = end
        self._incomplete = bytes(view[offset:])


def _decode(kind: str, payload: memoryview) -> Frame | Samples:
    if kind == "samples":
        return _decode_samples(payload)
    try:
        fields = json.loads(bytes(payload), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise BadFrame(_NOT_A_FRAME) from None
    if not isinstance(fields, dict):
        raise BadFrame(_NOT_A_FRAME)
    return Frame(kind, fields)


def _decode_samples(payload: memoryview) -> Samples:
    end_count, odd_bytes = divmod(len(payload) - _SAMPLES_HEADER.size, 8)
    if end_count < 0 or odd_bytes:
        raise BadFrame(_NOT_A_FRAME)
    writer, parts, has_pauses, _ = _SAMPLES_HEADER.unpack_from(payload)
    readings = payload[_SAMPLES_HEADER.size - 8 :].cast("q")  # the header ends with the first reading
    is_complete = parts in (1, 2) and has_pauses in (0, 1) and (end_count + has_pauses) % (parts + has_pauses) == 0
    if not is_complete or (end_count and not readings[0] <= readings[1] <= readings[-1]):
        raise BadFrame(_NOT_A_FRAME)
    spans = tuple(map(sub, readings[1:], readings))
    if min(spans, default=0) < 0:  # the clock went back
        spans = tuple(max(0, span) for span in spans)
    return Samples(writer, parts, bool(has_pauses), readings, spans)


def _refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(name)
