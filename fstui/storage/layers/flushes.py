"""What a filesystem sends the device for one sync, as flushes that the device counts.

Measured on Linux 6.1 and 6.18 for devices without FUA, derived for those with it: a FUA write reaches such a device as
one request, and /sys/block/X/stat does not count it as a flush (Documentation/block/stat.rst, block/blk-flush.c).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from fstui.model.storage import Node
from fstui.storage.layers.facts import barriers, flagged_sync, mounted_sync
from fstui.storage.layers.kinds import kind

Call = Literal["fdatasync", "fsync", "O_DSYNC", "O_SYNC"]


class Sync(NamedTuple):
    """How a program makes its writes durable."""

    call: Call
    direct: bool = False
    """With O_DIRECT."""
    overwrites: bool = True
    """Of blocks that were written before; False: it appends, or fills space that was only allocated."""
    every: int = 1
    """Writes per sync."""

    @property
    def by_call(self) -> bool:
        """It calls after writing; else the writes themselves are synced."""
        return self.call in ("fsync", "fdatasync")


class Range(NamedTuple):
    """From the least that is honest to the most."""

    low: float
    high: float

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def __or__(self, other: object) -> Range:
        if not isinstance(other, Range):
            return NotImplemented
        return Range(min(self.low, other.low), max(self.high, other.high))


class ExpectedFlushes(NamedTuple):
    """Flushes per sync at a device without FUA, and at one with it."""

    plain: Range
    fua: Range

    def at(self, fua: bool | None) -> Range:
        """What such a device counts; either, where it does not say."""
        return self.plain | self.fua if fua is None else self.fua if fua else self.plain

    def shared_by(self, writers: int) -> ExpectedFlushes:
        """The same where so many sync at once: each flush may serve all of them, once each."""
        return ExpectedFlushes(*(Range(each.low / writers, each.high) for each in self))

    def in_part(self) -> ExpectedFlushes:
        """Where each flush arrives, and of the writes marked FUA only those that lie there."""
        return ExpectedFlushes(self.plain | self.fua, self.fua)

    def with_commits_repeated(self) -> ExpectedFlushes:
        """Where each commit has one more: as many as may come, or not, with a sync. A FUA write is not counted."""
        more = self.plain.high - self.plain.low
        return ExpectedFlushes(Range(self.plain.low, self.plain.high + more), self.fua)

    def and_at_most(self, more: float) -> ExpectedFlushes:
        """The same with that many more allowed."""
        return ExpectedFlushes(*(Range(each.low, each.high + more) for each in self))


NOTHING = Range(0, 0)
ONE = Range(1, 1)
ONE_OR_TWO = Range(1, 2)
ONE_FLUSH = ExpectedFlushes(ONE, ONE)
ONE_OR_TWO_FLUSHES = ExpectedFlushes(ONE_OR_TWO, ONE_OR_TWO)


def expected_flushes(filesystem: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes | None:
    """What each such sync sends down; None where that is no matter of flushes: the data is in memory, elsewhere, or
    another filesystem's.

    ``claims_fua``: the filesystem's own device says that it supports FUA; only then does O_DIRECT+O_DSYNC become one
    FUA write instead of a write and a flush.
    """
    if barriers_off(filesystem):
        return ExpectedFlushes(NOTHING, NOTHING)
    expected = kind(filesystem.kind).expected_flushes(filesystem, sync, claims_fua)
    if expected and sync.by_call and every_write_synced(filesystem):
        return expected.and_at_most(2 * sync.every)  # every write has been synced once already
    return expected


def expected_of_backing(filesystem: Node) -> Range | None:
    """Flushes that one flush of a loop device becomes below: an fsync of its backing file. None where that is no
    matter of flushes, and where the devices below may be others than those that are known."""
    if barriers_off(filesystem):
        return NOTHING
    return kind(filesystem.kind).expected_of_backing(filesystem)


def barriers_off(filesystem: Node) -> bool:
    """The filesystem was told to send no flushes."""
    told = barriers(filesystem)
    return told is not None and not told.value


def every_write_synced(filesystem: Node) -> bool:
    """Mounted ``-o sync``, or its files under ``chattr +S``, and it heeds that: every write is one with O_DSYNC."""
    told = (mounted_sync(filesystem), flagged_sync(filesystem))
    return kind(filesystem.kind).sync_mount and any(fact is not None and fact.value for fact in told)


def expected_in_place(sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
    """Of the data, and of the journal where the metadata changed with it."""
    if not sync.overwrites:
        return (
            ONE_OR_TWO_FLUSHES  # two with a journal (its commit record needs one of its own), one without, or with FUA
        )
    if sync.call in {"fsync", "O_SYNC"}:
        return (
            ONE_OR_TWO_FLUSHES  # each tick of the timestamps, 1 to 4 ms, commits: 1.05 back to back, 2.0 on a slow disk
        )
    if sync.call == "O_DSYNC" and sync.direct and claims_fua is not False:
        return ExpectedFlushes(ONE, NOTHING if claims_fua else Range(0, 1))
    return ONE_FLUSH


def caller_asks(sync: Sync) -> bool:
    """Where no metadata waits for the journal, the flush is sent by who syncs (kernel: ext4_sync_file with a committed
    transaction, xfs_file_fsync without a log force): 10 147 of 10 147 beside neighbours that commit all the while."""
    return sync.overwrites and sync.call in {"fdatasync", "O_DSYNC"}
