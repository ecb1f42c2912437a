from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.real import disks, headless
from tests.real.disks import Storage

Make = Callable[[Path], AbstractContextManager[Storage]]

ONE = (0.9, 1.1)
BTRFS = (1.9, 2.2)
DATA_JOURNAL = (2.9, 3.1)


HONEST: dict[str, tuple[Make, tuple[float, float]]] = {
    "ext4": (disks.on_loop, ONE),
    "ext4 without a journal": (partial(disks.on_loop, mkfs=("-O", "^has_journal")), ONE),
    "ext4 data=journal": (partial(disks.on_loop, options="data=journal"), DATA_JOURNAL),
    "ext3": (partial(disks.on_loop, fstype="ext3"), ONE),
    "ext2": (partial(disks.on_loop, fstype="ext2"), ONE),
    "xfs": (partial(disks.on_loop, fstype="xfs"), ONE),
    "xfs, blocks of 64 KiB": (disks.large_blocks, ONE),
    "btrfs": (partial(disks.on_loop, fstype="btrfs"), BTRFS),
    "btrfs, no direct-io": (partial(disks.on_loop, fstype="btrfs", direct_io=False), BTRFS),
    "overlay": (disks.overlay, ONE),
}


@pytest.mark.parametrize("name", HONEST)
def test_syncs_arrive_and_no_rule_reports_a_fault(workshop: Path, name: str) -> None:
    make, (least, most) = HONEST[name]
    with make(workshop) as storage:
        run = headless.measure("fsync-rate", storage)
        assert storage.device
        assert headless.flushes_per_sync(run, storage.device) >= least, run.sentence
        assert headless.own_flushes_per_sync(run, storage.device) <= most, run.sentence
        assert headless.bytes_arrived(run, storage.device) >= 0.99
        assert headless.rules_against(run) == set()
        assert run.verdict == "consistent", run.sentence
        assert "flushes-arrive" in headless.rules(run, "consistent")
        assert headless.judge_again(run) == run
        assert list(storage.directory.glob(".fstui-*")) == []


@pytest.mark.parametrize("make", [partial(disks.on_loop, options="sync"), disks.under_chattr], ids=["-o sync", "+S"])
def test_filesystem_that_syncs_every_write_is_not_judged(workshop: Path, make: Make) -> None:
    with make(workshop) as storage:
        run = headless.measure("fsync-rate", storage)
        assert run.verdict == "cannot-tell", run.sentence
        assert headless.rules(run, "cannot-tell") == {"unknown-layer"}


def test_backing_file_hidden_by_a_later_mount_is_found(workshop: Path) -> None:
    """The path of the backing file leads into memory now, but the loop device knows the real file."""
    images = workshop / "images"
    images.mkdir()
    with disks.loop(images / "disk.img") as device:
        disks.sh(disks.tool("mke2fs"), "-t", "ext4", *disks.QUIET_EXT4, f"/dev/{device}")
        with disks.mounted(f"/dev/{device}", workshop / "mnt", "ext4") as point:
            disks.sh("mount", "-t", "tmpfs", "none", images)
            try:
                run = headless.measure("fsync-rate", Storage(point, device))
            finally:
                disks.unmount(images)
    assert not headless.rules_against(run), run.sentence
    assert run.target and "tmpfs" not in {node.kind for node in run.target.stack}
