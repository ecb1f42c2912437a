"""What filesystems that overwrite in place, with a journal of metadata, send down for a sync: ext4 and XFS alike."""

from __future__ import annotations

from fstui.storage.layers.flushes import NOTHING, ONE, ONE_FLUSH, ONE_OR_TWO_FLUSHES, ExpectedFlushes, Range, Sync


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
