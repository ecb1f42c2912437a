from __future__ import annotations

import pytest

from fstui.inventory.survey import survey
from tests.unit.inventory.looking import edges, look, read, target, trouble
from tests.unit.inventory.trees import Box


def test_ext4_options_come_from_the_kernels_full_list(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered")
    top = look(box).stack[0]
    assert read(top, "barrier") == ("barrier", "/proc/fs/ext4/sda/options")
    assert read(top, "data") == ("ordered", "/proc/fs/ext4/sda/options")
    assert read(top, "journal") == ("yes", "/proc/fs/jbd2/sda-8")
    assert top.sync == "passes"


def test_ext4_nobarrier_stops_the_flush(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", super_options="rw,nobarrier")
    box.ext4("sda", "rw nobarrier data=ordered")
    top = look(box).stack[0]
    assert read(top, "barrier")[0] == "nobarrier"
    assert (top.sync, top.because) == ("stops", "nobarrier: no flush is sent")


def test_ext4_data_journal_and_no_journal_are_told_apart(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb")
    box.mount("/dev/sda", "/journal", "ext4")
    box.mount("/dev/sdb", "/none", "ext4")
    box.ext4("sda", "rw barrier data=journal")
    box.ext4("sdb", "rw barrier", journal=False)
    inventory = survey(box.root)
    assert read(target(inventory, "/journal").stack[0], "data")[0] == "journal"
    assert read(target(inventory, "/none").stack[0], "journal") == ("no", "/proc/fs/ext4/sdb/options")


def test_ext4_with_its_journal_on_another_device_has_a_journal(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered", journal=False)
    box.write("/sys/fs/ext4/sda/journal_task", "512")
    assert read(look(box).stack[0], "journal") == ("yes", "/sys/fs/ext4/sda/journal_task")


def test_without_proc_fs_ext4_the_mount_options_decide(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", super_options="rw,barrier=0")
    top = look(box).stack[0]
    assert read(top, "barrier") == ("nobarrier", "/proc/self/mountinfo")
    assert top.reading("journal") is None


@pytest.mark.parametrize(("fstype", "options", "barrier"), [
    ("xfs", "rw,attr2", "barrier"), ("xfs", "rw,nobarrier", "nobarrier"), ("btrfs", "rw,nobarrier", "nobarrier"),
    ("f2fs", "rw,nobarrier", "nobarrier"),
])  # fmt: skip
def test_barriers_of_other_filesystems(box: Box, fstype: str, options: str, barrier: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", fstype, super_options=options)
    top = look(box).stack[0]
    assert read(top, "barrier") == (barrier, "/proc/self/mountinfo")
    assert top.sync == ("stops" if barrier == "nobarrier" else "passes")


def test_errors_that_ext4_has_seen_are_trouble(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered", errors=7)
    assert trouble(look(box).stack[0]) == [("errors_count", "7")]


@pytest.mark.parametrize(("options", "super_options", "said"), [
    ("rw,relatime", "ro,errors=remount-ro", [("forced read-only", "mounted rw, now ro")]),
    ("rw,relatime", "rw,emergency_ro", [("forced read-only", "emergency_ro")]),
    ("ro,relatime", "ro", []),
    ("ro,relatime", "rw", []),
    ("rw,relatime", "rw", []),
])  # fmt: skip
def test_forced_read_only_is_trouble_and_mounted_read_only_is_not(
    box: Box, options: str, super_options: str, said: list[tuple[str, str]]
) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", options=options, super_options=super_options)
    assert trouble(look(box).stack[0]) == said


@pytest.mark.parametrize("fstype", ["tmpfs", "ramfs", "devtmpfs"])
def test_a_filesystem_in_memory_stands_on_memory(box: Box, fstype: str) -> None:
    box.mount(fstype, "/srv", fstype)
    top, memory = look(box).stack
    assert (top.layer, top.sync, memory.layer, memory.sync) == ("filesystem", "stops", "memory", "stops")
    assert memory.lowest


@pytest.mark.parametrize(("option", "sync"), [
    ("volatile", "stops"), ("fsync=volatile", "stops"), ("fsync=auto", "passes"), ("xino=off", "passes"),
])  # fmt: skip
def test_an_overlay_stands_on_the_filesystem_of_its_upper_directory(box: Box, option: str, sync: str) -> None:
    box.disk("sda")
    box.disk("sdb")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sdb", "/fast", "xfs")
    options = rf"rw,lowerdir=/usr,upperdir=/fast/up\134,\054per,workdir=/fast/work,{option}"
    box.mount("overlay", "/srv", "overlay", super_options=options)
    found = look(box)
    top = found.stack[0]
    assert edges(found) == {"mount:/srv": ("mount:/fast",), "mount:/fast": ("sdb",), "sdb": ()}
    assert read(top, "upperdir")[0] == "/fast/up\\"
    assert top.sync == sync
    assert (top.reading("volatile") is not None) is (sync == "stops")


def test_an_overlay_whose_upper_directory_cannot_be_seen_claims_nothing(box: Box) -> None:
    box.mount("overlay", "/", "overlay", super_options="rw,lowerdir=/l,upperdir=/var/lib/docker/u,workdir=/w")
    found = look(box, "/")
    assert edges(found) == {"mount:/": ()}
    assert found.lowest == ()


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


def test_a_mount_that_syncs_every_write_is_told_from_one_that_does_not(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", super_options="rw,sync")
    assert read(look(box).stack[0], "sync_option") == ("sync", "/proc/self/mountinfo")


def test_bcachefs_names_all_its_members(box: Box) -> None:
    box.disk("sda")
    box.disk("nvme0n1")
    box.mount("/dev/sda:/dev/nvme0n1", "/srv", "bcachefs", device="0:44")
    assert look(box).stack[0].below == ("sda", "nvme0n1")


def test_a_fuse_filesystem_on_a_disk_shows_the_program_between(box: Box) -> None:
    box.disk("sdb", files={"device/model": "USB DISK"})
    box.mount("/dev/sdb", "/srv", "fuseblk")
    assert edges(look(box)) == {"mount:/srv": ("remote:/dev/sdb",), "remote:/dev/sdb": ("sdb",), "sdb": ()}


def test_xfs_log_and_realtime_devices_are_part_of_the_stack(box: Box) -> None:
    for name in ("sda", "sdb", "sdc"):
        box.disk(name)
    box.link("/dev/disk/by-id/log", "../../sdb")
    options = "rw,attr2,logdev=/dev/disk/by-id/log,rtdev=/dev/sdc"
    box.mount("/dev/sda", "/srv", "xfs", super_options=options)
    top = look(box).stack[0]
    assert top.below == ("sda", "sdb", "sdc")
    assert read(top, "logdev")[0] == "/dev/disk/by-id/log"


@pytest.mark.parametrize("fstype", ["nfs", "nfs4", "cifs", "9p", "virtiofs", "ceph", "fuse", "fuse.sshfs"])
def test_a_remote_filesystem_ends_at_its_server(box: Box, fstype: str) -> None:
    box.mount("filer:/vol1", "/srv", fstype)
    top, server = look(box).stack
    assert (server.layer, server.name, server.lowest, server.sync) == ("remote", "filer:/vol1", True, "unknown")
    assert top.sync == "unknown"


def test_a_zfs_dataset_stands_on_its_pool(box: Box) -> None:
    box.mount("tank/data/db", "/srv", "zfs")
    box.write("/sys/module/zfs/parameters/zfs_nocacheflush", "1")
    top, pool = look(box).stack
    assert (pool.id, pool.layer) == ("pool:tank", "pool")
    assert read(top, "barrier")[0] == "nobarrier"


def test_a_bind_mount_has_the_stack_of_what_it_shows(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sda", "/srv", "ext4", root="/data/deep")
    found = look(box)
    assert edges(found) == {"mount:/srv": ("sda",), "sda": ()}
    assert read(found.stack[0], "root")[0] == "/data/deep"
