"""The kernel above a simulated disk: which requests a program's calls cause, and which requests each call waits for.

A sync on ext4 writes the data in place (fs/ext4/fsync.c, fs/jbd2/commit.c). If metadata has changed, it then writes the
blocks of the journal, flushes, and writes the commit record with FUA (or flushes again). Otherwise it flushes once. A
sync on ZFS writes the data to the intent log and flushes the log (zil.c). The transaction group is written seconds
later. A disk that is reported as write through receives no flush.
"""

import random
from typing import NamedTuple

from fstui.simulate.disk import Disk
from fstui.simulate.media import MS, US, Extent, S
from fstui.simulate.parameters import CacheDevice, SimulationParameters

PAGE = 4096
TICK_NS = 4 * MS
"""The resolution of timestamps (HZ=250). Overwriting a file changes its metadata at most once in this time."""
JOURNAL_BYTES = 64 << 20
TXG_NS = 5 * S
"""Interval between transaction groups (zfs_txg_timeout)."""


class FileWrite(NamedTuple):
    offset: int
    size: int
    stamp: int
    allocates: bool = False
    """Whether the file grows, or a preallocated block is written for the first time."""


class SyncError(Exception):
    """A sync failed with EIO at ``time_ns``."""

    def __init__(self, time_ns: float) -> None:
        super().__init__()
        self.time_ns = time_ns


class CachedDisk:
    """A disk behind a cache device, which receives every write. Before a flush, the map of cached blocks is written."""

    def __init__(self, parameters: CacheDevice, cache_device: Disk) -> None:
        self._parameters, self._cache_device = parameters, cache_device

    def write(self, time_ns: float, extent: Extent, stamps: dict[int, int], *, fua: bool = False) -> float:
        return self._cache_device.write(time_ns + self._parameters.hop_us * US, extent, stamps, fua=fua)

    def flush(self, time_ns: float) -> float:
        for _ in range(self._parameters.map_writes):
            time_ns = self._cache_device.write(time_ns + self._parameters.hop_us * US, Extent(1 << 40, PAGE), {})
        return self._cache_device.flush(time_ns + self._parameters.hop_us * US)


BlockTarget = Disk | CachedDisk


class SimulatedFile:
    """One file of a filesystem, and the CPU time of its I/O path. Offsets are relative to the file."""

    def __init__(self, parameters: SimulationParameters, storage: BlockTarget, log: BlockTarget) -> None:
        self.change(parameters)
        platter = parameters.disk.platter
        self._journal_offset = platter.tracks // 3 * platter.track_bytes if platter else 1 << 38
        self._storage, self._log = storage, log
        self._rng = random.Random(parameters.seed)
        self._dirty: dict[int, tuple[int, int]] = {}
        """The unsynced writes: offset → size and stamp."""
        self._metadata_changed = False
        """Whether metadata other than timestamps has changed since the last commit."""
        self._tick = 0
        """The timestamp of the last commit, in ticks."""
        self._journal_used_bytes = 0

    def change(self, parameters: SimulationParameters) -> None:
        self._host, self._parameters = parameters.host, parameters.filesystem
        self.syncs_stubbed = parameters.host.syncs_stubbed
        device = parameters.log or parameters.cache_device or parameters.disk
        self._sends_flushes = parameters.filesystem.barrier and device.write_cache == "write back"
        self._sends_fua = self._sends_flushes and device.fua
        self._failing_stamp = parameters.disk.failing_write

    def write(self, time_ns: float, file_write: FileWrite) -> float:
        self._dirty[file_write.offset] = (file_write.size, file_write.stamp)
        self._metadata_changed |= file_write.allocates
        return time_ns + (self._host.syscall_us + self._host.copy_us * -(-file_write.size // PAGE)) * US

    def write_direct(self, time_ns: float, file_write: FileWrite, *, durable: bool, data_only: bool = True) -> float:
        """Write with O_DIRECT. ``durable``: also with O_DSYNC (``data_only``) or O_SYNC.

        Linux sends FUA for O_DSYNC, but not for O_SYNC (fs/iomap/direct-io.c).
        """
        durable &= not self.syncs_stubbed  # libeatmydata also removes the flag
        time_ns += self._host.syscall_us * US
        fua = durable and data_only and self._sends_fua and not file_write.allocates
        extent, stamps = Extent(file_write.offset, file_write.size), {file_write.offset: file_write.stamp}
        end_ns = self._request(self._storage, time_ns, extent, stamps, fua=fua)
        if not durable or fua:
            return end_ns
        self._metadata_changed |= file_write.allocates
        return self._commit_or_flush(end_ns, data_only=data_only)

    def sync(self, time_ns: float, *, data_only: bool) -> float:
        """Run fsync or fdatasync. Raises SyncError if a write fails. The page is then clean: a second call succeeds."""
        time_ns += self._host.syscall_us * US
        if self.syncs_stubbed:
            return time_ns
        dirty, self._dirty = self._dirty, {}
        if self._parameters.data == "journal":
            return self._commit(time_ns, dirty)
        end_ns = time_ns
        for offset, (size, stamp) in dirty.items():
            time_ns += self._host.submit_us * US
            if stamp != self._failing_stamp:
                end_ns = max(end_ns, self._storage.write(time_ns, Extent(offset, size), {offset: stamp}))
        if self._failing_stamp in (stamp for _, stamp in dirty.values()):
            raise SyncError(max(end_ns, time_ns))
        return self._commit_or_flush(end_ns + self._host.complete_us * US if dirty else end_ns, data_only=data_only)

    def _commit_or_flush(self, time_ns: float, *, data_only: bool) -> float:
        """Commit the journal if metadata has changed. Otherwise flush the written data."""
        tick = int(time_ns // TICK_NS)
        if self._metadata_changed or (tick != self._tick and not data_only):
            self._metadata_changed, self._tick = False, tick
            return self._commit(time_ns, {})
        return self._flush(self._storage, time_ns)

    def _commit(self, time_ns: float, data: dict[int, tuple[int, int]]) -> float:
        """Commit the journal: write its blocks, flush, and write the commit record."""
        time_ns += self._host.wake_us * US
        stamps = {offset: stamp for offset, (_, stamp) in data.items()}
        size = 2 * PAGE + sum(size for size, _ in data.values())
        time_ns = self._request(self._storage, time_ns, self._next_journal_extent(size), stamps)
        time_ns = self._flush(self._storage, time_ns)
        time_ns = self._request(self._storage, time_ns, self._next_journal_extent(PAGE), {}, fua=self._sends_fua)
        if not self._sends_fua:
            time_ns = self._flush(self._storage, time_ns)
        return time_ns + self._host.wake_us * US

    def _request(
        self, storage: BlockTarget, time_ns: float, extent: Extent, stamps: dict[int, int], *, fua: bool = False
    ) -> float:
        end_ns = storage.write(time_ns + self._host.submit_us * US, extent, stamps, fua=fua)
        return end_ns + self._host.complete_us * US

    def _flush(self, storage: BlockTarget, time_ns: float) -> float:
        if not self._sends_flushes:
            return time_ns
        return storage.flush(time_ns + self._host.submit_us * US) + self._host.complete_us * US

    def _next_journal_extent(self, size: int) -> Extent:
        if self._journal_used_bytes + size > JOURNAL_BYTES:
            self._journal_used_bytes = 0
        self._journal_used_bytes += size
        return Extent(self._journal_offset + self._journal_used_bytes - size, size)


class ZfsFile(SimulatedFile):
    _next_group_ns = 0.0
    """When the next transaction group is written."""

    def write_direct(self, time_ns: float, file_write: FileWrite, *, durable: bool, data_only: bool = True) -> float:
        """Write to the page cache, because OpenZFS before 2.3 accepts O_DIRECT and ignores it."""
        end_ns = self.write(time_ns, file_write)
        return self.sync(end_ns, data_only=data_only) if durable else end_ns

    def sync(self, time_ns: float, *, data_only: bool) -> float:
        """Write all dirty data to the intent log, and flush the disk of the log."""
        time_ns += self._host.syscall_us * US
        if self.syncs_stubbed or self._parameters.sync == "disabled":
            self._dirty.clear()
            return time_ns
        dirty, self._dirty = self._dirty, {}
        stamps = {offset: stamp for offset, (_, stamp) in dirty.items()}
        size = PAGE + sum(size for size, _ in dirty.values())
        time_ns += self._parameters.hops * self._host.wake_us * US
        time_ns = self._flush(self._log, self._request(self._log, time_ns, self._next_journal_extent(size), stamps))
        if time_ns > self._next_group_ns:
            self._next_group_ns = time_ns + TXG_NS
            for offset, stamp in stamps.items():  # the sync does not wait for these writes
                self._storage.write(time_ns, Extent(offset, dirty[offset][0]), {offset: stamp})
        return time_ns + self._host.wake_us * US

    def _next_journal_extent(self, size: int) -> Extent:
        # the free space of a used pool is scattered, so the blocks of the log are not adjacent
        return Extent(self._rng.randrange(0, 3 * self._journal_offset, PAGE), size)
