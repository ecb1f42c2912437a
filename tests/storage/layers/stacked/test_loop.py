import os
from typing import Any

import pytest

from fstui.model.storage import Target
from fstui.storage.layers.stacked import loop
from fstui.storage.layers.stacked.loop import LIST_COMMAND, stat_command
from fstui.storage.survey import commands, survey, target_of
from fstui.storage.tool_output import ToolOutput, command_line
from tests.factories.box import Box
from tests.factories.evidence import quiet, verdict
from tests.factories.looking import edges, look, read
from tests.factories.steps import step


def mount_disk(box: Box, place: str = "/") -> None:
    box.disk("vda", "pci0000:00/virtio1")
    box.mount("/dev/vda", place, "ext4")


def mount_loop(box: Box, file: str, **settings: Any) -> None:
    box.loop("loop0", file, **settings)
    box.mount("/dev/loop0", "/srv", "ext4")


@pytest.mark.parametrize("dio", [0, 1])
def test_loop_device_is_followed_through_its_file(box: Box, dio: int) -> None:
    mount_disk(box)
    mount_loop(box, "/var/images/my disk.img", dio=dio)
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
    assert ("direct-io is off" in loop.reason) is (dio == 0)
    assert (file.layer, file.kind) == ("file", "backing-file")
    assert [node.id for node in found.lowest] == ["vda"]
    assert loop.counted


@pytest.mark.parametrize("file", ["/dev/shm/disk.img (deleted)", "/memfd:disk (deleted)"])
def test_loop_on_file_in_memory(box: Box, file: str) -> None:
    box.mount("tmpfs", "/dev/shm", "tmpfs")
    mount_loop(box, file)
    assert [node.layer for node in look(box).lowest] == ["memory"]


def test_loop_on_a_block_device(box: Box) -> None:
    box.mount("udev", "/dev", "devtmpfs")
    box.disk("sda")
    box.dm("dm-0", "vg-lv", "LVM-x", ("sda",))
    mount_loop(box, "/dev/mapper/vg-lv")
    assert edges(look(box))["loop0"] == ("dm-0",)


def test_loop_on_itself_ends(box: Box) -> None:
    mount_loop(box, "/srv/disk.img")
    assert edges(look(box)) == {"mount:/srv": ("loop0",), "loop0": ("file:/srv/disk.img",), "file:/srv/disk.img": ()}


def test_deeply_nested_loops_end(box: Box) -> None:
    box.mount("tmpfs", "/0", "tmpfs")
    for number in range(200):
        box.loop(f"loop{number}", f"/{number}/disk.img")
        box.mount(f"/dev/loop{number}", f"/{number + 1}", "ext4")
    assert len(survey(box.root).filesystems) == 201


def test_write_through_override_of_a_loop_stops_flushes(box: Box) -> None:
    mount_disk(box)
    mount_loop(box, "/disk.img", write_cache="write through")
    loop = look(box).node("loop0")
    assert (loop.write_cache, loop.sync) == ("write through", "stops")
    assert "vda below reports write back" in loop.reason


def test_read_only_loop_may_say_write_through(box: Box) -> None:
    mount_disk(box)
    box.loop("loop0", "/snap.img", write_cache="write through", ro=1)
    box.mount("/dev/loop0", "/srv", "squashfs", options="ro", super_options="ro")
    assert look(box).node("loop0").sync == "passes"


def after_losetup(box: Box, number: str) -> Target:
    """Return the target on /srv after losetup reported the device number of the file of loop0."""
    told = ToolOutput(output=f"/dev/loop0 \\x20\\x20{number}\\x20\n")
    return target_of("/srv", survey(box.root, {command_line(LIST_COMMAND): told}))


def test_path_in_another_namespace_is_not_followed(box: Box) -> None:
    """The loop was set up in another mount namespace, or another mount covers the file; losetup shows it."""
    mount_disk(box, "/data")
    box.mount("tmpfs", "/images", "tmpfs")
    mount_loop(box, "/images/disk.img")
    found = after_losetup(box, box.number_of["vda"])
    assert edges(found)["file:/images/disk.img"] == ("mount:/data",)
    assert [node.id for node in found.lowest] == ["vda"]
    nowhere = after_losetup(box, "259:7")
    assert edges(nowhere)["file:/images/disk.img"] == ()
    assert "259:7" in nowhere.node("file:/images/disk.img").reason


@pytest.mark.parametrize(("inode", "found"), [(12, True), (13, False), (None, False)])
def test_file_without_a_device_may_be_in_memory(box: Box, inode: int | None, found: bool) -> None:
    """The path leads to an overlay, as in a container. The loop's file has another anonymous number, as on tmpfs."""
    box.mount("overlay", "/", "overlay", device="0:31")
    mount_loop(box, "/x.img")
    tool_outputs = {command_line(LIST_COMMAND): ToolOutput(output="/dev/loop0 \\x20 0:46 12\n")}
    if inode is not None:
        printed = f"{os.makedev(0, 46)} {inode} 0:0\n"
        tool_outputs[command_line(stat_command("/x.img"))] = ToolOutput(output=printed)
    where = target_of("/srv", survey(box.root, tool_outputs))
    assert edges(where)["file:/x.img"] == (("mount:/",) if found else ())
    judgement = verdict(where, step(flushes={"loop0": 1}), idle=quiet("loop0"))
    assert found or (judgement.verdict, judgement.confidence) == ("cannot-tell", "medium")


def in_a_container(box: Box, stat: ToolOutput) -> Target:
    """The loop has no device node, a tmpfs is where its file's path begins, and losetup has no answer."""
    box.mount("tmpfs", "/images", "tmpfs")
    mount_loop(box, "/images/disk.img")
    return target_of("/srv", survey(box.root, {command_line(stat_command("/images/disk.img")): stat}))


@pytest.mark.parametrize(("stat", "followed"), [
    (ToolOutput(error="stat: cannot statx '/images/disk.img': No such file or directory"), False),
    (ToolOutput(error="stat: cannot statx '/images/disk.img': Permission denied"), True),
    (ToolOutput(error="no answer for 4 s"), True),
    (ToolOutput(output="25 12 0:0\n"), True),
])  # fmt: skip
def test_missing_file_is_not_followed(box: Box, stat: ToolOutput, followed: bool) -> None:
    found = in_a_container(box, stat)
    assert edges(found)["file:/images/disk.img"] == (("mount:/images",) if followed else ())
    assert followed or "is not at this path" in found.node("file:/images/disk.img").reason


@pytest.mark.parametrize("covered", [True, False])
def test_later_mount_does_not_hold_the_file(box: Box, covered: bool) -> None:
    """An ordinary user gets no identity, and a copy of the file may be on the mount that covers the path."""
    box.mount("tmpfs", "/earlier" if covered else "/images", "tmpfs")
    mount_loop(box, "/images/disk.img")
    box.mount("tmpfs", "/images" if covered else "/later", "tmpfs", device="0:97")
    tool_outputs = {command_line(stat_command("/images/disk.img")): ToolOutput(output="25 12 0:0\n")}
    found = target_of("/srv", survey(box.root, tool_outputs))
    assert edges(found)["file:/images/disk.img"] == (() if covered else ("mount:/images",))


def test_every_user_looks_at_the_path(box: Box) -> None:
    mount_loop(box, "/images/disk.img")
    assert stat_command("/images/disk.img") in commands(survey(box.root), as_root=False)


@pytest.mark.parametrize(("fstype", "told"), [("xfs", "0:31"), ("btrfs", "0:33")], ids=["same", "subvolume"])
def test_path_confirmed_by_losetup_is_followed(box: Box, fstype: str, told: str) -> None:
    box.mount("/dev/vda", "/", fstype, device="0:31")
    mount_loop(box, "/x.img")
    assert edges(after_losetup(box, told))["file:/x.img"] == ("mount:/",)


def test_btrfs_mounted_over_the_file_does_not_hold_it(box: Box) -> None:
    """losetup reports the number of a disk, which is never that of a subvolume."""
    mount_disk(box)
    box.mount("/dev/vdb", "/images", "btrfs", device="0:31")
    mount_loop(box, "/images/disk.img")
    assert [node.id for node in after_losetup(box, box.number_of["vda"]).lowest] == ["vda"]


@pytest.mark.parametrize(("file", "deleted"), [
    ("/srv/a.img (deleted)", True), ("/home/#1311 (deleted)", True), ("/srv/a.img", False),
    ("/memfd:disk (deleted)", False),
])  # fmt: skip
def test_deleted_file(box: Box, file: str, deleted: bool) -> None:
    box.loop("loop0", file)
    box.mount("/dev/loop0", "/mnt", "ext4")
    assert (loop.deleted_backing_file(look(box, "/mnt").node("loop0")) is not None) is deleted


def after_stat(box: Box, file: str, *, inode: int = 12, node_of: str | None = None) -> Target:
    """Return the target on /srv, whose loop has inode 12 of vda, after stat reported what is at the path."""
    box.disk("vda", "pci0000:00/virtio1")
    box.disk("sdb")
    box.mount("/dev/vda", "/", "ext4")
    box.mount("tmpfs", "/run", "tmpfs", device="0:25")
    mount_loop(box, file)
    number = "0:25" if file.startswith("/run") else box.number_of["vda"]
    major, minor = map(int, number.split(":"))
    losetup = ToolOutput(output=f"/dev/loop0 \\x20{number} 12\n")
    device = ":".join(f"{int(part):x}" for part in box.number_of[node_of].split(":")) if node_of else "0:0"
    stat = ToolOutput(output=f"{os.makedev(major, minor)} {inode} {device}\n")
    return target_of(
        "/srv", survey(box.root, {command_line(LIST_COMMAND): losetup, command_line(stat_command(file)): stat})
    )


def test_device_node_in_tmpfs_is_the_device(box: Box) -> None:
    """As in a container, whose /dev is a tmpfs."""
    found = after_stat(box, "/run/dev/mydisk", node_of="sdb")
    assert found.node("loop0").below == ("sdb",)
    assert [node.id for node in found.lowest] == ["sdb"]


def test_other_file_at_the_path_is_ignored(box: Box) -> None:
    assert after_stat(box, "/run/dev/mydisk", inode=13, node_of="sdb").node("loop0").below == ("file:/run/dev/mydisk",)
