"""What the block events of a stretch of time say of each device: who asked for flushes, and how long they took there.

``rwbs`` from left to right (kernel: blk_fill_rwbs in kernel/trace/blktrace.c): ``F`` before the operation is a flush to
be made first; then the operation, ``W`` a write, or ``F`` alone for the flush that the flush machinery itself issues;
``F`` behind it is FUA. So ``FWS`` with no sectors is an empty flush, ``FWFS`` a flush, a write and FUA, ``WFS`` FUA
alone.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, NamedTuple

from fstui.trace.reader.durations import Durations
from fstui.trace.reader.lineage import Asker

FLUSH_FIRST, WRITE, FUA = 1, 2, 4
IN_FLIGHT = 65536
"""Requests that are remembered until they are answered; no device has so many."""


def meaning(rwbs: bytes) -> int:
    """FLUSH_FIRST, WRITE and FUA, as far as they hold."""
    text = rwbs.partition(b"\0")[0]
    first = text[:1] == b"F"
    operation = text[1:2] if first else text[:1]
    if operation != b"W":
        return FLUSH_FIRST if first else 0
    behind = text[2:] if first else text[1:]
    return WRITE | (FLUSH_FIRST if first else 0) | (FUA if b"F" in behind else 0)


class Device(NamedTuple):
    """A block device of the stack."""

    name: str
    number: int
    """As the kernel holds it: major << 20 | minor."""
    makes_requests: bool
    """Where it does not, bios are handed on and nothing is ever issued."""


class Requests:
    """What the driver of one device was given, and how long it took."""

    def __init__(self) -> None:
        self.flushes, self.writes = Durations(), Durations()
        self.flushes_issued = self.fua_issued = 0
        self._flushing: deque[int] = deque(maxlen=IN_FLIGHT)
        self._writing: dict[int, int] = {}

    def issued(self, time_ns: int, sector: int, rwbs: bytes) -> None:
        """The driver got a request."""
        means = meaning(rwbs)
        self.fua_issued += bool(means & FUA)
        if means & FLUSH_FIRST:
            self.flushes_issued += 1
            self._flushing.append(time_ns)
        elif means & WRITE and len(self._writing) < IN_FLIGHT:
            self._writing[sector] = time_ns

    def completed(self, time_ns: int, sector: int, rwbs: bytes) -> None:
        """The device answered. Of several flushes in flight the oldest is taken: their sum is right all the same."""
        means = meaning(rwbs)
        if means & FLUSH_FIRST and self._flushing:
            self.flushes.add(time_ns - self._flushing.popleft())
        elif means & WRITE and sector in self._writing:
            self.writes.add(time_ns - self._writing.pop(sector))

    def take(self) -> Requests:
        """What was done since the last look. What is in flight stays."""
        taken = Requests()
        taken.flushes, taken.writes = self.flushes, self.writes
        taken.flushes_issued, taken.fua_issued = self.flushes_issued, self.fua_issued
        self.flushes, self.writes = Durations(), Durations()
        self.flushes_issued = self.fua_issued = 0
        return taken

    def forget(self) -> None:
        """Nobody looks for a while: what is in flight will not be seen to end."""
        self._flushing.clear()
        self._writing.clear()


class DeviceSums:
    """One device in one stretch of time."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.requests = Requests()
        self._asked: Counter[Asker] = Counter()
        self._fua: Counter[Asker] = Counter()

    def queued(self, rwbs: bytes, asker: Asker) -> None:
        """A bio was handed to the device."""
        means = meaning(rwbs)
        self._asked[asker] += bool(means & FLUSH_FIRST)
        self._fua[asker] += bool(means & FUA)

    def told(self, lost: int, kernel_threads_known: bool) -> dict[str, Any]:
        """The sums. Where an event was lost there are none: a smaller count would be taken for the truth."""
        sums = {
            "asked_by_us": self._asked["us"],
            "asked_by_kernel_threads": self._asked["kernel_threads"] if kernel_threads_known else None,
            "asked_by_others": self._asked["others"],
            "fua_writes": self._fua.total(),
            "fua_writes_by_us": self._fua["us"],
            "requests": self.requests.flushes_issued if self.device.makes_requests else None,
            "device_flush_ns": self.requests.flushes.told(),
            "device_write_ns": self.requests.writes.told(),
        }
        return {"device": self.device.name, "lost": lost, **(dict.fromkeys(sums) if lost else sums)}
