"""The bytes of one file that a power failure would take now, and the age of the oldest of them."""

from __future__ import annotations

from collections import deque

GAP_S = 0.1
"""Bytes that were written less than this long before a sync began are being synced: the program waits for them."""
MAX_SYNC_S = 1.0
MAX_MARKS = 4096


class Bytes:
    """Amounts with the time at which each was written, the oldest first."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()
        self.total = 0

    @property
    def oldest(self) -> float | None:
        return self._marks[0][0] if self._marks else None

    def set(self, total: int, since: float) -> list[tuple[float, int]]:
        """Set the amount. An increase was written at ``since``; return what a decrease took, the oldest first."""
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
        """What is left was written after this time, because everything older is durable."""
        if self._marks and self._marks[0][0] < time:
            older = sum(amount for at, amount in self._marks if at < time)
            self._marks = deque([(time, older), *((at, amount) for at, amount in self._marks if at >= time)])


class Exposure:
    """One file, or the files that one program writes with O_DIRECT. Times are seconds of CLOCK_MONOTONIC."""

    def __init__(self, since: float, *, from_start: bool) -> None:
        self.in_memory, self.in_cache = Bytes(), Bytes()
        self.most_bytes = 0
        self.longest_s = 0.0
        self.syncs = 0
        self.first_sync = self.last_sync = 0.0
        """When the first and the last sync began."""
        self._sync_began = self._synced_until = -1.0
        self._begun_at = since if from_start else -1.0
        self._flushes = 0

    def synced(self, began: float, ended: float) -> None:
        """A sync has ended: everything that was written before it began is durable."""
        self._sync_began = max(self._sync_began, began)
        self._synced_until = max(self._synced_until, ended)
        self.in_memory.not_before(self._sync_began)

    def counted(self, began: float, times: int) -> None:
        """``times`` syncs began, the last one at ``began``."""
        self.first_sync = self.first_sync or began
        self.last_sync = max(began, self.last_sync)
        self.syncs += times

    def is_being_synced(self, now: float, running_since: float | None) -> bool:
        """Return whether all bytes were written just before a sync, for which the program still waits."""
        if running_since is not None and now - running_since >= MAX_SYNC_S:
            return False
        return (running_since or now) - self._synced_until < GAP_S

    def update(self, dirty: int, since: float, *, limit: int, flushes: int) -> None:
        """``dirty``: bytes that are not written back, an increase at the earliest ``since``.

        ``limit``: bytes that the disks may hold in their caches; ``flushes``: those of the disks so far.
        """
        written = self.in_memory.set(dirty, max(since, self._sync_began))
        if flushes > self._flushes and self._synced_until >= since:  # its own sync has flushed them
            self.in_cache.set(0, since)
        else:
            for time, amount in written:
                self.in_cache.add(time, amount)
        self._flushes = flushes
        self.in_cache.set(min(self.in_cache.total, limit), since)

    def forget(self) -> None:
        """The file was deleted."""
        self.in_memory, self.in_cache = Bytes(), Bytes()

    def held(self, direct: int, since: float) -> None:
        """``direct``: bytes written without the page cache since the last flush of the disks."""
        self.in_cache.set(direct, since)

    @property
    def total(self) -> int:
        return self.in_memory.total + self.in_cache.total

    def oldest(self) -> float | None:
        return min((one.oldest for one in (self.in_memory, self.in_cache) if one.oldest is not None), default=None)

    def is_at_least(self) -> bool:
        """Return whether the oldest bytes were there at the start, so that they may be older."""
        return self.oldest() == self._begun_at

    def note(self, now: float) -> None:
        self.most_bytes = max(self.most_bytes, self.total)
        oldest = self.oldest()
        if oldest is not None:
            self.longest_s = max(self.longest_s, now - oldest)
