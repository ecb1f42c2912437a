"""Count for each step of a run which processes requested flushes at its devices."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Any, NamedTuple

from fstui import proc
from fstui.trace.reader.devices import FLUSH_FIRST, FUA, Requests, meaning
from fstui.trace.reader.events import Event
from fstui.trace.reader.processes import KTHREADD, Lineage, Owner, family, in_outermost_namespace, outermost_numbers
from fstui.trace.reader.recording import EventRecording, Wanted
from fstui.trace.reader.tracefs import MEMORY_DIVISOR, MIB

LATE_NS = 1_000_000_000
"""Events older than this are added up if many pages are kept. They belong to no step that is still to be announced,
because a step is announced within this time after its start."""
FIRST_LOOK_S = 0.05
"""Time from the start of a step to the first read of the buffers."""
MAX_KEPT_BYTES = 6 * MIB
NICE = 19
"""The lowest priority, used while a step is measured, so that the measurement gets the CPU first."""
MAX_FILTERED = 128
"""Maximum number of devices in a filter, because its text must fit into a page."""
FLUSHES, WRITES = 'rwbs ~ "*F*"', '(rwbs ~ "*F*" || rwbs ~ "*W*")'
"""The kernel also matches bytes after the end of the string, so some other events pass the filter."""
REQUESTS = ("block/block_rq_issue", "block/block_rq_complete")
"""A sync causes four of these events at each device; together they cost about 2 µs. The event that counts its flush
costs 0.6 µs (Linux 6.18 in a virtual machine)."""
MAX_BYTES_PER_S = 500_000
"""About 8 000 events per second. If a step causes more, its requests are no longer recorded, because that would slow
it down by up to 15 %. Its flushes are still counted."""


class TracedDevice(NamedTuple):
    name: str
    number: int
    """The kernel's number: major << 20 | minor."""
    makes_requests: bool
    """False for dm and md, which pass bios on to the devices below them."""


def device_of(name: str) -> TracedDevice | None:
    number = proc.read_text(f"/sys/class/block/{name}/dev")
    if not number:
        return None
    return TracedDevice(name, proc.device_number(number), os.path.isdir(f"/sys/class/block/{name}/mq"))


class DeviceSums:
    def __init__(self, device: TracedDevice) -> None:
        self.device = device
        self.requests = Requests()
        self._flushes: Counter[Owner] = Counter()
        self._fua: Counter[Owner] = Counter()

    def queued(self, rwbs: bytes, owner: Owner) -> None:
        means = meaning(rwbs)
        self._flushes[owner] += bool(means & FLUSH_FIRST)
        self._fua[owner] += bool(means & FUA)

    def as_dict(self, lost: int, kernel_threads_known: bool, timed: bool) -> dict[str, Any]:
        """Return the counts; None for each if events were lost. ``timed``: all requests of the step were recorded."""
        sums = {
            "asked_by_us": self._flushes["own"],
            "asked_by_kernel_threads": self._flushes["kernel_threads"] if kernel_threads_known else None,
            "asked_by_others": self._flushes["others"],
            "fua_writes": self._fua.total(),
            "fua_writes_by_us": self._fua["own"],
            "requests": self.requests.flushes_issued if timed and self.device.makes_requests else None,
            "device_flush_ns": self.requests.flushes.as_dict() if timed else None,
            "device_write_ns": self.requests.writes.as_dict() if timed else None,
        }
        return {"device": self.device.name, "lost": lost, **(dict.fromkeys(sums) if lost else sums)}


class FlushCounter(EventRecording):
    """Record the block events of a run, and add them up for each step."""

    def __init__(self, name: str, own: list[int], devices: list[TracedDevice]) -> None:
        """``own``: the processes that, with their descendants, count as fstui's own. Raises TracefsError."""
        self._devices = devices
        self._sums: dict[int, DeviceSums] = {}
        self._from_ns: int | None = None
        self._added_until_ns = 0
        self._lost_before = 0
        self._missed = 0
        """1 if events of the step were added up before it was announced."""
        self._requests_recorded = True
        self._began_bytes = 0
        self._lineage = Lineage()
        self._outermost = in_outermost_namespace()
        self._most_kept = min(MAX_KEPT_BYTES, proc.meminfo().get("MemAvailable", 0) // MEMORY_DIVISOR)
        super().__init__(name, lambda: self._enable(own))

    def _enable(self, own: list[int]) -> None:
        enable = self.enable
        bio, request = ("common_pid", "dev", "rwbs", "comm"), ("dev", "sector", "rwbs")
        self._fork = enable(Wanted("sched/sched_process_fork", ("parent_pid", "child_pid")))
        self._queued = enable(Wanted("block/block_bio_queue", bio, self._filter(FLUSHES)))
        self._issued, _ = (enable(Wanted(name, request, self._filter(WRITES))) for name in REQUESTS)
        if self._outermost:
            self._lineage.add("kernel_threads", family([KTHREADD]))
        self.add_own(own)

    def _filter(self, kinds: str) -> str:
        if len(self._devices) > MAX_FILTERED:
            return kinds
        return f"({' || '.join(f'dev == {device.number}' for device in self._devices)}) && {kinds}"

    def _record_requests(self, on: bool) -> None:
        if on != self._requests_recorded:
            self._requests_recorded = on
            for name in REQUESTS:
                self.switch_event(name, on=on)

    def add_own(self, pids: list[int]) -> None:
        """Count these processes and their descendants as fstui's own. Raises TracefsError."""
        if self._lineage.all_own(pids):
            return
        if self._outermost:
            self._lineage.add("own", family(pids))
        else:
            self._lineage.add("own", outermost_numbers(f"{self.name}-numbers", family(pids)))

    def read(self) -> None:
        """Empty the kernel's buffers. Stop recording requests if there are many; add events up if many are kept."""
        now_ns = self.collect()
        if self._from_ns is not None:
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
            elapsed_s = (now_ns - self._from_ns) / 1e9
            if self.collected_bytes - self._began_bytes > MAX_BYTES_PER_S * max(elapsed_s, FIRST_LOOK_S):
                self._record_requests(False)
        if self.kept_bytes > self._most_kept:
            self._add_up(time.monotonic_ns() - LATE_NS)

    def begin(self, from_ns: int) -> None:
        self._sums = {device.number: DeviceSums(device) for device in self._devices}
        self.collect()
        self._from_ns, self._began_bytes = from_ns, self.collected_bytes
        self._missed = int(from_ns < self._added_until_ns)

    def end(self, until_ns: int) -> list[dict[str, Any]]:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        self.collect()
        self._add_up(until_ns)
        lost = self.lost()
        missed = lost - self._lost_before + self._missed
        self._lost_before, self._from_ns = lost, None
        timed = self._requests_recorded
        self._record_requests(True)
        return [sums.as_dict(missed, self._outermost, timed) for sums in self._sums.values()]

    def _add_up(self, until_ns: int) -> None:
        for event in self.events(until_ns):
            self._add(event)
        self._added_until_ns = until_ns

    def _add(self, event: Event) -> None:
        time_ns, number, fields = event
        if number == self._fork:
            self._lineage.forked(*fields)
        elif self._from_ns is None or time_ns < self._from_ns:
            return
        elif number == self._queued:
            thread, device, rwbs, comm = fields
            if device in self._sums:
                self._sums[device].queued(rwbs, self._lineage.owner(thread, comm))
        else:
            device, sector, rwbs = fields
            if device in self._sums:
                requests = self._sums[device].requests
                handle = requests.issued if number == self._issued else requests.completed
                handle(time_ns, sector, rwbs)
