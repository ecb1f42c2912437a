"""The counters of block devices, and their requests according to the trace.

Block events describe a request by the letters of the field ``rwbs`` (kernel: blk_fill_rwbs in
kernel/trace/blktrace.c). ``F`` before the operation is a flush that must be done first. The operation is ``W`` for a
write; it is missing in a flush that the kernel's flush machinery issues itself. ``F`` after the operation is FUA. So
``WFS`` is a FUA write, ``FWFS`` is a flush and then a FUA write, and ``FWS`` without sectors is an empty flush.
"""

from __future__ import annotations

import os
from collections import deque
from copy import copy
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.recording import EventRecording, Wanted

FLUSH_FIRST, WRITE, FUA = 1, 2, 4
MAX_IN_FLIGHT = 65536
"""Maximum number of requests per device that are remembered until they complete. No device has more in flight."""
SECTOR = 512
EVENTS_PER_S = 8000
"""Maximum number of request events to read per second. If there are more, only a part of each second is recorded."""
MIN_SHARE = 0.02
"""Least part of a second to record."""
WAITED_FOR = 'rwbs ~ "*F*" || rwbs ~ "*WS*"'
"""Filter for flushes, FUA writes and synchronous writes: requests that a process waits for."""


def meaning(rwbs: bytes) -> int:
    """Return a bit mask of FLUSH_FIRST, WRITE and FUA for the letters."""
    text = rwbs.partition(b"\0")[0]
    first = text[:1] == b"F"
    operation = text[1:2] if first else text[:1]
    if operation != b"W":
        return FLUSH_FIRST if first else 0
    after = text[2:] if first else text[1:]
    return WRITE | (FLUSH_FIRST if first else 0) | (FUA if b"F" in after else 0)


class Requests:
    """The requests that the driver of one device received, and how long each took."""

    def __init__(self) -> None:
        self.flushes, self.writes = Durations(), Durations()
        self.flushes_issued = self.fua_issued = 0
        self._flushing: deque[int] = deque(maxlen=MAX_IN_FLIGHT)
        self._writing: dict[int, int] = {}

    def issued(self, time_ns: int, sector: int, rwbs: bytes) -> None:
        means = meaning(rwbs)
        self.fua_issued += bool(means & FUA)
        if means & FLUSH_FIRST:
            self.flushes_issued += 1
            self._flushing.append(time_ns)
        elif means & WRITE and len(self._writing) < MAX_IN_FLIGHT:
            self._writing[sector] = time_ns

    def completed(self, time_ns: int, sector: int, rwbs: bytes) -> None:
        """Record that the device completed a request.

        Events do not tell which flush was completed, so the oldest one in flight is used. Single times may be wrong;
        their sum is correct.
        """
        means = meaning(rwbs)
        if means & FLUSH_FIRST and self._flushing:
            self.flushes.add(time_ns - self._flushing.popleft())
        elif means & WRITE and sector in self._writing:
            self.writes.add(time_ns - self._writing.pop(sector))

    def take(self) -> Requests:
        """Return the requests completed since the last call, and reset the counts. Requests in flight are kept."""
        taken = copy(self)
        self.flushes, self.writes = Durations(), Durations()
        self.flushes_issued = self.fua_issued = 0
        return taken

    def forget_in_flight(self) -> None:
        self._flushing.clear()
        self._writing.clear()


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
    """Return by name the fields of /proc/diskstats of every disk that gets requests. dm, md and partitions do not: they
    pass requests on."""
    disks = {}
    for line in proc.read_text("/proc/diskstats").splitlines():
        words = line.split()
        if len(words) >= 20 and os.path.isdir(f"/sys/block/{words[2]}/mq"):
            disks[words[2]] = list(map(int, words[3:20]))
    return disks


def read_counters() -> dict[str, DiskCounters]:
    return {name: DiskCounters(now[4], now[6] * SECTOR, now[7], now[15], now[16]) for name, now in read_disks().items()}


class DeviceRecording(EventRecording):
    def __init__(self, name: str) -> None:
        """Raises TracefsError."""
        self.share = 1.0
        self._requests: dict[int, Requests] = {}
        self._seen = 0
        super().__init__(name, self._enable)

    def _enable(self) -> None:
        fields = ("dev", "sector", "rwbs")
        self._issue = self.enable(Wanted("block/block_rq_issue", fields, WAITED_FOR))
        self.enable(Wanted("block/block_rq_complete", fields, WAITED_FOR))

    def switch(self, on: bool) -> None:
        """Record or pause. After a pause the ends of requests in flight are unknown, so they are forgotten."""
        self.instance.write("tracing_on", str(int(on)))
        if not on:
            self.read()
            for requests in self._requests.values():
                requests.forget_in_flight()

    def read(self) -> None:
        until_ns = self.collect()
        for time_ns, number, (device, sector, rwbs) in self.events(until_ns):
            requests = self._requests.setdefault(device, Requests())
            handle = requests.issued if number == self._issue else requests.completed
            handle(time_ns, sector, rwbs)
            self._seen += 1

    def take(self, seconds: float) -> dict[int, Requests]:
        """Return the requests of the last ``seconds`` by device number. Choose ``share`` for the next seconds."""
        self.read()
        per_s = self._seen / (self.share * seconds)
        self.share = max(MIN_SHARE, min(1.0, EVENTS_PER_S / per_s)) if per_s else 1.0
        self._seen = 0
        return {device: requests.take() for device, requests in self._requests.items()}
