"""How much of what was written to a disk its volatile cache may still hold: the bytes since its last flush.

The counters are read many times per second, because they do not show what came first, the flush or the writes. So
these bytes are an upper bound: everything that was written in the interval in which the flush ended is included.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from fstui import proc
from fstui.trace.reader.devices import SECTOR

WRITTEN, FLUSHES = 6, 15
"""Fields of /sys/block/*/stat (Documentation/block/stat.rst)."""


class WriteCache:
    """The volatile cache of one disk."""

    def __init__(self, name: str) -> None:
        """Raises OSError."""
        self.name = name
        self.volatile = proc.read_text(f"/sys/block/{name}/queue/write_cache").strip() != "write through"
        self.not_flushed = 0
        """Bytes written since the last flush; since the start if there was none."""
        self.flushes = 0
        """Flushes since the start."""
        self._fd = os.open(f"/sys/block/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
        self._before = self._read()

    def _read(self) -> tuple[int, int]:
        words = os.pread(self._fd, 512, 0).split()
        return int(words[WRITTEN]) * SECTOR, int(words[FLUSHES])

    def poll(self) -> bool:
        """Read the counters. Return whether the disk was flushed since the last call. Raises OSError."""
        written, flushes = self._read()
        moved, flushed = written - self._before[0], flushes - self._before[1]
        self._before = written, flushes
        self.flushes += flushed
        self.not_flushed = moved if flushed else self.not_flushed + moved
        return bool(flushed)

    def close(self) -> None:
        os.close(self._fd)


class WriteCaches:
    """The caches of the disks that are in use, by name."""

    def __init__(self) -> None:
        self.disks: dict[str, WriteCache] = {}

    def add(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.disks:
                with contextlib.suppress(OSError, IndexError, ValueError):
                    self.disks[name] = WriteCache(name)

    def poll(self) -> set[str]:
        """Read all counters. Return the disks that were flushed since the last call."""
        flushed = set()
        for name, disk in list(self.disks.items()):
            try:
                if disk.poll():
                    flushed.add(name)
            except (OSError, IndexError, ValueError):  # unplugged
                self.disks.pop(name).close()
        return flushed

    def not_flushed(self, names: Iterable[str]) -> int:
        disks = [self.disks[name] for name in names if name in self.disks]
        return sum(disk.not_flushed for disk in disks if disk.volatile)

    def flushes(self, names: Iterable[str]) -> int:
        return sum(self.disks[name].flushes for name in names if name in self.disks)
