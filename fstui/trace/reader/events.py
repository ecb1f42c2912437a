"""Decode pages of the kernel's ring buffer into events.

Offsets and sizes change between kernels, so they are read from ``events/*/format`` and ``events/header_page``. A page
(include/linux/ring_buffer.h, kernel/trace/ring_buffer.c) begins with a time and the number of its data bytes. High bits
of this number are flags: events were lost before the page. The events follow. Each begins with a word of 32 bits: its
length or type, and the ns since the previous event.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from fstui.trace.reader.tracefs import TracefsError

FIELD = re.compile(
    r"field:(?P<declared>[^;]+);\s*offset:(?P<at>\d{1,9});\s*size:(?P<size>\d{1,9});(?:\s*signed:(?P<signed>\d);)?"
)
NUMBERS = {1: "b", 2: "h", 4: "i", 8: "q"}
"""The struct letter of a signed number, by its size in bytes; the upper-case letter is unsigned."""
COMMITTED = 0xFFFFF
"""Mask of the number of data bytes, without the flags."""
MAX_DATA, PADDING, TIME_EXTEND, TIME_STAMP = 28, 29, 30, 31
"""Event types. 1 to 28 are lengths in words. If the type is 0, the length in bytes is in the next word."""
DELTA_BITS = 27
DELTA = (1 << DELTA_BITS) - 1
LITTLE = sys.byteorder == "little"
KIND_AT, DELTA_AT, ID_AT = (0, 5, 0) if LITTLE else (27, 0, 16)
"""Bit positions of the type, the time delta and the event id in their words."""
STAMP = (1 << 59) - 1
"""Mask of an absolute time stamp. It has 59 bits; the five higher bits stay those of the previous time."""
Event = tuple[int, int, tuple[Any, ...]]
"""Time (ns of the buffer's clock), event id, requested fields. A plain tuple, because there are many."""
Reader = struct.Struct
"""Unpacks the requested fields of one kind of event."""


class Garbled(Exception):  # noqa: N818  the caller counts it as a lost event
    """The page contradicts itself, so none of its events can be trusted."""


class Field(NamedTuple):
    at: int
    size: int
    signed: bool
    is_text: bool
    """Whether it is a character array, which ends at a NUL byte or at its size."""


class EventFormat(NamedTuple):
    name: str
    id: int
    fields: dict[str, Field]

    def reader(self, *names: str) -> Reader:
        """Return a struct that unpacks these fields, given in the order of their offsets. Raises TracefsError."""
        form, at = "=", 0
        for name in names:
            field = self.fields.get(name)
            if field is None or field.at < at:
                raise TracefsError(f"the event {self.name} of this kernel has no field {name} at the expected place")
            form += f"{field.at - at}x{struct_letter(field)}"
            at = field.at + field.size
        try:
            return struct.Struct(form)
        except struct.error as error:
            raise TracefsError(f"the format of the event {self.name} cannot be parsed: {error}") from error


def struct_letter(field: Field) -> str:
    if field.is_text:
        return f"{field.size}s"
    if field.size not in NUMBERS:
        raise TracefsError(f"a field of {field.size} bytes is not a number")
    return NUMBERS[field.size] if field.signed else NUMBERS[field.size].upper()


def fields_of(text: str) -> dict[str, Field]:
    fields = {}
    for match in FIELD.finditer(text):
        words = match["declared"].split()
        if not words:
            continue
        name, bracket, _ = words[-1].partition("[")
        is_text = bool(bracket) and "char" in words and "__data_loc" not in words
        fields[name] = Field(int(match["at"]), int(match["size"]), match["signed"] == "1", is_text)
    return fields


def parse_format(name: str, text: str) -> EventFormat:
    """Parse the ``format`` file of an event. Raises TracefsError."""
    number = re.search(r"^ID: (\d{1,9})$", text, re.MULTILINE)
    fields = fields_of(text)
    if number is None or not fields:
        raise TracefsError(f"the format of the event {name} cannot be parsed")
    return EventFormat(name, int(number[1]), fields)


class PageLayout(NamedTuple):
    """The layout of a buffer page, from ``events/header_page``."""

    commit: Field
    """The number of data bytes, and flags."""
    data_at: int
    bytes: int
    """Size of a page. A read of this many bytes returns exactly one page."""


def parse_page_layout(text: str) -> PageLayout:
    """Parse ``events/header_page``. Raises TracefsError."""
    fields = fields_of(text)
    if not {"timestamp", "commit", "data"} <= fields.keys() or fields["timestamp"] != Field(0, 8, False, False):
        raise TracefsError("the page header of the trace buffer cannot be parsed")
    data = fields["data"]
    return PageLayout(fields["commit"], data.at, data.at + data.size)


def time_of(page: bytes) -> int:
    """Return the time at which the page begins, in ns."""
    return int.from_bytes(page[:8], sys.byteorder)


def data_end(page: bytes, layout: PageLayout) -> int:
    commit = page[layout.commit.at : layout.commit.at + layout.commit.size]
    return layout.data_at + (int.from_bytes(commit, sys.byteorder) & COMMITTED)


def decode(page: bytes, layout: PageLayout, readers: Mapping[int, Reader]) -> list[Event]:
    """Return the events of a page for which there is a reader (by event id). Raises Garbled."""
    begin, now = layout.data_at, time_of(page)
    count = (data_end(page, layout) - begin) // 4
    if begin + 4 * count > len(page) or count < 0:
        raise Garbled("a page of the trace buffer ends before its data")
    words = struct.unpack_from(f"={count}I", page, begin)
    events: list[Event] = []
    at = 0
    while at < count:
        head = words[at]
        kind, delta = head >> KIND_AT & 31, head >> DELTA_AT & DELTA
        if 0 < kind <= MAX_DATA:  # nearly all events
            now += delta
            data, at = at + 1, at + 1 + kind
        elif kind == PADDING and not delta:
            break  # the rest of the page is empty
        else:
            now, data, at = _decode_unusual(words, at, now)
        if at > count:
            raise Garbled("an event of the trace buffer is longer than its page")
        if data < at and (reader := readers.get(number := words[data] >> ID_AT & 0xFFFF)):
            if 4 * (at - data) < reader.size:
                raise Garbled("an event of the trace buffer is shorter than its format says")
            events.append((now, number, reader.unpack_from(page, begin + 4 * data)))
    return events


def _decode_unusual(words: tuple[int, ...], at: int, now: int) -> tuple[int, int, int]:
    """Decode a long event, a discarded event or a time stamp.

    Returns the new time, the index of the event's data, and the index of the next event.
    """
    if at + 1 >= len(words):
        raise Garbled("an event of the trace buffer is cut off")
    head, word = words[at], words[at + 1]
    kind, delta = head >> KIND_AT & 31, head >> DELTA_AT & DELTA
    if kind == TIME_EXTEND:
        return now + delta + (word << DELTA_BITS), at + 2, at + 2
    if kind == TIME_STAMP:
        return (now & ~STAMP) | (delta + (word << DELTA_BITS) & STAMP), at + 2, at + 2
    if word < 4:
        raise Garbled("an event of the trace buffer has no length")
    next_at = at + 1 + (word + 3) // 4
    return now + delta, next_at if kind == PADDING else at + 2, next_at
