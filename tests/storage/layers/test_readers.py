import pytest

from tests.factories.box import Box
from tests.factories.looking import edges, look, read, trouble


@pytest.mark.parametrize(("fstype", "options", "barrier"), [
    ("xfs", "rw,attr2", "barrier"), ("xfs", "rw,nobarrier", "nobarrier"), ("btrfs", "rw,nobarrier", "nobarrier"),
    ("f2fs", "rw,nobarrier", "nobarrier"),
])  # fmt: skip
def test_barriers_from_mount_options(box: Box, fstype: str, options: str, barrier: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", fstype, super_options=options)
    top = look(box).stack[0]
    assert read(top, "barrier") == (barrier, "/proc/self/mountinfo")
    assert top.sync == ("stops" if barrier == "nobarrier" else "passes")


@pytest.mark.parametrize(("options", "super_options", "said"), [
    ("rw,relatime", "ro,errors=remount-ro", [("forced read-only", "mounted rw, now ro")]),
    ("rw,relatime", "rw,emergency_ro", [("forced read-only", "emergency_ro")]),
    ("ro,relatime", "ro", []),
    ("ro,relatime", "rw", []),
    ("rw,relatime", "rw", []),
])  # fmt: skip
def test_forced_read_only_is_trouble(box: Box, options: str, super_options: str, said: list[tuple[str, str]]) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", options=options, super_options=super_options)
    assert trouble(look(box).stack[0]) == said


@pytest.mark.parametrize(("fstype", "device", "said"), [
    ("ext4", "8:17", [("device", "gone")]), ("btrfs", "0:44", []), ("nfs4", "0:45", []), ("jffs2", "31:2", []),
])  # fmt: skip
def test_removed_device_is_trouble(box: Box, fstype: str, device: str, said: list[tuple[str, str]]) -> None:
    box.disk("sda")
    box.mount("elsewhere", "/srv", fstype, device=device)
    assert trouble(look(box).stack[0]) == said


def test_without_sysfs_no_device_is_gone(box: Box) -> None:
    box.mount("/dev/sdb1", "/srv", "ext4", device="8:17")
    assert trouble(look(box).stack[0]) == []


def test_sync_mount_option_is_read(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", super_options="rw,sync")
    assert read(look(box).stack[0], "sync_option") == ("sync", "/proc/self/mountinfo")


def test_bind_mount_has_the_same_stack(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sda", "/srv", "ext4", root="/data/deep")
    found = look(box)
    assert edges(found) == {"mount:/srv": ("sda",), "sda": ()}
    assert read(found.stack[0], "root")[0] == "/data/deep"
