"""How much of what was written to a disk its volatile cache may still hold: the bytes since its last flush.

The counters are read many times per second, because they do not show what came first, the flush or the writes. So
these bytes are an upper bound: everything that was written in the interval in which the flush ended is included.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from math import inf

from fstui import proc
from fstui.trace.reader.devices import SECTOR

WRITTEN, FLUSHES = 6, 15
"""Fields of /sys/block/*/stat (Documentation/block/stat.rst)."""


class WriteCache:
    """The cache of one disk."""

    def __init__(self, name: str) -> None:
        self._path = f"/sys/block/{name}/stat"
        self.volatile = proc.read_text(f"/sys/block/{name}/queue/write_cache").strip() != "write through"
        self.not_flushed = 0
        """Bytes written since the last flush; since the start if there was none."""
        self.flushed_at = 0.0
        self._written, self._flushes = self._read() or (0, 0)

    def _read(self) -> tuple[int, int] | None:
        words = proc.read_text(self._path).split()
        return (int(words[WRITTEN]) * SECTOR, int(words[FLUSHES])) if len(words) > FLUSHES else None

    def poll(self) -> None:
        """Read the counters."""
        written, flushes = self._read() or (self._written, self._flushes)  # it may be unplugged
        if flushes > self._flushes:
            self.not_flushed, self.flushed_at = 0, time.monotonic()
        self.not_flushed += written - self._written
        self._written, self._flushes = written, flushes


class WriteCaches:
    """The caches of the disks that are in use."""

    def __init__(self) -> None:
        self.disks: dict[str, WriteCache] = {}

    def add(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.disks:
                self.disks[name] = WriteCache(name)

    def poll(self) -> None:
        for disk in self.disks.values():
            disk.poll()

    def not_flushed(self, names: Iterable[str]) -> int:
        """Return how many bytes these disks may lose together."""
        return sum(self.disks[name].not_flushed for name in names if self.disks[name].volatile)

    def flushed_at(self, names: Iterable[str]) -> float:
        """Return when one of these disks was flushed last; without a volatile cache, that is not necessary."""
        disks = [self.disks[name] for name in names]
        return max((disk.flushed_at if disk.volatile else inf for disk in disks), default=inf)
