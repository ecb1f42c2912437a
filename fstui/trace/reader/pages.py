"""A page of the ring buffer → events with their times. Kernel: include/linux/ring_buffer.h, kernel/trace/ring_buffer.c.

A page is its time, the number of bytes that follow (with flags above that say that events were lost before it), and
the events. An event begins with 32 bits: a length or type, and the ns since the event before it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from typing import Any

from fstui.trace.reader.formats import PageLayout

COMMITTED = 0xFFFFF
"""Of the header's second word: how many bytes of data follow. The bits above say that events were lost before."""
LONGEST, PADDING, TIME_EXTEND, TIME_STAMP = 28, 29, 30, 31
"""Types; 0 is a length that follows in a word of its own, 1 to 28 are lengths in words."""
DELTA_BITS = 27
DELTA = (1 << DELTA_BITS) - 1
LITTLE = sys.byteorder == "little"
KIND_AT, DELTA_AT, ID_AT = (0, 5, 0) if LITTLE else (27, 0, 16)
"""Where these stand in their words."""
STAMP = (1 << 59) - 1
"""What fits into an absolute time; the bits above are those of the time before it."""
Event = tuple[int, int, tuple[Any, ...]]
"""When it happened (ns, the buffer's clock), its id, the fields that were asked for. A plain tuple: there are many."""
Reader = struct.Struct
"""The fields that are wanted of one kind of event."""


class Garbled(Exception):  # noqa: N818  becomes a lost event
    """A page that contradicts itself: nothing in it can be trusted."""


def time_of(page: bytes) -> int:
    """When the page was begun; 0 where it is too short to say."""
    return int.from_bytes(page[:8], sys.byteorder)


def data_end(page: bytes, layout: PageLayout) -> int:
    """Where the data of the page end."""
    commit = page[layout.commit.at : layout.commit.at + layout.commit.size]
    return layout.data_at + (int.from_bytes(commit, sys.byteorder) & COMMITTED)


def events(page: bytes, layout: PageLayout, readers: Mapping[int, Reader]) -> list[Event]:
    """The events of one page that have a reader, in their order. Raises Garbled."""
    begin, now = layout.data_at, time_of(page)
    count = (data_end(page, layout) - begin) // 4
    if begin + 4 * count > len(page) or count < 0:
        raise Garbled("a page of the trace buffer ends before its data")
    words = struct.unpack_from(f"={count}I", page, begin)
    found: list[Event] = []
    at = 0
    while at < count:
        head = words[at]
        kind, delta = head >> KIND_AT & 31, head >> DELTA_AT & DELTA
        if 0 < kind <= LONGEST:  # nearly all
            now += delta
            data, at = at + 1, at + 1 + kind
        elif kind == PADDING and not delta:
            break  # nothing behind it
        else:
            now, data, at = unusual(words, at, now)
        if at > count:
            raise Garbled("an event of the trace buffer is longer than its page")
        if data < at and (reader := readers.get(number := words[data] >> ID_AT & 0xFFFF)):
            if 4 * (at - data) < reader.size:
                raise Garbled("an event of the trace buffer is shorter than its format says")
            found.append((now, number, reader.unpack_from(page, begin + 4 * data)))
    return found


def unusual(words: tuple[int, ...], at: int, now: int) -> tuple[int, int, int]:
    """A long event, a discarded one, or a time: the new time, where its data begin, where the next event begins."""
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
    behind = at + 1 + (word + 3) // 4
    return now + delta, behind if kind == PADDING else at + 2, behind
