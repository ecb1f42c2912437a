"""An instance that records: its events enabled, its buffers read page by page, its events told in the order of time.

Reading a page costs little, making events of it a microsecond each. So pages are kept as they are until somebody asks
for their events.
"""

from __future__ import annotations

import contextlib
import os
import time
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from fstui.helpers.tracing import formats, pages
from fstui.helpers.tracing.tracefs import Cpu, Instance, Untraceable, find

MARKER = "ftrace/print"
CLOCK_SLACK_NS = 1_000_000
AT_ONCE = 256
"""So many pages are made into events at a time: a page of 4 KiB becomes 20."""
TIME = itemgetter(0)


class Wanted(NamedTuple):
    """An event to record: the fields that are wanted of it, in the order of its format, and the kernel's filter."""

    name: str
    fields: tuple[str, ...]
    filter: str = ""


class Recording:
    """An instance of our own, from its making to its removal."""

    def __init__(self, name: str) -> None:
        """Make it. Raises Untraceable or OSError; then nothing of it is left."""
        self.instance = Instance(find(), name)
        self.instance.make()
        self.kept_bytes = 0
        self.fullest = 0.0
        """The share of its buffer that the fullest CPU had filled when it was last read."""
        self._kept: list[bytes] = []
        self._later: list[pages.Event] = []
        self._readers: dict[int, pages.Reader] = {}
        self._garbled = 0
        try:
            self._layout = formats.parse_page_layout(self.instance.read("events/header_page"))
            self._capacity = self.instance.open_buffers()
            self.thread = self._marked()
        except BaseException:
            self.remove()
            raise

    def _marked(self) -> int:
        """Write a marker and find it: the buffer can be read, its clock is ours. Our own thread, as events name it."""
        number = self.learn(Wanted(MARKER, ("common_pid",)))
        self.instance.write("options/markers", "1")
        before = time.monotonic_ns()
        self.instance.write("trace_marker", "fstui")
        after = time.monotonic_ns()
        self.collect()
        for time_ns, event_id, (thread,) in self.events(after + CLOCK_SLACK_NS):
            if event_id == number and time_ns >= before - CLOCK_SLACK_NS:
                return int(thread)
        raise Untraceable("the kernel's trace buffer does not show what was written to it")

    def learn(self, event: Wanted) -> int:
        """Read an event's format; its number in the buffer. Raises Untraceable."""
        try:
            text = self.instance.read(f"events/{event.name}/format")
        except OSError:
            raise Untraceable(f"this kernel has no event {event.name}") from None
        known = formats.parse(event.name, text)
        self._readers[known.id] = known.reader(*event.fields)
        return known.id

    def enable(self, event: Wanted) -> int:
        """Record an event from now on; its number in the buffer. Raises Untraceable."""
        number = self.learn(event)
        if event.filter:
            self.instance.write(f"events/{event.name}/filter", event.filter)
        self.instance.write(f"events/{event.name}/enable", "1")
        return number

    def collect(self) -> int:
        """Take what the buffers hold; all that happened before the time that is returned is among it.

        No CPU can keep us by writing as quickly as we read.
        """
        began_ns = time.monotonic_ns()
        most = self._capacity // self._layout.bytes + 1
        self.fullest = 0.0
        for cpu in self.instance.cpus:
            taken = sum(map(self._keep, islice(self._pages(cpu), most)))
            self.fullest = max(self.fullest, taken / self._capacity)
        return began_ns

    def _pages(self, cpu: Cpu) -> Iterator[bytes]:
        with contextlib.suppress(BlockingIOError):
            while page := os.read(cpu.fd, self._layout.bytes):
                yield page

    def _keep(self, page: bytes) -> int:
        """A page without what lies behind its data; how much that is."""
        data = page[: pages.data_end(page, self._layout)]
        self._kept.append(data)
        self.kept_bytes += len(data)
        return len(data)

    def lost(self) -> int:
        """Events missing so far: dropped by the kernel, or in pages that cannot be read."""
        return self._garbled + sum(cpu.lost() for cpu in self.instance.cpus)

    def events(self, until_ns: int) -> Iterator[pages.Event]:
        """What was collected up to a time, in the order of time over all CPUs. Later events are told later."""
        kept = sorted(self._kept, key=pages.time_of)
        behind = bisect_right(kept, until_ns, key=pages.time_of)
        due, self._kept = kept[:behind], kept[behind:]
        self.kept_bytes = sum(map(len, self._kept))
        for first in range(0, max(1, len(due)), AT_ONCE):
            following = due[first + AT_ONCE : first + AT_ONCE + 1]
            horizon = min(until_ns, *map(pages.time_of, following)) if following else until_ns
            yield from self._events_of(due[first : first + AT_ONCE], horizon)

    def _events_of(self, some: list[bytes], until_ns: int) -> list[pages.Event]:
        found, self._later = self._later, []
        for page in some:
            try:
                found += pages.events(page, self._layout, self._readers)
            except pages.Garbled:
                self._garbled += 1
        found.sort(key=TIME)
        first = bisect_right(found, until_ns, key=TIME)
        self._later = found[first:]
        return found[:first]

    def remove(self) -> None:
        """Take the instance back. Raises OSError."""
        self.instance.remove()
