"""What each member is to the layer above: from tables (root), from names, from sysfs."""

from __future__ import annotations

import pytest

from fstui.inventory import claims
from fstui.inventory.claims import Answer, Claims
from fstui.inventory.survey import survey
from fstui.model import Target
from tests.unit.inventory.looking import look, read, target, trouble
from tests.unit.inventory.trees import Box

LVM = "LVM-" + "a" * 64


def roles(found: Target) -> dict[str, str]:
    return {node.id: reading.value for node in found.stack if (reading := node.reading("role")) is not None}


def seen(box: Box, table: str, mount_point: str = "/srv") -> Target:
    answers: Claims = {"dmsetup table": Answer(output=table)}
    return target(survey(box.root, answers), mount_point)


def disks(box: Box, *names: str) -> tuple[str, ...]:
    for name in names:
        box.disk(name)
    return tuple(box.number_of[name] for name in names)


def on_dm(box: Box, label: str, uuid: str, slaves: tuple[str, ...]) -> None:
    box.dm("dm-9", label, uuid, slaves)
    box.mount(f"/dev/mapper/{label}", "/srv", "ext4", device=box.number_of["dm-9"])


def test_a_cached_volume_by_its_table(box: Box) -> None:
    meta, fast, slow = disks(box, "sda", "sdb", "sdc")
    on_dm(box, "data", "", ("sda", "sdb", "sdc"))
    found = seen(box, f"data: 0 41943040 cache {meta} {fast} {slow} 512 2 metadata2 writethrough smq 0\n")
    top = found.node("dm-9")
    assert (top.kind, read(top, "cache_mode")) == ("dm-cache", ("writethrough", "dmsetup table"))
    assert roles(found) == {"sda": "metadata", "sdb": "cache", "sdc": "origin"}
    assert top.reading("missing") is None


@pytest.mark.parametrize(("table", "kind", "expected", "reading"), [
    ("x: 0 8 writecache s {0} {1} 4096 0", "dm-writecache", {"sda": "origin", "sdb": "cache"},
     ("writecache_type", "ssd")),
    ("x: 0 8 thin-pool {0} {1} 128 32768 1 skip_block_zeroing", "dm-thin-pool", {"sda": "metadata", "sdb": "data"},
     ("target", "thin-pool")),
    ("x: 0 8 snapshot {0} {1} P 8", "dm-snapshot", {"sda": "origin", "sdb": "cow"}, ("target", "snapshot")),
    ("x: 0 8 striped 2 128 {0} 0 {1} 0", "dm-stripe", {"sda": "stripe", "sdb": "stripe"}, ("target", "striped")),
    ("x: 0 8 raid raid1 3 0 region_size 4096 2 - {0} - {1}", "dm-raid", {"sda": "mirror leg", "sdb": "mirror leg"},
     ("level", "raid1")),
    ("x: 0 8 raid raid5_ls 1 128 1 {0} {1}", "dm-raid", {"sda": "metadata", "sdb": "stripe"}, ("level", "raid5")),
    ("x: 0 8 mirror disk 2 {0} 1024 1 {1} 0", "dm-mirror", {"sda": "log", "sdb": "mirror leg"}, ("target", "mirror")),
    ("x: 0 8 multipath 0 0 2 1 service-time 0 1 2 {0} 1 1 service-time 0 1 2 {1} 1 1", "dm-multipath",
     {"sda": "path", "sdb": "path"}, ("target", "multipath")),
    ("x: 0 8 integrity {0} 0 32 J 6 meta_device:{1}", "dm-integrity", {}, ("integrity_mode", "J")),
    ("x: 0 8 linear {0} 2048\nx: 8 8 striped 2 128 {0} 0 {1} 0", "dm-stripe", {"sda": "stripe", "sdb": "stripe"},
     ("target", "linear, striped")),
])  # fmt: skip
def test_each_target_names_its_devices_in_its_own_order(
    box: Box, table: str, kind: str, expected: dict[str, str], reading: tuple[str, str]
) -> None:
    numbers = disks(box, "sda", "sdb")
    on_dm(box, "x", "", ("sda", "sdb"))
    found = seen(box, table.format(*numbers))
    assert found.node("dm-9").kind == kind
    assert roles(found) == expected
    assert read(found.node("dm-9"), reading[0])[0] == reading[1]


def test_no_key_of_an_encrypted_device_is_kept(box: Box) -> None:
    (number,) = disks(box, "sda")
    on_dm(box, "luks", "CRYPT-LUKS2-1-luks", ("sda",))
    found = seen(box, f"luks: 0 8 crypt aes-xts-plain64 00c0ffee00 0 {number} 32768")
    assert found.node("dm-9").kind == "dm-crypt"
    assert "c0ffee" not in repr(found)


@pytest.mark.parametrize("table", [
    "x", "x: 0 8 cache", "x: 0 8 raid", "x: 0 8 raid raid1 999999 0", "x: 0 8 raid raid1 -5 0", "x: 0 8 mirror core",
    "x: 0 8 cache 99:1 99:2 99:3 512", ": : :", "x: 0 8 writecache", "x: 0 8 integrity",
])  # fmt: skip
def test_a_table_that_makes_no_sense_claims_no_role(box: Box, table: str) -> None:
    disks(box, "sda")
    on_dm(box, "x", "", ("sda",))
    assert roles(seen(box, table)) == {}


def test_without_a_table_lvms_names_tell_and_the_table_is_missed(box: Box) -> None:
    disks(box, "sda", "nvme0n1")
    box.dm("dm-0", "vg-fast_cdata", LVM + "-cdata", ("nvme0n1",))
    box.dm("dm-1", "vg-fast_cmeta", LVM + "-cmeta", ("nvme0n1",))
    box.dm("dm-2", "vg-data_corig", LVM + "-real", ("sda",))
    on_dm(box, "vg-data", LVM, ("dm-0", "dm-1", "dm-2"))
    found = look(box)
    assert roles(found) == {"dm-0": "cache", "dm-1": "metadata", "dm-2": "origin"}
    assert read(found.node("dm-2"), "role") == ("origin", "/sys/block/dm-2/dm/name")
    value, path = read(found.node("dm-9"), "missing")
    assert (value, path) == ("the device-mapper table: root only, or not asked yet", "dmsetup table")


def test_a_cache_on_one_volume_is_the_fast_device(box: Box) -> None:
    disks(box, "sda", "nvme0n1")
    box.dm("dm-0", "vg-fast_cvol", LVM + "-cvol", ("nvme0n1",))
    box.dm("dm-1", "vg-data_wcorig", LVM + "-real", ("sda",))
    on_dm(box, "vg-data", LVM, ("dm-0", "dm-1"))
    assert roles(look(box)) == {"dm-0": "cache", "dm-1": "origin"}


def test_paths_of_a_multipath_device(box: Box) -> None:
    disks(box, "sda", "sdb")
    on_dm(box, "mpatha", "mpath-3600", ("sda", "sdb"))
    assert roles(look(box)) == {"sda": "path", "sdb": "path"}


@pytest.mark.parametrize(("level", "role"), [("raid1", "mirror leg"), ("raid10", "mirror leg"), ("raid0", "stripe"),
                                             ("raid5", "stripe")])  # fmt: skip
def test_members_of_an_md_array(box: Box, level: str, role: str) -> None:
    disks(box, "sda", "sdb", "sdc", "sdd")
    files = {f"dev-{name}/state": state for name, state in
             {"sda": "in_sync", "sdb": "in_sync,journal", "sdc": "spare", "sdd": "faulty"}.items()}  # fmt: skip
    box.md("md0", level, ("sda", "sdb", "sdc", "sdd"), consistency_policy="journal", **files)
    box.write("/sys/block/md0/md/bitmap/location", "+8")
    box.mount("/dev/md0", "/srv", "xfs")
    found = look(box)
    array = found.node("md0")
    assert roles(found) == {"sda": role, "sdb": "journal", "sdc": "spare", "sdd": role}
    assert trouble(array) == [("faulty", "sdd")]
    assert read(array, "bitmap") == ("+8", "/sys/block/md0/md/bitmap/location")
    assert read(array, "consistency_policy")[0] == "journal"


def test_bcache_tells_the_fast_device_from_the_slow_one(box: Box) -> None:
    disks(box, "sda", "nvme0n1")
    box.partition("nvme0n1", 1)
    box.write("/sys/class/block/sda/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.write("/sys/class/block/nvme0n1p1/bcache/cache_replacement_policy", "[lru] fifo random")
    path = box.device("bcache0", slaves=("sda", "nvme0n1p1"))
    box.write(f"{path}/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.write(f"{path}/bcache/state", "dirty")
    box.mount("/dev/bcache0", "/srv", "ext4")
    found = look(box)
    assert roles(found) == {"sda": "origin", "nvme0n1p1": "cache"}
    assert read(found.node("bcache0"), "bcache_state")[0] == "dirty"


def test_nvme_paths_say_how_they_are_reached_and_used(box: Box) -> None:
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    box.write("/sys/class/nvme-subsystem/nvme-subsys0/iopolicy", "round-robin")
    for name, ana, state in (("nvme0c0n1", "optimized", "live"), ("nvme0c1n1", "inaccessible", "connecting")):
        files: dict[str, str | bytes] = {"ana_state": ana, "device/transport": "tcp", "device/state": state}
        box.disk(name, "virtual/nvme-fabrics/ctl/nvme0", files=files)
    box.mount("/dev/nvme0n1", "/srv", "xfs")
    found = look(box)
    assert roles(found) == {"nvme0c0n1": "path", "nvme0c1n1": "path"}
    assert read(found.node("nvme0n1"), "iopolicy")[0] == "round-robin"
    assert read(found.node("nvme0c1n1"), "ana_state")[0] == "inaccessible"
    assert trouble(found.node("nvme0c1n1")) == [("state", "connecting")]
    medium = found.node("nvme0c0n1").medium
    assert medium is not None
    assert (medium.class_, "tcp" in medium.because) == ("network", True)


def test_a_device_that_serves_two_has_both_roles(box: Box) -> None:
    meta, one, other = disks(box, "sda", "sdb", "sdc")
    for number, name in enumerate(("a", "b")):
        box.dm(f"dm-{number}", name, "", ("sda", "sdb", "sdc"))
        box.mount(f"/dev/mapper/{name}", f"/{name}", "ext4", device=box.number_of[f"dm-{number}"])
    table = f"a: 0 8 cache {meta} {one} {other} 512 0 smq 0\nb: 0 8 thin-pool {meta} {one} 128 1"
    found = seen(box, table, "/a")
    both = [reading.value for reading in found.node("sdb").readings if reading.what == "role"]
    assert both == ["cache", "data"]


def test_xfs_log_and_realtime_devices_have_their_roles(box: Box) -> None:
    disks(box, "sda", "sdb", "sdc")
    box.mount("/dev/sda", "/srv", "xfs", super_options="rw,logdev=/dev/sdb,rtdev=/dev/sdc")
    assert roles(look(box)) == {"sdb": "log", "sdc": "realtime"}


@pytest.mark.parametrize(("thread", "journal"), [
    ("jbd2/sdb", {"sdb": "journal"}), ("jbd2/sda-8", {}), ("jbd2/nvme0n1p1-", {}), ("kworker/0:1", {}),
    ("jbd2/sdz", {}),
])  # fmt: skip
def test_an_ext4_journal_on_a_device_of_its_own_is_part_of_the_stack(
    box: Box, thread: str, journal: dict[str, str]
) -> None:
    disks(box, "sda", "sdb")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered", journal=False)
    box.write("/sys/fs/ext4/sda/journal_task", "512")
    box.write("/proc/512/comm", thread)
    found = look(box)
    assert roles(found) == journal
    assert found.stack[0].below == ("sda", *journal)


def test_asking_for_tables_is_left_to_boxes_with_device_mapper(box: Box) -> None:
    disks(box, "sda")
    assert claims.TABLES not in claims.commands(survey(box.root), root=True)
