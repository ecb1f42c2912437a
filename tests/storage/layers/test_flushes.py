from typing import Any

import pytest

from fstui.model.storage import Node
from fstui.storage.layers.flushes import (
    NOTHING,
    Call,
    ExpectedFlushes,
    Range,
    Sync,
    expected_flushes,
    flushes_per_backing_fsync,
)
from fstui.storage.layers.kinds import kind
from tests.factories.storage import filesystem

ONE, TWO, ONE_OR_TWO = Range(1, 1), Range(2, 2), Range(1, 2)


@pytest.mark.parametrize("kind", ["ext2", "ext3", "ext4", "xfs"])
@pytest.mark.parametrize(
    ("call", "expected"),
    [("fdatasync", ONE), ("O_DSYNC", ONE), ("fsync", ONE_OR_TWO), ("O_SYNC", ONE_OR_TWO)],
)
def test_overwrite_in_place(kind: str, call: Call, expected: Range) -> None:
    assert expected_flushes(filesystem(kind), Sync(call), claims_fua=False) == ExpectedFlushes(expected, expected)


def test_new_blocks_may_flush_the_journal_too() -> None:
    appended = expected_flushes(filesystem("ext4"), Sync("fdatasync", overwrites=False), claims_fua=False)
    assert appended == ExpectedFlushes(ONE_OR_TWO, ONE_OR_TWO)


@pytest.mark.parametrize(
    ("claims", "with_fua"), [(True, NOTHING), (False, ONE), (None, Range(0, 1))], ids=["FUA", "no FUA", "unknown"]
)
def test_direct_dsync_write_becomes_one_fua_write(claims: bool | None, with_fua: Range) -> None:
    expected = expected_flushes(filesystem("xfs"), Sync("O_DSYNC", direct=True), claims)
    assert expected == ExpectedFlushes(ONE, with_fua)


def test_data_journal_commits_every_write() -> None:
    journal = filesystem("ext4", data="journal")
    assert expected_flushes(journal, Sync("fdatasync"), claims_fua=False) == ExpectedFlushes(Range(2, 3), Range(1, 3))
    assert flushes_per_backing_fsync(journal) == Range(1, 3)


def test_copy_on_write() -> None:
    assert expected_flushes(filesystem("btrfs"), Sync("fdatasync"), claims_fua=False) == ExpectedFlushes(TWO, ONE)
    assert expected_flushes(filesystem("zfs"), Sync("fsync"), claims_fua=False) == ExpectedFlushes(ONE, ONE)
    assert flushes_per_backing_fsync(filesystem("btrfs")) == Range(1, 4)


@pytest.mark.parametrize("kind", ["tmpfs", "nfs4", "overlay", "fuse.sshfs", "newfs"])
def test_no_flush_expected_for_remote_or_unknown_data(kind: str) -> None:
    assert expected_flushes(filesystem(kind), Sync("fdatasync"), claims_fua=False) is None
    assert flushes_per_backing_fsync(filesystem(kind)) is None


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "newfs"])
def test_without_barriers_no_flush_is_sent(kind: str) -> None:
    off = filesystem(kind, barrier="nobarrier")
    assert expected_flushes(off, Sync("fdatasync"), claims_fua=False) == ExpectedFlushes(NOTHING, NOTHING)
    assert flushes_per_backing_fsync(off) == NOTHING


@pytest.mark.parametrize("setting", [{"sync_option": "sync"}, {"sync_flag": "S"}])
def test_flushes_of_a_filesystem_that_syncs_every_write_are_unknown(setting: dict[str, Any]) -> None:
    for name in ("ext4", "xfs", "btrfs"):
        assert expected_flushes(filesystem(name, **setting), Sync("fdatasync"), claims_fua=False) is None
        assert flushes_per_backing_fsync(filesystem(name, **setting)) is None
    heedless = filesystem("zfs", **setting)
    assert expected_flushes(heedless, Sync("fdatasync"), claims_fua=False) == ExpectedFlushes(ONE, ONE)


def test_unknown_fua_allows_either_count() -> None:
    assert ExpectedFlushes(TWO, ONE).for_device(None) == ONE_OR_TWO


@pytest.mark.parametrize(
    ("found", "sync", "itself"),
    [
        (filesystem("ext4"), Sync("fdatasync"), True),
        (filesystem("xfs"), Sync("O_DSYNC", direct=True), True),
        (filesystem("xfs"), Sync("fsync"), False),
        (filesystem("ext4"), Sync("fdatasync", overwrites=False), False),
        (filesystem("ext4", data="journal"), Sync("fdatasync"), False),
        (filesystem("btrfs"), Sync("fdatasync"), False),
    ],
)
def test_who_sends_the_flush(found: Node, sync: Sync, itself: bool) -> None:
    assert kind(found.kind).syncing_thread_sends_flushes(found, sync) is itself
