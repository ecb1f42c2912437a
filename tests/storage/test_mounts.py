import pytest

from fstui.model.errors import Refused
from fstui.storage.mounts import read_mounts, visible_mounts
from fstui.storage.survey import survey, target_of
from fstui.storage.tree import Tree
from tests.factories.box import Box


@pytest.mark.parametrize(("places", "visible"), [
    (("/", "/run", "/run"), [0, 2]),
    (("/", "/srv/data", "/srv/data/deep", "/srv"), [0, 3]),
    (("/", "/srv", "/srv/data"), [0, 1, 2]),
], ids=["at the same place", "above", "below"])  # fmt: skip
def test_later_mount_hides_what_it_covers(box: Box, places: tuple[str, ...], visible: list[int]) -> None:
    for number, place in enumerate(places):
        box.mount(str(number), place, "ext4")
    assert [int(mount.source) for mount in visible_mounts(read_mounts(Tree(box.root)))] == visible


def test_invalid_line_is_left_out(box: Box) -> None:
    box.write("/proc/self/mountinfo", "garbage\n1 2 3\n\n31 1 0:31 / /x rw - tmpfs tmpfs rw")
    assert [mount.mount_point for mount in read_mounts(Tree(box.root))] == ["/x"]


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
