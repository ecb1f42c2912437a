"""Record events in a tracefs instance, and return them in the order of time over all CPUs."""

from __future__ import annotations

import contextlib
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from fstui.trace.reader.events import (
    Event,
    Garbled,
    PageLayout,
    Reader,
    data_end,
    decode,
    parse_format,
    parse_page_layout,
    time_of,
)
from fstui.trace.reader.tracefs import Cpu, Instance, TracefsError, find

MARKER = "ftrace/print"
CLOCK_SLACK_NS = 1_000_000
PAGES_AT_ONCE = 32
"""Pages that are decoded at a time: 4 KiB of page become about 80 KiB of Python objects."""
TIME = itemgetter(0)


class Wanted(NamedTuple):
    """An event to record: its fields in the order of their offsets, and the kernel's filter expression."""

    name: str
    fields: tuple[str, ...]
    filter: str = ""


class PageStore:
    """Pages that were read and not yet decoded.

    Reading a page is cheap, and decoding takes 1 µs per event. So pages are decoded only when events are requested.
    """

    def __init__(self, layout: PageLayout, readers: Mapping[int, Reader]) -> None:
        self.bytes = 0
        self.garbled = 0
        """Pages that could not be decoded."""
        self._layout, self._readers = layout, readers
        self._pages: list[bytes] = []
        self._later: list[Event] = []

    def add(self, page: bytes) -> int:
        data = page[: data_end(page, self._layout)]
        self._pages.append(data)
        self.bytes += len(data)
        return len(data)

    def events(self, until_ns: int) -> Iterator[Event]:
        """Yield the events up to a time in order, and keep the later ones."""
        pages = sorted(self._pages, key=time_of)
        behind = bisect_right(pages, until_ns, key=time_of)
        due, self._pages = pages[:behind], pages[behind:]
        self.bytes = sum(map(len, self._pages))
        for first in range(0, max(1, len(due)), PAGES_AT_ONCE):
            following = due[first + PAGES_AT_ONCE : first + PAGES_AT_ONCE + 1]
            horizon = min(until_ns, *map(time_of, following)) if following else until_ns
            yield from self._decode(due[first : first + PAGES_AT_ONCE], horizon)

    def _decode(self, pages: list[bytes], until_ns: int) -> list[Event]:
        found, self._later = self._later, []
        for page in pages:
            try:
                found += decode(page, self._layout, self._readers)
            except Garbled:
                self.garbled += 1
        found.sort(key=TIME)
        first = bisect_right(found, until_ns, key=TIME)
        self._later = found[first:]
        return found[:first]


class EventRecording:
    """A tracefs instance from its creation to its removal."""

    def __init__(self, name: str, enable: Callable[[], object] = lambda: None) -> None:
        """Create the instance, and call ``enable``, which says what to record.

        Raises TracefsError or OSError, and then leaves nothing behind.
        """
        self.name = name
        self.instance = Instance(find(), name)
        self.instance.make()
        self.fullest = 0.0
        """Share of the buffer that was filled at the last read, on the CPU where it was fullest."""
        self.collected_bytes = 0
        """Bytes of all events that were read so far."""
        self.handlers: dict[int, Callable[..., None]] = {}
        """By the id of an event: called with its time and its fields."""
        self._readers: dict[int, Reader] = {}
        try:
            self._layout = parse_page_layout(self.instance.read("events/header_page"))
            self._store = PageStore(self._layout, self._readers)
            self._capacity = self.instance.open_buffers()
            self.thread = self._thread_of_marker()
            enable()
        except BaseException:
            self.instance.remove()
            raise

    def _thread_of_marker(self) -> int:
        """Write a marker and read it back, which shows that the buffer is readable and its clock is CLOCK_MONOTONIC.

        Returns the number that events give to this thread.
        """
        number = self.learn(Wanted(MARKER, ("common_pid",)))
        self.instance.write("options/markers", "1")
        before = time.monotonic_ns()
        self.instance.write("trace_marker", "fstui")
        after = time.monotonic_ns()
        self.collect()
        for time_ns, event_id, (thread,) in self.events(after + CLOCK_SLACK_NS):
            if event_id == number and time_ns >= before - CLOCK_SLACK_NS:
                return int(thread)
        raise TracefsError("the kernel's trace buffer does not return the marker that was written to it")

    @property
    def kept_bytes(self) -> int:
        return self._store.bytes

    def learn(self, event: Wanted) -> int:
        """Read the format of an event. Returns its id in the buffer. Raises TracefsError."""
        try:
            text = self.instance.read(f"events/{event.name}/format")
        except OSError:
            raise TracefsError(f"this kernel has no event {event.name}") from None
        known = parse_format(event.name, text)
        self._readers[known.id] = known.reader(*event.fields)
        return known.id

    def enable(self, event: Wanted) -> int:
        """Record an event from now on. Returns its id in the buffer. Raises TracefsError."""
        number = self.learn(event)
        if event.filter:
            self.instance.write(f"events/{event.name}/filter", event.filter)
        self.switch_event(event.name, on=True)
        return number

    def switch_event(self, name: str, *, on: bool) -> None:
        """Raises TracefsError."""
        self.instance.write(f"events/{name}/enable", str(int(on)))

    def handle(self, event: Wanted, handler: Callable[..., None]) -> bool:
        """Record an event for ``read``. Returns False if this kernel does not have the event or its fields."""
        try:
            self.handlers[self.enable(event)] = handler
        except TracefsError:
            return False
        return True

    def read(self) -> None:
        """Call the handlers of the events that happened so far."""
        handlers = self.handlers
        for time_ns, number, fields in self.events(self.collect()):
            if number in handlers:
                handlers[number](time_ns, *fields)

    def collect(self) -> int:
        """Read the buffers of all CPUs. Returns the time (ns) up to which all events have been read.

        At most one buffer's size is read per CPU: a CPU may write events as fast as they are read.
        """
        began_ns = time.monotonic_ns()
        most = self._capacity // self._layout.bytes + 1
        self.fullest = 0.0
        for cpu in self.instance.cpus:
            taken = sum(map(self._store.add, islice(self._pages(cpu), most)))
            self.fullest = max(self.fullest, taken / self._capacity)
            self.collected_bytes += taken
        return began_ns

    def _pages(self, cpu: Cpu) -> Iterator[bytes]:
        with contextlib.suppress(BlockingIOError):
            while page := os.read(cpu.fd, self._layout.bytes):
                yield page

    def command_names(self) -> str:
        """Return the kernel's short list of recent threads and their names."""
        return self.instance.read("../../saved_cmdlines")

    def lost(self) -> int:
        """Return how many events are missing so far: dropped by the kernel, or in pages that cannot be decoded."""
        return self._store.garbled + sum(cpu.lost() for cpu in self.instance.cpus)

    def events(self, until_ns: int) -> Iterator[Event]:
        return self._store.events(until_ns)

    def remove(self) -> None:
        self.instance.remove()
