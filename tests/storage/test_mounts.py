import os

import pytest

from fstui.model.errors import Refused
from fstui.storage.mounts import read_mounts, visible_mounts
from fstui.storage.survey import survey, target_of
from fstui.storage.tree import Tree
from tests.factories.box import Box


def mount_points(box: Box) -> list[str]:
    return [mount.mount_point for mount in visible_mounts(read_mounts(Tree(box.root)))]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (rb"/srv/with\040blank", b"/srv/with blank"),
        (rb"/srv/line\012feed\011tab", b"/srv/line\nfeed\ttab"),
        (rb"/srv/back\134slash", rb"/srv/back\slash"),
        (b"/srv/[bold]brackets[/]", b"/srv/[bold]brackets[/]"),
        (b"/srv/caf\xe9", b"/srv/caf\xe9"),
        ("/srv/café".encode(), "/srv/café".encode()),
        (b"/srv/\x1b[2J", b"/srv/\x1b[2J"),
    ],
)
def test_names_are_decoded_without_loss(box: Box, written: bytes, meant: bytes) -> None:
    box.mount("tmpfs", written, "tmpfs")
    (name,) = mount_points(box)
    assert os.fsencode(name) == meant


def test_later_mount_hides_the_earlier_one(box: Box) -> None:
    box.mount("/dev/sda1", "/", "ext4")
    box.mount("tmpfs", "/run", "tmpfs")
    box.mount("ramfs", "/run", "ramfs")
    fstypes = [mount.fstype for mount in visible_mounts(read_mounts(Tree(box.root)))]
    assert fstypes == ["ext4", "ramfs"]


def test_mount_hides_earlier_mounts_below_it(box: Box) -> None:
    box.mount("/dev/sda1", "/", "ext4")
    box.mount("/dev/sdb1", "/srv/data", "ext4")
    box.mount("/dev/sdc1", "/srv/data/deep", "xfs")
    box.mount("tmpfs", "/srv", "tmpfs")
    assert mount_points(box) == ["/", "/srv"]


def test_mount_on_the_new_mount_is_visible(box: Box) -> None:
    box.mount("/dev/sda1", "/", "ext4")
    box.mount("tmpfs", "/srv", "tmpfs")
    box.mount("/dev/sdb1", "/srv/data", "ext4")
    assert mount_points(box) == ["/", "/srv", "/srv/data"]


def test_invalid_line_is_left_out(box: Box) -> None:
    box.write("/proc/self/mountinfo", "garbage\n1 2 3\n\n31 1 0:31 / /x rw - tmpfs tmpfs rw")
    assert mount_points(box) == ["/x"]


def test_empty_source_is_kept(box: Box) -> None:
    box.write("/proc/self/mountinfo", "31 1 0:31 / /x rw - tmpfs  rw,size=1k")
    (mount,) = read_mounts(Tree(box.root))
    assert (mount.source, mount.super_options) == ("", ("rw", "size=1k"))


@pytest.mark.parametrize(
    ("directory", "mount_point"),
    [
        ("/", "/"), ("/srvx", "/"), ("/srv", "/srv"), ("/srv/a/b", "/srv"), ("/srv/data", "/srv/data"),
        ("/srv/data/x", "/srv/data"), ("/srv/data2", "/srv"),
    ],
)  # fmt: skip
def test_longest_mount_point_holds_a_directory(box: Box, directory: str, mount_point: str) -> None:
    for place in ("/", "/srv", "/srv/data"):
        box.mount("tmpfs", place, "tmpfs")
    target = target_of(directory, survey(box.root))
    assert (target.path, target.mount_point) == (directory, mount_point)


def test_directory_without_mount_is_refused(box: Box) -> None:
    box.mount("tmpfs", "/srv", "tmpfs")
    with pytest.raises(Refused, match="/home"):
        target_of("/home", survey(box.root))


def test_pseudo_filesystems_come_last(box: Box) -> None:
    box.write("/proc/filesystems", "nodev\tproc\nnodev\ttmpfs\nnodev\tnewpseudofs\n\text4\nnodev\toverlay\nnodev\tnfs4")
    for source, place, fstype in (
        ("proc", "/proc", "proc"), ("tmpfs", "/sys/fs/cgroup", "tmpfs"), ("newpseudofs", "/new", "newpseudofs"),
        ("cgroup", "/sys/fs/cgroup/cpu", "cgroup"), ("systemd-1", "/misc", "autofs"), ("lxcfs", "/lxc", "fuse.lxcfs"),
        ("tmpfs", "/run", "tmpfs"), ("overlay", "/merged", "overlay"), ("filer:/x", "/filer", "nfs4"),
        ("tank/data", "/tank", "zfs"), ("udev", "/dev", "devtmpfs"), ("/dev/loop0", "/snap/core", "squashfs"),
        ("me@host:/", "/ssh", "fuse.sshfs"), ("/dev/sda1", "/etc/hosts", "ext4"),
        ("filer:/y", "/brandnew", "brandnewfs"), ("/dev/sda2", "/sysroot", "ext4"), ("bpf", "/bpf", "bpf"),
    ):  # fmt: skip
        box.mount(source, place, fstype)
    filesystems = survey(box.root).filesystems
    pseudo = [target.mount_point for target in filesystems if target.pseudo]
    assert pseudo == ["/proc", "/sys/fs/cgroup", "/new", "/sys/fs/cgroup/cpu", "/misc", "/lxc", "/etc/hosts", "/bpf"]
    assert filesystems[-1].pseudo
    assert not filesystems[0].pseudo
