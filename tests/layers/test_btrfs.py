"""btrfs: members, level, trouble."""

from __future__ import annotations

from tests.factories.box import Box
from tests.factories.looking import look, read, trouble


def test_btrfs_members_level_and_trouble(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb")
    box.partition("sdb", 1)
    home = "/sys/fs/btrfs/5f1c"
    for name in ("sda", "sdb1"):
        box.link(f"{home}/devices/{name}", f"../../../../class/block/{name}")
    box.write(f"{home}/allocation/data/raid1/total_bytes", "1")
    box.write(f"{home}/devinfo/1/missing", "0")
    box.write(f"{home}/devinfo/1/error_stats", "write_errs 0\nread_errs 0\nflush_errs 3")
    box.write(f"{home}/devinfo/2/missing", "1")
    box.mount("/dev/sda", "/srv", "btrfs", device="0:44", root="/@data", super_options="rw,compress=zstd:3")
    found = look(box)
    top = found.stack[0]
    assert top.below == ("sda", "sdb1")
    assert {node.id for node in found.lowest} == {"sda", "sdb"}
    assert read(top, "level") == ("raid1", f"{home}/allocation/data")
    assert read(top, "compress")[0] == "zstd:3"
    assert trouble(top) == [("errors", "flush_errs 3"), ("missing", "1")]
