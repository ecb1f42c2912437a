"""The kernel above a simulated disk: which requests follow from a program's calls, and what each call waits for.

A sync on ext4 (fs/ext4/fsync.c, fs/jbd2/commit.c): the data is written in place. If metadata has changed, the blocks of
the journal, a flush, and the commit record with FUA (or another flush) follow; otherwise one flush. A sync on ZFS
(zil.c): the data is written to the intent log, which is flushed. The transaction group is written seconds later. A disk
that is reported as write through receives no flush.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from fstui.simulate.disk import Disk
from fstui.simulate.media import MS, US, Extent, S
from fstui.simulate.parameters import Front, Simulated

PAGE = 4096
TICK_NS = 4 * MS
"""The resolution of timestamps (HZ=250): overwriting a file changes its metadata at most once in this time."""
JOURNAL_BYTES = 64 << 20
TXG_NS = 5 * S
"""Interval between transaction groups (zfs_txg_timeout)."""


class FileWrite(NamedTuple):
    offset: int
    size: int
    stamp: int
    new: bool = False
    """Whether the file grows, or an allocated block is written for the first time."""


class SyncError(Exception):
    """A sync failed with EIO at this time."""

    def __init__(self, at_ns: float) -> None:
        super().__init__()
        self.at_ns = at_ns


class CachedDisk:
    def __init__(self, parameters: Front, front: Disk) -> None:
        self._parameters, self._front = parameters, front

    def write(self, at_ns: float, extent: Extent, stamps: dict[int, int], *, forced: bool = False) -> float:
        return self._front.write(at_ns + self._parameters.hop_us * US, extent, stamps, forced=forced)

    def flush(self, at_ns: float) -> float:
        for _ in range(self._parameters.map_writes):
            at_ns = self._front.write(at_ns + self._parameters.hop_us * US, Extent(1 << 40, PAGE), {})
        return self._front.flush(at_ns + self._parameters.hop_us * US)


BlockTarget = Disk | CachedDisk


class SimulatedFile:
    """One file of a filesystem, and the CPU time of its I/O path. Offsets are relative to the file."""

    def __init__(self, parameters: Simulated, storage: BlockTarget, log: BlockTarget) -> None:
        self.change(parameters)
        platter = parameters.disk.platter
        self._journal_at = platter.tracks // 3 * platter.track_bytes if platter else 1 << 38
        self._storage, self._log = storage, log
        self._chance = random.Random(parameters.seed)
        self._dirty: dict[int, tuple[int, int]] = {}
        """The unsynced writes: offset → size and number of the write."""
        self._grown = False
        """Whether metadata other than timestamps has changed since the last commit."""
        self._tick = 0
        """The timestamp of the last commit, in ticks."""
        self._logged = 0
        """Used bytes of the journal."""
        self.commits = 0

    def change(self, parameters: Simulated) -> None:
        self._host, self._parameters = parameters.host, parameters.filesystem
        self.stubbed = parameters.host.syncs_stubbed
        device = parameters.log or parameters.front or parameters.disk
        self._sends_flushes = parameters.filesystem.barrier and device.write_cache == "write back"
        self._sends_fua = self._sends_flushes and device.fua
        self._fails_write = parameters.disk.fails_write

    def write(self, at_ns: float, written: FileWrite) -> float:
        self._dirty[written.offset] = (written.size, written.stamp)
        self._grown |= written.new
        return at_ns + (self._host.syscall_us + self._host.copy_us * -(-written.size // PAGE)) * US

    def direct(self, at_ns: float, written: FileWrite, *, durable: bool, data_only: bool = True) -> float:
        """Write with O_DIRECT. ``durable``: also with O_DSYNC (``data_only``) or O_SYNC.

        Linux sends FUA for O_DSYNC, but not for O_SYNC (fs/iomap/direct-io.c).
        """
        durable &= not self.stubbed  # libeatmydata also removes the flag
        at_ns += self._host.syscall_us * US
        forced = durable and data_only and self._sends_fua and not written.new
        extent, stamps = Extent(written.offset, written.size), {written.offset: written.stamp}
        end = self._request(self._storage, at_ns, extent, stamps, forced=forced)
        if not durable or forced:
            return end
        self._grown |= written.new
        return self._commit_or_flush(end, data_only=data_only)

    def sync(self, at_ns: float, *, data_only: bool) -> float:
        """Run fsync or fdatasync. Raises SyncError if a write fails. The next call succeeds: the page is clean then."""
        at_ns += self._host.syscall_us * US
        if self.stubbed:
            return at_ns
        dirty, self._dirty = self._dirty, {}
        if self._parameters.data == "journal":
            return self._commit(at_ns, dirty)
        end = at_ns
        for offset, (size, stamp) in dirty.items():
            at_ns += self._host.submit_us * US
            if stamp != self._fails_write:
                end = max(end, self._storage.write(at_ns, Extent(offset, size), {offset: stamp}))
        if self._fails_write in (stamp for _, stamp in dirty.values()):
            raise SyncError(max(end, at_ns))
        return self._commit_or_flush(end + self._host.complete_us * US if dirty else end, data_only=data_only)

    def _commit_or_flush(self, at_ns: float, *, data_only: bool) -> float:
        """Commit the journal if metadata has changed. Otherwise flush the written data."""
        tick = int(at_ns // TICK_NS)
        if self._grown or (tick != self._tick and not data_only):
            self._grown, self._tick = False, tick
            return self._commit(at_ns, {})
        return self._flush(self._storage, at_ns)

    def _commit(self, at_ns: float, data: dict[int, tuple[int, int]]) -> float:
        """Commit the journal: its blocks, a flush, and the commit record."""
        self.commits += 1
        at_ns += self._host.wake_us * US
        stamps = {offset: stamp for offset, (_, stamp) in data.items()}
        size = 2 * PAGE + sum(size for size, _ in data.values())
        at_ns = self._request(self._storage, at_ns, self._next_logged(size), stamps)
        at_ns = self._flush(self._storage, at_ns)
        at_ns = self._request(self._storage, at_ns, self._next_logged(PAGE), {}, forced=self._sends_fua)
        if not self._sends_fua:
            at_ns = self._flush(self._storage, at_ns)
        return at_ns + self._host.wake_us * US

    def _request(
        self, storage: BlockTarget, at_ns: float, extent: Extent, stamps: dict[int, int], *, forced: bool = False
    ) -> float:
        end = storage.write(at_ns + self._host.submit_us * US, extent, stamps, forced=forced)
        return end + self._host.complete_us * US

    def _flush(self, storage: BlockTarget, at_ns: float) -> float:
        if not self._sends_flushes:
            return at_ns
        return storage.flush(at_ns + self._host.submit_us * US) + self._host.complete_us * US

    def _next_logged(self, size: int) -> Extent:
        if self._logged + size > JOURNAL_BYTES:
            self._logged = 0
        self._logged += size
        return Extent(self._journal_at + self._logged - size, size)


class ZfsFile(SimulatedFile):
    _group_ends_ns = 0.0
    """When the next transaction group is written."""

    def direct(self, at_ns: float, written: FileWrite, *, durable: bool, data_only: bool = True) -> float:
        """Write buffered: OpenZFS before 2.3 accepts O_DIRECT and ignores it."""
        end = self.write(at_ns, written)
        return self.sync(end, data_only=data_only) if durable else end

    def sync(self, at_ns: float, *, data_only: bool) -> float:
        """Write all dirty data to the intent log, and flush its disk."""
        at_ns += self._host.syscall_us * US
        if self.stubbed or self._parameters.sync == "disabled":
            self._dirty.clear()
            return at_ns
        dirty, self._dirty = self._dirty, {}
        self.commits += 1
        stamps = {offset: stamp for offset, (_, stamp) in dirty.items()}
        size = PAGE + sum(size for size, _ in dirty.values())
        at_ns += self._parameters.hops * self._host.wake_us * US
        at_ns = self._flush(self._log, self._request(self._log, at_ns, self._next_logged(size), stamps))
        if at_ns > self._group_ends_ns:
            self._group_ends_ns = at_ns + TXG_NS
            for offset, stamp in stamps.items():  # the sync does not wait for these writes
                self._storage.write(at_ns, Extent(offset, dirty[offset][0]), {offset: stamp})
        return at_ns + self._host.wake_us * US

    def _next_logged(self, size: int) -> Extent:
        # free space of a used pool is scattered, so the blocks of the log are not adjacent
        return Extent(self._chance.randrange(0, 3 * self._journal_at, PAGE), size)
