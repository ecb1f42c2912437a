"""The bytes of one file that a power cut would lose now, their age, and the bytes in the caches of disks.

Times are seconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import Any

from fstui import proc
from fstui.trace.reader.devices import SECTOR

GAP_S = 0.1
"""A program syncs without a pause if less time than this passes between two syncs."""
MAX_SYNC_S = 1.0
"""The data of a sync that takes longer counts as at risk."""
MAX_MARKS = 4096
WRITTEN, FLUSHES = 6, 15
"""Fields of /sys/block/*/stat (Documentation/block/stat.rst)."""


class DatedBytes:
    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()
        """Time of a write and number of its bytes, the oldest first."""
        self.total = 0

    @property
    def oldest(self) -> float | None:
        return self._marks[0][0] if self._marks else None

    def set(self, total: int, since: float) -> list[tuple[float, int]]:
        """Set the total. Date new bytes ``since``. If it shrinks, remove the oldest bytes and return them."""
        taken: list[tuple[float, int]] = []
        self.add(since, total - self.total)
        while self.total > total:
            time, amount = self._marks.popleft()
            part = min(amount, self.total - total)
            if part < amount:
                self._marks.appendleft((time, amount - part))
            taken.append((time, part))
            self.total -= part
        return taken

    def add(self, time: float, amount: int) -> None:
        if amount <= 0:
            return
        self.total += amount
        if self._marks and (time <= self._marks[-1][0] or len(self._marks) >= MAX_MARKS):
            last, before = self._marks.pop()
            time, amount = last, before + amount
        self._marks.append((time, amount))

    def not_before(self, time: float) -> None:
        """Date older bytes to ``time``: what was written before is durable, so these bytes were written again since."""
        if self._marks and self._marks[0][0] < time:
            older = sum(amount for date, amount in self._marks if date < time)
            self._marks = deque([(time, older), *(mark for mark in self._marks if mark[0] >= time)])


class Totals:
    """The largest amount and age so far of a file or a program, and its syncs."""

    def __init__(self) -> None:
        self.most_bytes = self.syncs = 0
        self._longest_s = self._first_sync = self._last_sync = 0.0

    def note(self, now: float, total: int, oldest: float | None) -> None:
        self.most_bytes = max(self.most_bytes, total)
        self._longest_s = max(self._longest_s, now - (now if oldest is None else oldest))

    def count_syncs(self, now: float, times: int) -> None:
        self._first_sync = self._first_sync or now
        self._last_sync = now
        self.syncs += times

    def as_dict(self, *, traced: bool) -> dict[str, Any]:
        return {
            "most_bytes": self.most_bytes,
            "longest_s": self._longest_s,
            "syncs": self.syncs if traced else None,
            "sync_every_s": (self._last_sync - self._first_sync) / (self.syncs - 1) if self.syncs > 1 else None,
        }


class Exposure(Totals):
    """The bytes of a file at risk: in memory, and in the caches of its disks."""

    def __init__(self) -> None:
        super().__init__()
        self.in_memory, self.in_cache = DatedBytes(), DatedBytes()
        self._sync_began = self._synced_until = self._synced_at = -1.0

    def synced(self, began: float, ended: float, now: float) -> None:
        """Count a sync that has ended: what was written before it began is durable."""
        self._synced_at = now
        self._sync_began = max(self._sync_began, began)
        self._synced_until = max(self._synced_until, ended)
        self.in_memory.not_before(self._sync_began)

    def is_being_synced(self, now: float, running_since: float | None) -> bool:
        """Return whether the program syncs without a pause (GAP_S), and the running sync takes less than MAX_SYNC_S."""
        if running_since is not None and now - running_since >= MAX_SYNC_S:
            return False
        return (running_since or now) - self._synced_until < GAP_S

    def update(self, dirty: int, since: float, *, limit: int, flushed_at: float) -> None:
        """Set the bytes in memory to ``dirty``. Those that are not there any more went to the caches of the disks.

        ``since``: the last update; new bytes were written later. ``limit``: bytes that the caches may hold.
        ``flushed_at``: when they were flushed last.
        """
        written_back = self.in_memory.set(dirty, max(since, self._sync_began))
        if self._synced_at >= since and flushed_at >= self._sync_began:  # the sync flushed the caches
            self.in_cache.set(0, since)
        else:
            for time, amount in written_back:
                self.in_cache.add(time, amount)
        self.in_cache.set(min(self.in_cache.total, limit), since)

    def forget(self) -> None:
        """Drop all bytes, because the file was deleted."""
        self.in_memory, self.in_cache = DatedBytes(), DatedBytes()

    @property
    def total(self) -> int:
        return self.in_memory.total + self.in_cache.total

    @property
    def oldest(self) -> float | None:
        in_memory, in_cache = self.in_memory.oldest, self.in_cache.oldest
        if in_memory is None or in_cache is None:
            return in_memory if in_cache is None else in_cache
        return min(in_memory, in_cache)


class WriteCache:
    """An upper bound of the bytes in a disk's volatile cache: those written since the reading before its last flush."""

    def __init__(self, name: str) -> None:
        self._path = f"/sys/block/{name}/stat"
        self.volatile = proc.read_text(f"/sys/block/{name}/queue/write_cache").strip() != "write through"
        self.not_flushed = 0
        """Bytes written since the last flush, or since the start."""
        self.flushed_at = 0.0
        self._written, self._flushes = self._read() or (0, 0)

    def _read(self) -> tuple[int, int] | None:
        words = proc.read_text(self._path).split()
        return (int(words[WRITTEN]) * SECTOR, int(words[FLUSHES])) if len(words) > FLUSHES else None

    def poll(self) -> None:
        written, flushes = self._read() or (self._written, self._flushes)  # the disk may be unplugged
        if flushes > self._flushes:
            self.not_flushed, self.flushed_at = 0, monotonic()
        self.not_flushed += written - self._written
        self._written, self._flushes = written, flushes


class WriteCaches:
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
        """Return how many bytes the caches of these disks may lose together."""
        return sum(self.disks[name].not_flushed for name in names if self.disks[name].volatile)

    def flushed_at(self, names: Iterable[str]) -> float:
        """Return when one of these disks was flushed last; inf if none has a volatile cache, so none needs a flush."""
        disks = [self.disks[name] for name in names]
        return max((disk.flushed_at for disk in disks if disk.volatile), default=inf)
