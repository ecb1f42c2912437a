"""The bytes of one file that a power cut now would lose, their age, and the bytes in the caches of disks.

Times are seconds of CLOCK_MONOTONIC.
"""

from collections import deque
from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import Any

from fstui import proc
from fstui.trace.reader.devices import SECTOR_BYTES

MAX_SYNC_GAP_S = 0.1
"""A program syncs without a pause if the time between two syncs is shorter than this."""
LONG_SYNC_S = 1.0
"""If a sync takes longer, its data counts as at risk."""
MAX_WRITES = 4096
"""Maximum number of write times to remember for one file. Bytes of further writes get the time of the last."""
WRITTEN_SECTORS_FIELD, FLUSHES_FIELD = 6, 15
"""Fields of /sys/block/*/stat (Documentation/block/stat.rst)."""


class DatedBytes:
    """A number of bytes with the times at which they were written."""

    def __init__(self) -> None:
        self._writes: deque[tuple[float, int]] = deque()
        """Time and number of bytes of each write, oldest first."""
        self.total = 0

    @property
    def oldest(self) -> float | None:
        return self._writes[0][0] if self._writes else None

    def set_total(self, total: int, written_at: float) -> list[tuple[float, int]]:
        """Set the total. New bytes get the time ``written_at``. If it falls, remove and return the oldest bytes."""
        removed: list[tuple[float, int]] = []
        self.add(written_at, total - self.total)
        while self.total > total:
            time, amount = self._writes.popleft()
            removed_amount = min(amount, self.total - total)
            if removed_amount < amount:
                self._writes.appendleft((time, amount - removed_amount))
            removed.append((time, removed_amount))
            self.total -= removed_amount
        return removed

    def add(self, time: float, amount: int) -> None:
        if amount <= 0:
            return
        self.total += amount
        if self._writes and (time <= self._writes[-1][0] or len(self._writes) >= MAX_WRITES):
            time, last_amount = self._writes.pop()
            amount += last_amount
        self._writes.append((time, amount))

    def raise_times(self, time: float) -> None:
        """Raise earlier times to ``time``: what was written before is durable, so the bytes left here are newer."""
        if self._writes and self._writes[0][0] < time:
            older_bytes = sum(amount for written_at, amount in self._writes if written_at < time)
            self._writes = deque([(time, older_bytes), *(write for write in self._writes if write[0] >= time)])


class Totals:
    """The largest amount of bytes at risk so far, their largest age, and the syncs of a file or a program."""

    def __init__(self) -> None:
        self.most_bytes = self.syncs = 0
        self._longest_s = self._first_sync = self._last_sync = 0.0

    def update_maxima(self, now: float, total: int, oldest: float | None) -> None:
        self.most_bytes = max(self.most_bytes, total)
        if oldest is not None:
            self._longest_s = max(self._longest_s, now - oldest)

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
        self._sync_start = self._sync_end = self._sync_added_at = -1.0
        """The start and the end of the last sync that has ended, and when ``add_sync`` was called for it."""

    def add_sync(self, start: float, end: float, now: float) -> None:
        """Add a sync that has ended. Bytes that were written before the sync began are durable."""
        self._sync_added_at = now
        self._sync_start = max(self._sync_start, start)
        self._sync_end = max(self._sync_end, end)
        self.in_memory.raise_times(self._sync_start)

    def is_being_synced(self, now: float, running_sync_start: float | None) -> bool:
        """Return whether the program syncs without a pause (MAX_SYNC_GAP_S), and no sync is long (LONG_SYNC_S)."""
        if running_sync_start is not None and now - running_sync_start >= LONG_SYNC_S:
            return False
        return (running_sync_start or now) - self._sync_end < MAX_SYNC_GAP_S

    def update(self, dirty: int, last_update: float, *, limit: int, flushed_at: float, durable_before: float) -> None:
        """Set the bytes in memory to ``dirty``. Bytes that have left memory are now in the caches of the disks.

        ``last_update``: when this was last called; new bytes were written later. ``limit``: the maximum number of bytes
        in the caches. ``flushed_at``: when the caches were last flushed. ``durable_before``: what was in the caches at
        this time is durable.
        """
        written_back = self.in_memory.set_total(dirty, max(last_update, self._sync_start))
        if durable_before >= last_update:
            self.in_cache.set_total(0, last_update)
        if self._sync_added_at >= last_update and flushed_at >= self._sync_start:  # the sync flushed the caches
            self.in_cache.set_total(0, last_update)
        else:
            for time, amount in written_back:
                self.in_cache.add(time, amount)
        self.in_cache.set_total(min(self.in_cache.total, limit), last_update)

    def forget(self) -> None:
        """Drop all bytes, because no program expects them after a crash."""
        self.in_memory, self.in_cache = DatedBytes(), DatedBytes()

    @property
    def total(self) -> int:
        return self.in_memory.total + self.in_cache.total

    @property
    def oldest(self) -> float | None:
        times = (self.in_memory.oldest, self.in_cache.oldest)
        return min((time for time in times if time is not None), default=None)


class WriteCache:
    """An upper bound of the bytes in a disk's volatile cache: those written since the poll before the last flush."""

    def __init__(self, name: str) -> None:
        self._path = f"/sys/block/{name}/stat"
        self.is_volatile = proc.read_text(f"/sys/block/{name}/queue/write_cache").strip() != "write through"
        self.unflushed_bytes = 0
        """Bytes written since the last flush, or since the start."""
        self.flushed_at = self.durable_before = self._polled_at = 0.0
        """The times of the poll that counted the last flush, of the poll before that, and of the last poll."""
        self._written_bytes, self._flushes = self._read() or (0, 0)

    def _read(self) -> tuple[int, int] | None:
        words = proc.read_text(self._path).split()
        if len(words) <= FLUSHES_FIELD:
            return None
        return int(words[WRITTEN_SECTORS_FIELD]) * SECTOR_BYTES, int(words[FLUSHES_FIELD])

    def poll(self) -> None:
        now = monotonic()
        written_bytes, flushes = self._read() or (self._written_bytes, self._flushes)  # the disk may be unplugged
        if flushes > self._flushes:
            self.unflushed_bytes, self.flushed_at, self.durable_before = 0, now, self._polled_at
        self.unflushed_bytes += written_bytes - self._written_bytes
        self._written_bytes, self._flushes, self._polled_at = written_bytes, flushes, now


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

    def unflushed_bytes(self, names: Iterable[str]) -> int:
        """Return how many bytes the caches of these disks may lose together."""
        return sum(self.disks[name].unflushed_bytes for name in names if self.disks[name].is_volatile)

    def flushed_at(self, names: Iterable[str]) -> float:
        """Return the time of the last flush of any of these disks, or inf if none of them has a volatile cache."""
        disks = [self.disks[name] for name in names]
        return max((disk.flushed_at for disk in disks if disk.is_volatile), default=inf)

    def durable_before(self, names: Iterable[str]) -> float:
        """Return a time: what was in the caches of these disks then is durable now."""
        disks = [self.disks[name] for name in names]
        return min((disk.durable_before for disk in disks if disk.is_volatile), default=inf)
