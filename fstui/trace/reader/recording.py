"""Record events in a tracefs instance, and return the events of all CPUs sorted by time."""

import contextlib
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.events import (
    Event,
    GarbledPage,
    PageLayout,
    Reader,
    data_end,
    decode,
    page_time_ns,
    parse_format,
    parse_page_layout,
)
from fstui.trace.reader.tracefs import CpuBuffer, Instance, TracefsError, find_tracefs

MARKER = "ftrace/print"
"""The event of text that is written to ``trace_marker``."""
CLOCK_TOLERANCE_NS = 1_000_000
PAGES_AT_ONCE = 32
"""Maximum number of pages to decode together. A page of 4 KiB becomes about 80 KiB of Python objects."""
event_time = itemgetter(0)


class TracedEvent(NamedTuple):
    name: str
    fields: tuple[str, ...]
    """The fields to read, in the order of their offsets."""
    filter: str = ""
    """The kernel's filter expression."""


class PageStore:
    """Pages of the buffer. Decoding takes 1 µs per event, so pages are decoded only when events are requested."""

    def __init__(self, layout: PageLayout, readers: Mapping[int, Reader]) -> None:
        self.bytes = 0
        self.garbled_pages = 0
        self._layout, self._readers = layout, readers
        self._pages: list[bytes] = []
        self._later_events: list[Event] = []
        """Decoded events that are later than ``until_ns`` of the last call of ``events``."""

    def add(self, page: bytes) -> int:
        """Store a page. Return how many bytes of it contain data."""
        data = page[: data_end(page, self._layout)]
        self._pages.append(data)
        self.bytes += len(data)
        return len(data)

    def events(self, until_ns: int) -> Iterator[Event]:
        """Yield the events until ``until_ns``, sorted by time. Keep later events."""
        pages = sorted(self._pages, key=page_time_ns)
        count = bisect_right(pages, until_ns, key=page_time_ns)
        due, self._pages = pages[:count], pages[count:]
        self.bytes = sum(map(len, self._pages))
        for begin in range(0, max(1, len(due)), PAGES_AT_ONCE):  # once even without pages, to yield ``_later_events``
            end = begin + PAGES_AT_ONCE
            # no event in due[end:] is earlier than the start of its first page
            complete_ns = min(until_ns, page_time_ns(due[end])) if end < len(due) else until_ns
            yield from self._decode(due[begin:end], complete_ns)

    def _decode(self, pages: list[bytes], until_ns: int) -> list[Event]:
        events, self._later_events = self._later_events, []
        for page in pages:
            try:
                events += decode(page, self._layout, self._readers)
            except GarbledPage:
                self.garbled_pages += 1
        events.sort(key=event_time)
        count = bisect_right(events, until_ns, key=event_time)
        self._later_events = events[count:]
        return events[:count]


class EventRecording:
    """The events of an instance. ``read`` calls the handler of each event."""

    def __init__(self, name: str) -> None:
        """Create the instance and record events. Raises TracefsError, OSError. In this case no instance remains."""
        if os.readlink("/proc/self/ns/pid") != proc.FIRST_PID_NAMESPACE:  # events contain its thread numbers
            raise TracefsError("in a container, process ids differ from those in the kernel's trace events")
        self.name = name
        self.instance = Instance(find_tracefs(), name)
        self.instance.create()
        self.max_fill = 0.0
        """How full the fullest buffer of a CPU was at the last read (0 to 1)."""
        self.collected_bytes = 0
        """Bytes of all events that were read so far."""
        self.handlers: dict[int, Callable[..., None]] = {}
        """By event id."""
        self._readers: dict[int, Reader] = {}
        try:
            self._layout = parse_page_layout(self.instance.read("events/header_page"))
            self._store = PageStore(self._layout, self._readers)
            self._capacity = self.instance.open_buffers()
            self.thread = self._check_with_marker()
            """The id of this thread in events."""
            self._enable()
        except BaseException:
            self.instance.remove()
            raise

    def _enable(self) -> None:
        """Record the events of this class. Raises TracefsError."""

    def _check_with_marker(self) -> int:
        """Write a marker to the buffer and read it back. Its time shows whether the clock is CLOCK_MONOTONIC.

        Returns the thread id in the event of the marker. Raises TracefsError.
        """
        marker_id = self.read_format(TracedEvent(MARKER, ("common_pid",)))
        self.instance.write("options/markers", "1")
        before_ns = time.monotonic_ns()
        self.instance.write("trace_marker", "fstui")
        after_ns = time.monotonic_ns()
        self.collect()
        for time_ns, event_id, (thread,) in self._store.events(after_ns + CLOCK_TOLERANCE_NS):
            if event_id == marker_id and time_ns >= before_ns - CLOCK_TOLERANCE_NS:
                return int(thread)
        raise TracefsError("the kernel's trace buffer does not return the marker that was written to it")

    def read_format(self, event: TracedEvent) -> int:
        """Read the format of an event. Returns the event id in the buffer. Raises TracefsError."""
        try:
            text = self.instance.read(f"events/{event.name}/format")
        except OSError:
            raise TracefsError(f"this kernel has no event {event.name}") from None
        event_format = parse_format(event.name, text)
        self._readers[event_format.id] = event_format.reader(*event.fields)
        return event_format.id

    def handle(self, event: TracedEvent, handler: Callable[..., None]) -> None:
        """Record an event from now on. The handler gets its time (ns) and its fields. Raises TracefsError."""
        event_id = self.read_format(event)
        if event.filter:
            self.instance.write(f"events/{event.name}/filter", event.filter)
        self.switch_event(event.name, on=True)
        self.handlers[event_id] = handler

    def handle_if_supported(self, event: TracedEvent, handler: Callable[..., None]) -> bool:
        """Record an event from now on. Return False if this kernel lacks the event or a field."""
        try:
            self.handle(event, handler)
        except TracefsError:
            return False
        return True

    def switch_event(self, name: str, *, on: bool) -> None:
        """Raises TracefsError."""
        self.instance.write(f"events/{name}/enable", str(int(on)))

    def read(self) -> None:
        """Read the events until now, and call their handlers."""
        self.call_handlers(self.collect())

    def call_handlers(self, until_ns: int) -> None:
        """Call the handlers of the collected events until ``until_ns``."""
        handlers = self.handlers
        for time_ns, event_id, fields in self._store.events(until_ns):
            if event_id in handlers:
                handlers[event_id](time_ns, *fields)

    def collect(self) -> int:
        """Read each CPU's buffer, at most its capacity. Returns the time (ns) until which all events have been read."""
        began_ns = time.monotonic_ns()
        max_pages = self._capacity // self._layout.bytes + 1
        self.max_fill = 0.0
        for cpu in self.instance.cpus:
            read_bytes = sum(map(self._store.add, islice(self._pages(cpu), max_pages)))
            self.max_fill = max(self.max_fill, read_bytes / self._capacity)
            self.collected_bytes += read_bytes
        return began_ns

    def _pages(self, cpu: CpuBuffer) -> Iterator[bytes]:
        with contextlib.suppress(BlockingIOError):
            while page := os.read(cpu.fd, self._layout.bytes):
                yield page

    def command_names(self) -> str:
        """Return the kernel's list of recent threads: one line for each, with its id and its name."""
        return self.instance.read("../../saved_cmdlines")

    def lost(self) -> int:
        """Return the number of events that the kernel has dropped so far, plus the number of garbled pages."""
        return self._store.garbled_pages + sum(cpu.lost() for cpu in self.instance.cpus)

    def remove(self) -> None:
        self.instance.remove()
