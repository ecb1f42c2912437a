"""The counters of block devices, and their requests according to the trace.

Block events describe a request by the letters of the field ``rwbs`` (kernel: blk_fill_rwbs in
kernel/trace/blktrace.c). ``F`` before the operation is a flush that must be done first. The operation is ``W`` for a
write; it is missing in a flush that the block layer issues itself. ``F`` after the operation is FUA. So ``WFS`` is a
FUA write, ``FWFS`` is a flush and then a FUA write, and ``FWS`` without sectors is a flush without data.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.recording import EventRecording, TracedEvent

FLUSH_FIRST, WRITE, FUA = 1, 2, 4
MAX_IN_FLIGHT = 65536
"""Maximum number of requests per device to remember until they complete. No device has more in flight."""
SECTOR_BYTES = 512
MAX_EVENTS_PER_S = 8000
"""Maximum number of request events to read per second. If there are more, only a part of each second is recorded."""
MIN_RECORDED_SHARE = 0.02
"""Minimum part of each second to record."""
SYNC_REQUEST_FILTER = 'rwbs ~ "*F*" || rwbs ~ "*WS*"'
"""Filter for flushes, FUA writes and synchronous writes: requests that a process waits for."""


def request_flags(rwbs: bytes) -> int:
    """Return a bit mask of FLUSH_FIRST, WRITE and FUA for the letters."""
    letters = rwbs.partition(b"\0")[0]
    has_flush = letters[:1] == b"F"
    operation = letters[1:2] if has_flush else letters[:1]
    if operation != b"W":
        return FLUSH_FIRST if has_flush else 0
    modifiers = letters[2:] if has_flush else letters[1:]
    return WRITE | (FLUSH_FIRST if has_flush else 0) | (FUA if b"F" in modifiers else 0)


class Requests:
    """The requests that the driver of one device received, and how long each took."""

    def __init__(self) -> None:
        self.flushes, self.writes = Durations(), Durations()
        self.flushes_issued = self.fua_issued = 0
        self._flush_starts_ns: deque[int] = deque(maxlen=MAX_IN_FLIGHT)
        self._write_starts_ns: dict[int, int] = {}

    def add_issued(self, time_ns: int, sector: int, rwbs: bytes) -> None:
        flags = request_flags(rwbs)
        self.fua_issued += bool(flags & FUA)
        if flags & FLUSH_FIRST:
            self.flushes_issued += 1
            self._flush_starts_ns.append(time_ns)
        elif flags & WRITE and len(self._write_starts_ns) < MAX_IN_FLIGHT:
            self._write_starts_ns[sector] = time_ns

    def add_requeued(self, _: int, sector: int, rwbs: bytes) -> None:
        """Record that the driver returned its newest request. The block layer will issue it again.

        Some drivers also return requests that were not issued yet.
        """
        flags = request_flags(rwbs)
        if flags & FLUSH_FIRST and self._flush_starts_ns:
            self._flush_starts_ns.pop()
            self.flushes_issued -= 1
        elif flags & WRITE and self._write_starts_ns.pop(sector, None) is not None:
            self.fua_issued -= bool(flags & FUA)

    def add_completed(self, time_ns: int, sector: int, rwbs: bytes) -> None:
        """Record that the device completed a request.

        A device has at most one flush in flight in each hardware queue. Events do not show which queue completed its
        flush, so count it as the oldest flush in flight. While one queue stalls, the times of flushes in other queues
        are too long, but the sum of all times is correct.
        """
        flags = request_flags(rwbs)
        if flags & FLUSH_FIRST and self._flush_starts_ns:
            self.flushes.add(time_ns - self._flush_starts_ns.popleft())
        elif flags & WRITE and sector in self._write_starts_ns:
            self.writes.add(time_ns - self._write_starts_ns.pop(sector))

    def drain(self) -> Requests:
        """Return the requests since the last call, and reset the counts. Keep the requests in flight."""
        requests = copy(self)
        self.flushes, self.writes = Durations(), Durations()
        self.flushes_issued = self.fua_issued = 0
        return requests

    def forget_in_flight(self) -> None:
        self._flush_starts_ns.clear()
        self._write_starts_ns.clear()


REQUEST_HANDLERS: dict[str, Callable[..., None]] = {
    "block/block_rq_issue": Requests.add_issued,
    "block/block_rq_requeue": Requests.add_requeued,
    "block/block_rq_complete": Requests.add_completed,
}
REQUEST_FIELDS = ("dev", "sector", "rwbs")
"""The fields of each of these events."""


class DiskCounters(NamedTuple):
    """Counters of one device from /proc/diskstats (Documentation/admin-guide/iostats.rst)."""

    writes: int
    written_bytes: int
    write_ms: int
    flushes: int
    flush_ms: int

    def minus(self, before: DiskCounters) -> DiskCounters:
        return DiskCounters(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, other: DiskCounters) -> DiskCounters:
        return DiskCounters(*(count + more for count, more in zip(self, other, strict=True)))


def read_disks() -> dict[str, list[int]]:
    """Return the fields in /proc/diskstats of each disk whose driver receives requests, by the name of the disk.

    dm, md and partitions are left out, because they pass requests on.
    """
    disks = {}
    for line in proc.read_text("/proc/diskstats").splitlines():
        words = line.split()
        if len(words) >= 20 and os.path.isdir(f"/sys/block/{words[2]}/mq"):
            disks[words[2]] = list(map(int, words[3:20]))
    return disks


def read_counters() -> dict[str, DiskCounters]:
    # positions as in Documentation/admin-guide/iostats.rst, from 0
    disks = read_disks().items()
    return {name: DiskCounters(row[4], row[6] * SECTOR_BYTES, row[7], row[15], row[16]) for name, row in disks}


class DeviceRecording(EventRecording):
    def __init__(self, name: str) -> None:
        """Raises TracefsError."""
        self.share = 1.0
        """The part of each second to record."""
        self._requests: dict[int, Requests] = {}
        self._event_count = self._lost_before = 0
        super().__init__(name)

    def _enable(self) -> None:
        for event, add in REQUEST_HANDLERS.items():
            self.handle(TracedEvent(event, REQUEST_FIELDS, SYNC_REQUEST_FILTER), partial(self._add_request, add))

    def _add_request(self, add: Callable[..., None], time_ns: int, device: int, sector: int, rwbs: bytes) -> None:
        self._event_count += 1
        add(self._requests.setdefault(device, Requests()), time_ns, sector, rwbs)

    def switch(self, on: bool) -> None:
        """Turn recording on or off. If off, forget the requests in flight, because their ends will not be recorded."""
        self.instance.write("tracing_on", str(int(on)))
        if not on:
            self.read()
            self._forget_in_flight()

    def _forget_in_flight(self) -> None:
        for requests in self._requests.values():
            requests.forget_in_flight()

    def read(self) -> None:
        super().read()
        if (lost := self.lost()) > self._lost_before:
            self._lost_before = lost
            self._forget_in_flight()  # their ends may be among the lost events

    def drain(self, seconds: float) -> dict[int, Requests]:
        """Return the requests of the last ``seconds`` by device number. Also set ``share`` for the next second."""
        self.read()
        events_per_s = self._event_count / (self.share * seconds)
        self.share = max(MIN_RECORDED_SHARE, min(1.0, MAX_EVENTS_PER_S / events_per_s)) if events_per_s else 1.0
        self._event_count = 0
        return {device: requests.drain() for device, requests in self._requests.items()}
