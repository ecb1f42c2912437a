"""The number of flushes that a filesystem sends to its device for one sync, as the device counts them.

The numbers were measured on Linux 6.1 and 6.18 for devices without FUA. For devices with FUA they are derived: a FUA
write reaches such a device as one request, which ``/sys/block/X/stat`` does not count as a flush
(Documentation/block/stat.rst, block/blk-flush.c).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from fstui.model.storage import Layer, Node, SyncPath
from fstui.storage.layers.facts import SYNCED_WRITES, barriers_off
from fstui.storage.layers.kinds import LayerKind, kind

Call = Literal["fdatasync", "fsync", "O_DSYNC", "O_SYNC"]


class Sync(NamedTuple):
    call: Call
    direct: bool = False
    overwrites: bool = True
    """False: the program appends, or writes to space that was only allocated."""


class Range(NamedTuple):
    """A closed interval: the limits of an expected number, or the counts of the worst and of the best member."""

    low: float
    high: float

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def __or__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


class ExpectedFlushes(NamedTuple):
    """Flushes per sync at a device without FUA, and at a device with FUA."""

    plain: Range
    fua: Range

    def for_device(self, fua: bool | None) -> Range:
        """Return what a device counts. ``fua``: whether the device has FUA; None: unknown."""
        if fua is None:
            return self.plain | self.fua
        return self.fua if fua else self.plain

    def shared_by(self, writers: int) -> ExpectedFlushes:
        """Return the flushes per sync if several writers sync at once, when one flush may serve all of them."""
        return ExpectedFlushes(*(Range(limits.low / writers, limits.high) for limits in self))

    def for_member(self) -> ExpectedFlushes:
        """Return the flushes at one member, if every member gets each flush, but only some members get a FUA write.

        A member without FUA executes a FUA write as a write and a flush.
        """
        return ExpectedFlushes(self.plain | self.fua, self.fua)

    def with_extra_commit_flush(self) -> ExpectedFlushes:
        """Return the flushes if a journal commit, which is the optional part of the range, costs one flush more."""
        optional = self.plain.high - self.plain.low
        return ExpectedFlushes(Range(self.plain.low, self.plain.high + optional), self.fua)


NOTHING = Range(0, 0)
ONE = Range(1, 1)
ONE_OR_TWO = Range(1, 2)
ONE_FLUSH = ExpectedFlushes(ONE, ONE)
ONE_OR_TWO_FLUSHES = ExpectedFlushes(ONE_OR_TWO, ONE_OR_TWO)


def expected_flushes(filesystem: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes | None:
    """Return the flushes that the filesystem sends for each sync; None if it has no device of its own or is unknown.

    ``claims_fua``: whether its own device reports FUA. Only then does O_DIRECT+O_DSYNC become one FUA write instead of
    a write and a flush.
    """
    if barriers_off(filesystem):
        return ExpectedFlushes(NOTHING, NOTHING)
    layer_kind = kind(filesystem.kind)
    return layer_kind.expected_flushes(filesystem, sync, claims_fua) if layer_kind.knows(filesystem) else None


def flushes_per_backing_fsync(filesystem: Node) -> Range | None:
    """Return the flushes for each fsync of a backing file on this filesystem; None: unknown."""
    if barriers_off(filesystem):
        return NOTHING
    layer_kind = kind(filesystem.kind)
    return layer_kind.flushes_per_backing_fsync(filesystem) if layer_kind.knows(filesystem) else None


class InPlace(LayerKind, frozen=True, kw_only=True):
    """The kind of a filesystem that overwrites data and keeps its metadata in a journal: ext4, XFS."""

    layer: Layer = "filesystem"
    sync: SyncPath = "passes"
    reason: str = "a sync ends in a flush"
    compression: Literal["never", "optional", "unknown"] = "never"
    rewrites_in_place: bool = True
    flushes_on_sync: bool = True
    unsupported_readings: tuple[str, ...] = SYNCED_WRITES

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
        """Return the flushes of the data, and of the journal if the metadata changed too."""
        # changed metadata causes two flushes if there is a journal, because the commit record needs a flush of its own;
        # one flush without a journal or with FUA. fsync also commits a changed timestamp (granularity 1 to 4 ms).
        # Measured: 1.05 flushes per sync on a fast disk, 2.0 on a slow one
        if not sync.overwrites or sync.call in {"fsync", "O_SYNC"}:
            return ONE_OR_TWO_FLUSHES
        if sync.call == "O_DSYNC" and sync.direct and claims_fua is not False:
            return ExpectedFlushes(ONE, NOTHING if claims_fua else Range(0, 1))
        return ONE_FLUSH

    def syncing_thread_sends_flushes(self, node: Node, sync: Sync) -> bool:
        """Return whether the thread that syncs sends the flushes. It does if no metadata waits for the journal
        (ext4_sync_file with a committed transaction, xfs_file_fsync without a log force). Measured: this thread sent
        all 10 147 flushes while other processes committed all the time."""
        return sync.overwrites and sync.call in {"fdatasync", "O_DSYNC"}

    def flushes_per_backing_fsync(self, node: Node) -> Range:
        return ONE_OR_TWO
