"""An instance that records: its events enabled, its buffers read page by page."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from fstui.trace.reader import formats, pages
from fstui.trace.reader.kept import Kept
from fstui.trace.reader.tracefs import Cpu, Instance, Untraceable, find

MARKER = "ftrace/print"
CLOCK_SLACK_NS = 1_000_000


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
        self.fullest = 0.0
        """The share of its buffer that the fullest CPU had filled when it was last read."""
        self._readers: dict[int, pages.Reader] = {}
        try:
            self._layout = formats.parse_page_layout(self.instance.read("events/header_page"))
            self._kept = Kept(self._layout, self._readers)
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

    @property
    def kept_bytes(self) -> int:
        """Of pages that were read and are not told yet."""
        return self._kept.bytes

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
            taken = sum(map(self._kept.add, islice(self._pages(cpu), most)))
            self.fullest = max(self.fullest, taken / self._capacity)
        return began_ns

    def _pages(self, cpu: Cpu) -> Iterator[bytes]:
        with contextlib.suppress(BlockingIOError):
            while page := os.read(cpu.fd, self._layout.bytes):
                yield page

    def lost(self) -> int:
        """Events missing so far: dropped by the kernel, or in pages that cannot be read."""
        return self._kept.garbled + sum(cpu.lost() for cpu in self.instance.cpus)

    def events(self, until_ns: int) -> Iterator[pages.Event]:
        """What was collected up to a time, in the order of time over all CPUs. Later events are told later."""
        return self._kept.events(until_ns)

    def remove(self) -> None:
        """Take the instance back. Raises OSError."""
        self.instance.remove()
