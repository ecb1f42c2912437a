"""What a filesystem owes the device for one sync, as flushes that the device counts.

Measured on Linux 6.1 and 6.18 for devices without FUA, derived for those with it: a FUA write reaches such a device as
one request, and /sys/block/X/stat does not count it as a flush (Documentation/block/stat.rst, block/blk-flush.c).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from fstui.model import Node, SyncWrites

Call = Literal["fdatasync", "fsync", "O_DSYNC", "O_SYNC"]


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


class Owed(NamedTuple):
    """Flushes per sync at a device without FUA, and at one with it."""

    plain: Range
    fua: Range

    def at(self, fua: bool | None) -> Range:
        """What such a device counts; either, where it does not say."""
        return self.plain | self.fua if fua is None else self.fua if fua else self.plain

    def and_at_most(self, more: float) -> Owed:
        """The same with that many more allowed."""
        return Owed(*(Range(each.low, each.high + more) for each in self))


NOTHING = Range(0, 0)
IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs"})
"""They overwrite a block where it lies. ext2 and ext3 are the ext4 driver's nearly everywhere."""
_ONE = Range(1, 1)
_ONE_OR_TWO = Range(1, 2)
_EITHER = Owed(_ONE_OR_TWO, _ONE_OR_TWO)
_ONE_FLUSH = Owed(_ONE, _ONE)
_BTRFS = Owed(Range(2, 2), _ONE)
_DATA_JOURNAL = Owed(Range(2, 3), Range(1, 3))
"""The commit's two on Linux 6.1, one more after it on 6.18. With FUA it is untested: anything from 1 to 3."""


def call(settings: SyncWrites) -> Call | None:
    """The one call that makes each write durable; None for no sync, and for two ways at once."""
    flag: Call | None = (
        "O_SYNC" if "sync" in settings.open_flags else "O_DSYNC" if "dsync" in settings.open_flags else None
    )
    if settings.sync == "none":
        return flag
    return None if flag else settings.sync


def owed_by(filesystem: Node, settings: SyncWrites, claims_fua: bool | None) -> Owed | None:
    """What each sync of such a step owes; None for a filesystem that nobody measured.

    ``claims_fua``: the filesystem's own device says that it supports FUA; only then does O_DIRECT+O_DSYNC become one
    FUA write instead of a write and a flush.
    """
    if call(settings) is None:
        return None
    if barriers_off(filesystem):
        return Owed(NOTHING, NOTHING)
    owed = _by_kind(filesystem, settings, claims_fua)
    if owed and is_mounted_sync(filesystem) and settings.sync != "none":
        return owed.and_at_most(2 * settings.sync_every)  # every write has been synced once already
    return owed


def _by_kind(filesystem: Node, settings: SyncWrites, claims_fua: bool | None) -> Owed | None:
    if filesystem.kind == "btrfs":
        return _BTRFS
    if filesystem.kind == "zfs":
        return _ONE_FLUSH  # each device that holds the write of the intent log: OpenZFS 2.1, with and without a SLOG
    if filesystem.kind in IN_PLACE:
        return _DATA_JOURNAL if journals_data(filesystem) else _in_place(settings, claims_fua)
    return None


def _in_place(settings: SyncWrites, claims_fua: bool | None) -> Owed:
    if settings.offsets == "append" or settings.prefill != "written":
        return _EITHER  # two with a journal (its commit record needs one of its own), one without, or with FUA
    if call(settings) in {"fsync", "O_SYNC"}:
        return _EITHER  # each tick of the timestamps, 1 to 4 ms, commits: 1.05 back to back, 2.0 on a slow disk
    if call(settings) == "O_DSYNC" and "direct" in settings.open_flags and claims_fua is not False:
        return Owed(_ONE, NOTHING if claims_fua else Range(0, 1))
    return _ONE_FLUSH


def owed_by_backing(filesystem: Node) -> Range | None:
    """Flushes that one flush of a loop device becomes below: an fsync of its backing file."""
    if barriers_off(filesystem):
        return NOTHING
    if filesystem.kind == "btrfs":
        return Range(1, 4)
    if filesystem.kind not in IN_PLACE:
        return None
    return Range(1, 3) if journals_data(filesystem) else _ONE_OR_TWO


def barriers_off(filesystem: Node) -> bool:
    """The filesystem was told to send no flushes."""
    barrier = filesystem.reading("barrier")
    return barrier is not None and barrier.value in {"nobarrier", "0", "off"}


def is_mounted_sync(filesystem: Node) -> bool:
    """``mount -o sync``: every write is one with O_DSYNC, where the filesystem asks the kernel's ``iocb_is_dsync``.

    Measured on these; ZFS looks at the program's own flags and writes as before.
    """
    option = filesystem.reading("sync_option")
    return filesystem.kind in IN_PLACE | {"btrfs"} and option is not None and option.value == "sync"


def without_journal(filesystem: Node) -> bool:
    """ext4 that was made without one."""
    journal = filesystem.reading("journal")
    return journal is not None and journal.value == "no"


def journals_data(filesystem: Node) -> bool:
    """ext4 data=journal: every write goes through the journal, and O_DIRECT silently becomes buffered."""
    data = filesystem.reading("data")
    return data is not None and data.value == "journal"
