from __future__ import annotations

import pytest

from fstui.inventory.survey import survey
from tests.unit.inventory.looking import edges, look, read, target, trouble
from tests.unit.inventory.trees import Box


def test_a_partition_stands_on_its_disk(box: Box) -> None:
    box.disk("sda", files={"device/model": "ST4000NM0035-1V4", "device/vendor": "ATA     "})
    box.partition("sda", 1)
    box.mount("/dev/sda1", "/srv", "ext4")
    found = look(box)
    assert edges(found) == {"mount:/srv": ("sda1",), "sda1": ("sda",), "sda": ()}
    assert [(node.layer, node.kind) for node in found.stack] == [
        ("filesystem", "ext4"), ("block", "partition"), ("block", "disk"),
    ]  # fmt: skip
    assert [node.id for node in found.lowest] == ["sda"]
    assert (found.node("sda").model, found.node("sda").link) == ("ST4000NM0035-1V4", "sata")
    assert found.node("sda").counted
    assert not found.node("sda1").counted


def test_nvme_and_mmc_partitions_stand_on_their_disks(box: Box) -> None:
    for name in ("nvme0n1", "mmcblk0"):
        box.disk(name, f"pci0000:00/{name}")
        box.mount(f"/dev/{box.partition(name, 2)}", f"/{name}", "xfs")
    inventory = survey(box.root)
    assert edges(target(inventory, "/nvme0n1")) == {
        "mount:/nvme0n1": ("nvme0n1p2",), "nvme0n1p2": ("nvme0n1",), "nvme0n1": (),
    }  # fmt: skip
    assert target(inventory, "/mmcblk0").lowest[0].id == "mmcblk0"


def test_a_degraded_resyncing_raid10_names_its_members_and_its_trouble(box: Box) -> None:
    members = ("sda1", "sdb1", "sdc1", "sdd1")
    for name in members:
        box.disk(name[:3])
        box.partition(name[:3], 1)
    box.md("md0", "raid10", members, degraded="1", sync_action="recover")
    box.mount("/dev/md0", "/srv", "xfs")
    found = look(box)
    array = found.node("md0")
    assert (array.kind, array.below, array.counted) == ("md", members, False)
    assert read(array, "level") == ("raid10", "/sys/block/md0/md/level")
    assert trouble(array) == [("degraded", "1"), ("sync_action", "recover")]
    assert {node.id for node in found.lowest} == {"sda", "sdb", "sdc", "sdd"}


def test_an_md_array_with_a_journal_says_so(box: Box) -> None:
    box.disk("sda")
    box.md("md127", "raid5", ("sda",), journal_mode="[write-through] write-back")
    box.mount("/dev/md127", "/srv", "ext4")
    array = look(box).node("md127")
    assert read(array, "journal_mode")[0] == "[write-through] write-back"
    assert trouble(array) == []


def test_lvm_on_luks_on_nvme(box: Box) -> None:
    box.disk("nvme0n1", "pci0000:00/nvme/nvme0")
    box.partition("nvme0n1", 3)
    box.dm("dm-0", "luks-5f", "CRYPT-LUKS2-5f-luks-5f", ("nvme0n1p3",))
    box.dm("dm-1", "data-my--queue", "LVM-" + "a" * 64, ("dm-0",))
    box.mount("/dev/mapper/data-my--queue", "/srv", "xfs", device=box.number_of["dm-1"])
    found = look(box)
    assert list(edges(found)) == ["mount:/srv", "dm-1", "dm-0", "nvme0n1p3", "nvme0n1"]
    assert (found.node("dm-1").kind, found.node("dm-1").name) == ("dm-linear", "data/my-queue")
    assert (found.node("dm-0").kind, found.node("dm-0").name) == ("dm-crypt", "luks-5f")
    assert read(found.node("dm-0"), "target") == ("crypt", "/sys/block/dm-0/dm/uuid")
    assert found.lowest[0].link == "nvme"


def test_a_cached_volume_shows_the_slow_and_the_fast_device(box: Box) -> None:
    box.disk("sda", rotational=1)
    box.disk("nvme0n1")
    uuid = "LVM-" + "b" * 64
    box.dm("dm-0", "vg-fast_cdata", uuid + "-cdata", ("nvme0n1",))
    box.dm("dm-1", "vg-fast_cmeta", uuid + "-cmeta", ("nvme0n1",))
    box.dm("dm-2", "vg-data_corig", uuid + "-real", ("sda",))
    box.dm("dm-3", "vg-data", uuid, ("dm-0", "dm-1", "dm-2"))
    box.mount("/dev/mapper/vg-data", "/srv", "ext4", device=box.number_of["dm-3"])
    found = look(box)
    assert found.node("dm-3").kind == "dm-cache"
    assert {node.id for node in found.lowest} == {"sda", "nvme0n1"}
    assert len(found.stack) == len({node.id for node in found.stack})


@pytest.mark.parametrize(("label", "uuid", "slave", "kind"), [
    ("vg-thin", "LVM-x", "vg-pool-tpool", "dm-thin"), ("vg-raid", "LVM-x", "vg-raid_rimage_0", "dm-raid"),
    ("vg-fast", "LVM-x", "vg-fast_wcorig", "dm-writecache"), ("vg-snap", "LVM-x", "vg-snap-cow", "dm-snapshot"),
    ("mpatha", "mpath-3600", "", "dm-multipath"), ("mpatha1", "part1-mpath-3600", "mpatha", "dm-linear"),
    ("verity", "CRYPT-VERITY-1", "", "dm-verity"), ("home", "", "", "dm"),
])  # fmt: skip
def test_device_mapper_kinds(box: Box, label: str, uuid: str, slave: str, kind: str) -> None:
    box.dm("dm-0", slave or "x", "", ())
    box.dm("dm-1", label, uuid, ("dm-0",))
    box.mount(f"/dev/mapper/{label}", "/srv", "ext4", device=box.number_of["dm-1"])
    assert look(box).node("dm-1").kind == kind


def test_bcache_shows_both_devices_and_its_mode(box: Box) -> None:
    box.disk("sda", rotational=1)
    box.disk("nvme0n1")
    path = box.device("bcache0", slaves=("sda", "nvme0n1"))
    box.write(f"{path}/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.mount("/dev/bcache0", "/srv", "ext4")
    cached = look(box).node("bcache0")
    assert (cached.kind, set(cached.below), cached.counted) == ("bcache", {"sda", "nvme0n1"}, False)
    assert read(cached, "cache_mode") == ("writeback", "/sys/block/bcache0/bcache/cache_mode")


def test_an_nvme_multipath_head_stands_on_its_paths(box: Box) -> None:
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    for path in ("nvme0c0n1", "nvme0c1n1"):
        box.disk(path, "pci0000:00/nvme/nvme0")
    box.mount("/dev/nvme0n1", "/srv", "xfs")
    found = look(box)
    assert found.node("nvme0n1").below == ("nvme0c0n1", "nvme0c1n1")
    assert [node.id for node in found.stack if node.counted] == ["nvme0c0n1", "nvme0c1n1"]


@pytest.mark.parametrize("dio", [0, 1])
def test_a_loop_stands_on_its_backing_file_and_that_files_stack(box: Box, dio: int) -> None:
    box.disk("vda", "pci0000:00/virtio1", rotational=1)
    box.mount("/dev/vda", "/", "ext4")
    box.loop("loop0", "/var/images/my disk.img", dio=dio)
    box.mount("/dev/loop0", "/srv", "ext4")
    found = look(box)
    assert edges(found) == {
        "mount:/srv": ("loop0",),
        "loop0": ("file:/var/images/my disk.img",),
        "file:/var/images/my disk.img": ("mount:/",),
        "mount:/": ("vda",),
        "vda": (),
    }
    loop, file = found.node("loop0"), found.node("file:/var/images/my disk.img")
    assert read(loop, "dio") == (str(dio), "/sys/block/loop0/loop/dio")
    assert ("direct-io is off" in loop.because) is (dio == 0)
    assert (file.layer, file.kind) == ("file", "backing-file")
    assert [node.id for node in found.lowest] == ["vda"]
    assert loop.counted


def test_a_loop_on_a_file_in_memory_ends_in_memory(box: Box) -> None:
    box.mount("tmpfs", "/dev/shm", "tmpfs")
    box.loop("loop0", "/dev/shm/disk.img (deleted)")
    box.mount("/dev/loop0", "/srv", "ext4")
    (lowest,) = look(box).lowest
    assert (lowest.id, lowest.layer) == ("memory:tmpfs", "memory")


def test_a_loop_on_a_block_device_stands_on_that_device(box: Box) -> None:
    box.mount("udev", "/dev", "devtmpfs")
    box.disk("sda")
    box.dm("dm-0", "vg-lv", "LVM-x", ("sda",))
    box.loop("loop0", "/dev/mapper/vg-lv")
    box.mount("/dev/loop0", "/srv", "ext4")
    assert edges(look(box))["loop0"] == ("dm-0",)


def test_a_loop_whose_file_lies_on_itself_is_no_circle(box: Box) -> None:
    box.loop("loop0", "/srv/disk.img")
    box.mount("/dev/loop0", "/srv", "ext4")
    assert edges(look(box)) == {"mount:/srv": ("loop0",), "loop0": ("file:/srv/disk.img",), "file:/srv/disk.img": ()}


def test_loops_nested_deeper_than_any_sane_box_end_somewhere(box: Box) -> None:
    box.mount("tmpfs", "/0", "tmpfs")
    for number in range(200):
        box.loop(f"loop{number}", f"/{number}/disk.img")
        box.mount(f"/dev/loop{number}", f"/{number + 1}", "ext4")
    assert len(survey(box.root).filesystems) == 201


def test_the_override_of_a_loops_write_cache_stops_the_flush(box: Box) -> None:
    box.disk("vda", "pci0000:00/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.loop("loop0", "/disk.img", write_cache="write through")
    box.mount("/dev/loop0", "/srv", "ext4")
    loop = look(box).node("loop0")
    assert (loop.write_cache, loop.sync) == ("write through", "stops")
    assert "vda below says write back" in loop.because


def test_a_read_only_loop_says_write_through_by_right(box: Box) -> None:
    box.disk("vda", "pci0000:00/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.loop("loop0", "/snap.img", write_cache="write through", ro=1)
    box.mount("/dev/loop0", "/srv", "squashfs", options="ro", super_options="ro")
    assert look(box).node("loop0").sync == "passes"


def test_a_disk_whose_own_word_contradicts_write_through_stops_the_flush(box: Box) -> None:
    cache = {"device/scsi_disk/0:0:0:0/cache_type": "write back"}
    box.disk("sda", write_cache="write through", files=dict(cache))
    box.mount("/dev/sda", "/srv", "ext4")
    disk = look(box).node("sda")
    assert read(disk, "cache_type") == ("write back", "/sys/block/sda/device/scsi_disk/0:0:0:0/cache_type")
    assert disk.sync == "stops"


def test_zram_and_brd_are_memory_at_the_bottom(box: Box) -> None:
    for name in ("zram0", "ram0"):
        box.device(name, write_cache="write through", iostats=0)
        box.mount(f"/dev/{name}", f"/{name}", "ext4")
    for name in ("zram0", "ram0"):
        (lowest,) = look(box, f"/{name}").lowest
        assert (lowest.id, lowest.sync, lowest.counted) == (name, "stops", False)
        assert lowest.medium is not None
        assert lowest.medium.class_ == "memory"


def test_devices_without_a_filesystem_are_listed_and_idle_ones_are_not(box: Box) -> None:
    box.disk("sda")
    box.partition("sda", 1)
    box.partition("sda", 2)
    box.disk("sdb")
    box.partition("sdb", 1)
    box.device("loop7", request_based=True)
    box.device("zram0", sectors=0)
    box.device("zram1", sectors=8192)
    box.device("ram0")
    box.device("sr0", sectors=0)
    box.mount("/dev/sda1", "/", "ext4")
    assert [node.id for node in survey(box.root).unused] == ["sda2", "sdb", "zram1"]


def test_a_device_under_a_hidden_mount_is_in_use(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.mount("tmpfs", "/srv", "tmpfs")
    assert survey(box.root).unused == ()


def test_a_scsi_disk_that_is_not_running_is_in_trouble(box: Box) -> None:
    box.disk("sda", files={"device/state": "offline"})
    box.disk("sdb", files={"device/state": "running"})
    found = {node.id: trouble(node) for node in survey(box.root).unused}
    assert found == {"sda": [("state", "offline")], "sdb": []}


def identity(box: Box) -> str:
    return look(box).identity


def test_the_identity_changes_with_serial_cache_and_options_only(box: Box) -> None:
    path = box.disk("sda", files={"device/wwid": "naa.5000c500a1b2c3d4"})
    box.mount("/dev/sda", "/srv", "ext4")
    first = identity(box)
    box.write(f"{path}/stat", "9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9")
    assert identity(box) == first
    box.write(f"{path}/queue/write_cache", "write through")
    second = identity(box)
    box.write(f"{path}/device/wwid", "naa.5000c500ffffffff")
    third = identity(box)
    box.write("/proc/self/mountinfo", f"30 1 {box.number_of['sda']} / /srv rw - ext4 /dev/sda rw,sync")
    assert len({first, second, third, identity(box)}) == 4


def test_no_serial_number_stands_in_the_document(box: Box) -> None:
    box.disk("sda", files={"device/wwid": "naa.5000c500a1b2c3d4"})
    box.mount("/dev/sda", "/srv", "ext4")
    assert "5000c500" not in repr(survey(box.root))
