from typing import Any

import pytest
from msgspec.structs import replace

from fstui.model.storage import Reading
from fstui.storage.layers import kind
from tests.factories.box import Box
from tests.factories.looking import look, read, trouble
from tests.factories.storage import filesystem


def test_btrfs_members_level_and_errors(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb")
    box.partition("sdb", 1)
    home = "/sys/fs/btrfs/5f1c"
    for name in ("sda", "sdb1"):
        box.link(f"{home}/devices/{name}", f"../../../../class/block/{name}")
    box.write(f"{home}/allocation/data/raid1/total_bytes", "1")
    box.write(f"{home}/allocation/metadata/dup/total_bytes", "1")
    box.write(f"{home}/devinfo/1/missing", "0")
    box.write(f"{home}/devinfo/1/error_stats", "write_errs 0\nread_errs 0\nflush_errs 3")
    box.write(f"{home}/devinfo/2/missing", "1")
    box.mount("/dev/sda", "/srv", "btrfs", device="0:44", root="/@data", super_options="rw,compress=zstd:3")
    found = look(box)
    top = found.stack[0]
    assert top.below == ("sda", "sdb1")
    assert {node.id for node in found.lowest} == {"sda", "sdb"}
    assert read(top, "level") == ("raid1", f"{home}/allocation/data")
    assert read(top, "metadata_level") == ("dup", f"{home}/allocation/metadata")
    assert read(top, "compress")[0] == "zstd:3"
    assert trouble(top) == [("errors", "flush_errs 3"), ("missing", "1")]


def test_btrfs_with_single_metadata_tolerates_no_loss() -> None:
    for data, metadata, tolerated, corrected in (
        ("raid1", "raid1", 1, 1),
        ("raid1", "single", 0, 0),
        ("raid1", "dup", 0, 0),
        ("raid5", "raid1", 1, 0),
        ("raid1c3", "raid1c3", 2, 2),
        ("raid1", "raid1 single", 0, 0),
    ):
        top = filesystem("btrfs", level=data, metadata_level=metadata)
        row = kind("btrfs")
        assert (row.tolerated_failures(top, 3), row.tolerated_stale_members(top, 3)) == (tolerated, corrected)


@pytest.mark.parametrize(("level", "missing", "tolerated"), [("raid1", 1, 0), ("raid1c3", 1, 1), ("raid5", 2, 0)])
def test_missing_btrfs_members_reduce_tolerance(level: str, missing: int, tolerated: int) -> None:
    state = tuple(Reading(what="missing", value="1", path=f"devinfo/{number}/missing") for number in range(missing))
    top = replace(filesystem("btrfs", level=level, metadata_level="raid1c3"), state=state)
    assert kind("btrfs").tolerated_failures(top, 3) == tolerated


def test_btrfs_corrects_nothing_without_checksums() -> None:
    mirror: dict[str, Any] = {"level": "raid1", "metadata_level": "raid1"}
    assert kind("btrfs").tolerated_stale_members(filesystem("btrfs", checksums="off", **mirror), 2) == 0
    assert kind("btrfs").tolerated_stale_members(filesystem("btrfs", nocow_flag="C", **mirror), 2) == 0


def test_btrfs_mixed_groups_have_one_level(box: Box) -> None:
    box.disk("sda")
    home = "/sys/fs/btrfs/5f1c"
    box.link(f"{home}/devices/sda", "../../../../class/block/sda")
    box.write(f"{home}/allocation/mixed/raid1/total_bytes", "1")
    box.mount("/dev/sda", "/srv", "btrfs", device="0:44", super_options="rw,nodatacow,nodatasum")
    top = look(box).stack[0]
    assert read(top, "level") == read(top, "metadata_level") == ("raid1", f"{home}/allocation/mixed")
    assert read(top, "checksums") == ("off", "/proc/self/mountinfo")


def test_btrfs_without_udev_links(box: Box) -> None:
    """Its device number is anonymous, and dmsetup made the nodes."""
    box.disk("sda")
    box.dm("dm-0", "vg-data--1", "LVM-x", ("sda",))
    (box.root / "dev/mapper/vg-data--1").unlink()
    box.link("/sys/fs/btrfs/5f1c/devices/dm-0", "../../../../class/block/dm-0")
    box.mount("/dev/mapper/vg-data--1", "/srv", "btrfs", device="0:44")
    assert [node.id for node in look(box).stack[1:]] == ["dm-0", "sda"]
