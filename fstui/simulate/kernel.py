"""The kernel above a simulated disk: which requests follow from a program's calls, and what each call waits for.

ext4 follows fs/ext4/fsync.c and fs/jbd2/commit.c. The data is written in place. If metadata has changed, the blocks of
the journal, a flush, and the commit record with FUA (or another flush) follow; otherwise one flush. ZFS follows zil.c:
the data is written to the intent log, which is flushed, and the transaction group is written seconds later. A disk that
writes through receives no flush.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from fstui.simulate.disk import Disk
from fstui.simulate.media import MS, US, Extent, S
from fstui.simulate.parameters import Front, Simulated

PAGE = 4096
TICK_NS = 4 * MS
"""The resolution of timestamps (HZ=250): overwriting a file changes its metadata at most this often."""
JOURNAL_BYTES = 64 << 20
TXG_NS = 5 * S
"""zfs_txg_timeout."""


class FileWrite(NamedTuple):
    """A write of a program to its file. ``stamp``: its number."""

    offset: int
    size: int
    stamp: int
    new: bool = False
    """The file grows, or an allocated block is written for the first time."""


class SyncError(Exception):
    def __init__(self, at_ns: float) -> None:
        super().__init__()
        self.at_ns = at_ns


class CachedDisk:
    """A cache device: writes go to it, and a flush commits its map of blocks first."""

    def __init__(self, made: Front, front: Disk) -> None:
        self._made, self._front = made, front

    def write(self, at_ns: float, extent: Extent, stamps: dict[int, int], *, forced: bool = False) -> float:
        return self._front.write(at_ns + self._made.hop_us * US, extent, stamps, forced=forced)

    def flush(self, at_ns: float) -> float:
        for _ in range(self._made.map_writes):
            at_ns = self._front.write(at_ns + self._made.hop_us * US, Extent(1 << 40, PAGE), {})
        return self._front.flush(at_ns + self._made.hop_us * US)


BlockTarget = Disk | CachedDisk
"""A block device below a filesystem."""


class SimulatedFile:
    """One file of a filesystem, and the CPU time of its I/O path. Offsets are relative to the file."""

    def __init__(self, made: Simulated, storage: BlockTarget, log: BlockTarget) -> None:
        self.change(made)
        platter = made.disk.platter
        self._journal_at = platter.tracks // 3 * platter.track_bytes if platter else 1 << 38
        self._storage, self._log = storage, log
        self._chance = random.Random(made.seed)
        self._dirty: dict[int, tuple[int, int]] = {}
        self._grown = False
        self._tick = 0
        self._logged = 0
        self.commits = 0

    def change(self, made: Simulated) -> None:
        self._host, self._made, self.stubbed = made.host, made.filesystem, made.host.syncs_stubbed
        device = made.log or made.front or made.disk
        self._sends_flushes = made.filesystem.barrier and device.write_cache == "write back"
        self._sends_fua = self._sends_flushes and device.fua
        self._fails_write = made.disk.fails_write

    def write(self, at_ns: float, written: FileWrite) -> float:
        self._dirty[written.offset] = (written.size, written.stamp)
        self._grown |= written.new
        return at_ns + (self._host.syscall_us + self._host.copy_us * -(-written.size // PAGE)) * US

    def direct(self, at_ns: float, written: FileWrite, *, durable: bool, data_only: bool = True) -> float:
        """Write with O_DIRECT; ``durable``: and O_DSYNC, or O_SYNC without ``data_only``.

        Linux sends FUA for O_DSYNC alone (fs/iomap/direct-io.c).
        """
        durable &= not self.stubbed  # libeatmydata also removes the flag
        at_ns += self._host.syscall_us * US
        forced = durable and data_only and self._sends_fua and not written.new
        extent, stamps = Extent(written.offset, written.size), {written.offset: written.stamp}
        end = self._request(self._storage, at_ns, extent, stamps, forced=forced)
        if not durable or forced:
            return end
        self._grown |= written.new
        return self._made_durable(end, data_only=data_only)

    def sync(self, at_ns: float, *, data_only: bool) -> float:
        """Run fsync or fdatasync. Raises SyncError if the disk fails: once, because the page is clean afterwards."""
        at_ns += self._host.syscall_us * US
        if self.stubbed:
            return at_ns
        dirty, self._dirty = self._dirty, {}
        if self._made.data == "journal":
            return self._commit(at_ns, dirty)
        end = at_ns
        for offset, (size, stamp) in dirty.items():
            at_ns += self._host.submit_us * US
            if stamp != self._fails_write:
                end = max(end, self._storage.write(at_ns, Extent(offset, size), {offset: stamp}))
        if self._fails_write in (stamp for _, stamp in dirty.values()):
            raise SyncError(max(end, at_ns))
        return self._made_durable(end + self._host.complete_us * US if dirty else end, data_only=data_only)

    def _made_durable(self, at_ns: float, *, data_only: bool) -> float:
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

    def direct(self, at_ns: float, written: FileWrite, *, durable: bool, data_only: bool = True) -> float:
        """Write buffered: OpenZFS before 2.3 accepts O_DIRECT and ignores it."""
        end = self.write(at_ns, written)
        return self.sync(end, data_only=data_only) if durable else end

    def sync(self, at_ns: float, *, data_only: bool) -> float:
        """Write all dirty data to the intent log, and flush its disk."""
        at_ns += self._host.syscall_us * US
        if self.stubbed or self._made.sync == "disabled":
            self._dirty.clear()
            return at_ns
        dirty, self._dirty = self._dirty, {}
        self.commits += 1
        stamps = {offset: stamp for offset, (_, stamp) in dirty.items()}
        size = PAGE + sum(size for size, _ in dirty.values())
        at_ns += self._made.hops * self._host.wake_us * US
        at_ns = self._flush(self._log, self._request(self._log, at_ns, self._next_logged(size), stamps))
        if at_ns > self._group_ends_ns:
            self._group_ends_ns = at_ns + TXG_NS
            for offset, stamp in stamps.items():  # asynchronous
                self._storage.write(at_ns, Extent(offset, dirty[offset][0]), {offset: stamp})
        return at_ns + self._host.wake_us * US

    def _next_logged(self, size: int) -> Extent:
        # free space of a used pool is scattered, so the blocks of the log are not adjacent
        return Extent(self._chance.randrange(0, 3 * self._journal_at, PAGE), size)
