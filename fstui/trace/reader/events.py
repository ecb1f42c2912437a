"""Decode pages of the kernel's ring buffer into events.

Offsets and sizes change between kernels, so they are read from ``events/*/format`` and ``events/header_page``. A page
(include/linux/ring_buffer.h, kernel/trace/ring_buffer.c) begins with a time and the number of its data bytes. The high
bits of this number are flags, which show that events before the page were lost. The events follow. Each begins with a
word of 32 bits: its length or type, and the ns since the previous event.
"""

import re
import struct
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from fstui.trace.reader.tracefs import TracefsError

FIELD = re.compile(
    r"field:(?P<declaration>[^;]+);\s*offset:(?P<offset>\d{1,9});\s*size:(?P<size>\d{1,9});(?:\s*signed:(?P<signed>\d);)?"
)
INTEGER_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}
"""The format letter of Python's struct for a signed number, by its size in bytes. Upper case means unsigned."""
DATA_SIZE_MASK = 0xFFFFF
"""Mask of a page's number of data bytes, without the flags."""
MAX_DATA, PADDING, TIME_EXTEND, TIME_STAMP = 28, 29, 30, 31
"""Event types. The types 1 to 28 are lengths in words. If the type is 0, the next word contains the length in bytes."""
DELTA_BITS = 27
DELTA_MASK = (1 << DELTA_BITS) - 1
IS_LITTLE_ENDIAN = sys.byteorder == "little"
KIND_SHIFT, DELTA_SHIFT, ID_SHIFT = (0, 5, 0) if IS_LITTLE_ENDIAN else (27, 0, 16)
"""Lowest bit of an event's type, of its time delta, and of its id, each in its own word."""
TIME_STAMP_MASK = (1 << 59) - 1
"""Mask of the 59 bits of an absolute time stamp. It has the same five higher bits as the time of the previous event."""
Event = tuple[int, int, tuple[Any, ...]]
"""Time (ns of the buffer's clock), event id, requested fields. A plain tuple, because there are many events."""
Reader = struct.Struct
"""Unpacks the requested fields of one kind of event."""


class GarbledPage(Exception):  # noqa: N818  the caller counts it as a lost event
    """The page is inconsistent, so none of its events can be used."""


class Field(NamedTuple):
    offset: int
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
        letters, offset = "=", 0
        for name in names:
            field = self.fields.get(name)
            if field is None or field.offset < offset:
                raise TracefsError(f"the event {self.name} of this kernel has no field {name} at the expected place")
            letters += f"{field.offset - offset}x{struct_letter(field)}"
            offset = field.offset + field.size
        try:
            return struct.Struct(letters)
        except struct.error as error:
            raise TracefsError(f"the format of the event {self.name} cannot be parsed: {error}") from error


def struct_letter(field: Field) -> str:
    if field.is_text:
        return f"{field.size}s"
    if field.size not in INTEGER_LETTERS:
        raise TracefsError(f"a field of {field.size} bytes is not a number")
    return INTEGER_LETTERS[field.size] if field.signed else INTEGER_LETTERS[field.size].upper()


def parse_fields(text: str) -> dict[str, Field]:
    fields = {}
    for match in FIELD.finditer(text):
        words = match["declaration"].split()
        if not words:
            continue
        name, bracket, _ = words[-1].partition("[")
        is_text = bool(bracket) and "char" in words and "__data_loc" not in words
        fields[name] = Field(int(match["offset"]), int(match["size"]), match["signed"] == "1", is_text)
    return fields


def parse_format(name: str, text: str) -> EventFormat:
    """Parse the ``format`` file of an event. Raises TracefsError."""
    number = re.search(r"^ID: (\d{1,9})$", text, re.MULTILINE)
    fields = parse_fields(text)
    if number is None or not fields:
        raise TracefsError(f"the format of the event {name} cannot be parsed")
    return EventFormat(name, int(number[1]), fields)


class PageLayout(NamedTuple):
    """The layout of a buffer page, from ``events/header_page``."""

    commit: Field
    """The number of data bytes, and flags."""
    data_offset: int
    bytes: int
    """Size of a page. A read of this many bytes returns exactly one page."""


def parse_page_layout(text: str) -> PageLayout:
    """Parse ``events/header_page``. Raises TracefsError."""
    fields = parse_fields(text)
    if not {"timestamp", "commit", "data"} <= fields.keys() or fields["timestamp"] != Field(0, 8, False, False):
        raise TracefsError("the page header of the trace buffer cannot be parsed")
    data = fields["data"]
    return PageLayout(fields["commit"], data.offset, data.offset + data.size)


def page_time_ns(page: bytes) -> int:
    return int.from_bytes(page[:8], sys.byteorder)


def data_end(page: bytes, layout: PageLayout) -> int:
    commit = page[layout.commit.offset : layout.commit.offset + layout.commit.size]
    return layout.data_offset + (int.from_bytes(commit, sys.byteorder) & DATA_SIZE_MASK)


def decode(page: bytes, layout: PageLayout, readers: Mapping[int, Reader]) -> list[Event]:
    """Return the events of a page that have a reader. ``readers``: by event id. Raises GarbledPage."""
    begin, time_ns = layout.data_offset, page_time_ns(page)
    count = (data_end(page, layout) - begin) // 4
    if begin + 4 * count > len(page) or count < 0:
        raise GarbledPage("a page of the trace buffer ends before its data")
    words = struct.unpack_from(f"={count}I", page, begin)
    events: list[Event] = []
    index = 0
    while index < count:
        head = words[index]
        kind, delta = head >> KIND_SHIFT & 31, head >> DELTA_SHIFT & DELTA_MASK
        if 0 < kind <= MAX_DATA:  # nearly all events
            time_ns += delta
            data, index = index + 1, index + 1 + kind
        elif kind == PADDING and not delta:
            break  # the rest of the page is empty
        else:
            time_ns, data, index = _decode_unusual(words, index, time_ns)
        if index > count:
            raise GarbledPage("an event of the trace buffer is longer than its page")
        # only padding and time stamps have no data
        if data < index and (reader := readers.get(number := words[data] >> ID_SHIFT & 0xFFFF)):
            if 4 * (index - data) < reader.size:
                raise GarbledPage("an event of the trace buffer is shorter than its format requires")
            events.append((time_ns, number, reader.unpack_from(page, begin + 4 * data)))
    return events


def _decode_unusual(words: tuple[int, ...], index: int, time_ns: int) -> tuple[int, int, int]:
    """Decode a long event, a discarded event or a time stamp.

    Returns the new time, the index of the event's data, and the index of the next event.
    """
    if index + 1 >= len(words):
        raise GarbledPage("an event of the trace buffer is cut off")
    head, word = words[index], words[index + 1]
    kind, delta = head >> KIND_SHIFT & 31, head >> DELTA_SHIFT & DELTA_MASK
    if kind == TIME_EXTEND:
        return time_ns + delta + (word << DELTA_BITS), index + 2, index + 2
    if kind == TIME_STAMP:
        stamp = delta + (word << DELTA_BITS) & TIME_STAMP_MASK
        return (time_ns & ~TIME_STAMP_MASK) | stamp, index + 2, index + 2
    if word < 4:
        raise GarbledPage("an event of the trace buffer has no length")
    next_index = index + 1 + (word + 3) // 4
    return time_ns + delta, next_index if kind == PADDING else index + 2, next_index
