"""Real storage for tests, durable or not. It is always removed again. Needs root.

Each context manager yields a Storage: a directory to measure in, and the device whose counters show the truth.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

MIB = 1 << 20
SIZE_BYTES = 320 * MIB
"""mkfs.xfs requires at least 300 MiB."""
QUIET_EXT4 = ("-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard")
"""Leave no initialisation to the kernel during a measurement."""
MKFS = {
    **{name: ("mke2fs", "-t", name, *QUIET_EXT4) for name in ("ext2", "ext3", "ext4")},
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}
PACKAGE = {
    "mke2fs": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "losetup": "util-linux",
    "addpart": "util-linux",
}


class Storage(NamedTuple):
    """A directory to measure in, and the device below it."""

    directory: Path
    device: str | None
    """Kernel name of the device below the filesystem; None if there is none."""


def tool(name: str) -> str:
    """Return the path of a program. Skip the test if it is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is missing: apt-get install {PACKAGE.get(name, name)}")
    return path


def eatmydata() -> str:
    """Return the path of the library that drops syncs. Skip the test if it is missing."""
    found = sorted(Path("/usr/lib").glob("*/libeatmydata.so*"))
    if not found:
        pytest.skip("libeatmydata is missing: apt-get install libeatmydata1")
    return str(found[0])


@contextmanager
def frozen(point: Path) -> Iterator[None]:
    """Let every write to the filesystem hang in the kernel, as on a disk that does not respond."""
    sh(tool("fsfreeze"), "--freeze", point)
    try:
        yield
    finally:
        sh("fsfreeze", "--unfreeze", point)


def require_kernel(filesystem: str) -> None:
    """Skip the test if the kernel does not support this filesystem."""
    supported = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    if filesystem not in supported and not load_module(filesystem):
        pytest.skip(f"this kernel has no {filesystem}: install the package with its further modules, or another kernel")


def load_module(module: str) -> bool:
    modprobe = shutil.which("modprobe")
    return modprobe is not None and subprocess.run([modprobe, "-q", module], check=False).returncode == 0


def sh(*command: str | Path) -> str:
    """Run a program and return its stdout. Show its stderr if it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr.strip()}"
    return done.stdout.strip()


@contextmanager
def loop(backing: Path, *, direct_io: bool = True, size_bytes: int = SIZE_BYTES) -> Iterator[str]:
    """Make a loop device on a new sparse file and yield its kernel name. Its write cache is on, and it has counters."""
    if not Path("/dev/loop-control").exists() and not load_module("loop"):
        pytest.skip("no loop devices: modprobe loop, or give the container /dev/loop-control and /dev/loop*")
    with backing.open("xb") as file:
        file.truncate(size_bytes)
    on_off = "on" if direct_io else "off"
    device = Path(sh(tool("losetup"), "--find", "--show", f"--direct-io={on_off}", backing)).name
    try:
        # settings of an earlier loop device persist
        iostats_file(device).write_text("1")
        cache = cache_file(device)
        cache.write_text("write back")
        assert cache.read_text().strip() == "write back"
        assert Path(f"/sys/block/{device}/loop/dio").read_text().strip() == ("1" if direct_io else "0")
        yield device
    finally:
        iostats_file(device).write_text("1")
        cache_file(device).write_text("write back")
        sh("losetup", "--detach", f"/dev/{device}")
        backing.unlink()


def cache_file(device: str) -> Path:
    """Return the file with the kernel's view of the cache. With "write through", the kernel drops every flush."""
    return Path(f"/sys/block/{device}/queue/write_cache")


def iostats_file(device: str) -> Path:
    """Return the file that switches the counters of the device on and off."""
    return Path(f"/sys/block/{device}/queue/iostats")


@contextmanager
def mounted(source: str | Path, point: Path, fstype: str, options: str = "") -> Iterator[Path]:
    """Mount a filesystem and wait until nothing of the mount itself has to be written."""
    point.mkdir()
    sh("mount", "-t", fstype, *(["-o", options] if options else []), source, point)
    try:
        sh("sync", "-f", point)
        yield point
    finally:
        unmount(point)
        point.rmdir()


def unmount(point: Path) -> None:
    """Unmount, even if another process surveys the host at this moment (umount(2): EBUSY)."""
    if subprocess.run(["umount", point], check=False, stderr=subprocess.DEVNULL).returncode:
        sh("umount", "--lazy", point)


@contextmanager
def on_loop(
    workshop: Path,
    fstype: str = "ext4",
    *,
    direct_io: bool = True,
    mkfs: tuple[str, ...] = (),
    options: str = "",
    size_bytes: int = SIZE_BYTES,
) -> Iterator[Storage]:
    """Make a filesystem on a loop device, on a file of the workshop."""
    require_kernel(fstype)
    maker, *quiet = MKFS[fstype]
    with loop(workshop / "disk.img", direct_io=direct_io, size_bytes=size_bytes) as device:
        sh(tool(maker), *quiet, *mkfs, f"/dev/{device}")
        with mounted(f"/dev/{device}", workshop / "mnt", fstype, options) as point:
            yield Storage(point, device)


@contextmanager
def on_partition(workshop: Path) -> Iterator[Storage]:
    """Make an ext4 on the only partition of a loop device."""
    with loop(workshop / "disk.img") as device:
        sh(
            tool("addpart"), f"/dev/{device}", "1", "2048", str(SIZE_BYTES // 512 - 2048)
        )  # a partition table is not necessary
        partition = f"{device}p1"
        try:
            sh(*MKFS["ext4"], f"/dev/{partition}")
            with mounted(f"/dev/{partition}", workshop / "mnt", "ext4") as point:
                yield Storage(point, partition)
        finally:
            sh("delpart", f"/dev/{device}", "1")


@contextmanager
def under_chattr(workshop: Path) -> Iterator[Storage]:
    """Make a directory on an ext4 in which the kernel syncs every write."""
    with on_loop(workshop) as storage:
        directory = storage.directory / "synced"
        directory.mkdir()
        sh("chattr", "+S", directory)
        yield Storage(directory, storage.device)


@contextmanager
def large_blocks(workshop: Path) -> Iterator[Storage]:
    """Make an XFS whose blocks are larger than a page, which requires Linux 6.12."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        pytest.skip("this kernel mounts no filesystem with blocks larger than a page: Linux 6.12 or newer")
    with on_loop(workshop, "xfs", mkfs=("-b", "size=65536"), size_bytes=2 * SIZE_BYTES) as storage:
        yield storage


@contextmanager
def write_through(workshop: Path) -> Iterator[Storage]:
    """Make an ext4 on a loop device that is set to "write through", although its backing file is cached."""
    with on_loop(workshop) as storage:
        assert storage.device
        cache_file(storage.device).write_text("write through")
        yield storage


@contextmanager
def tmpfs(workshop: Path) -> Iterator[Storage]:
    with mounted("fstui-tests", workshop / "memory", "tmpfs", f"size={2 * SIZE_BYTES}") as point:
        yield Storage(point, None)


@contextmanager
def loop_in_tmpfs(workshop: Path) -> Iterator[Storage]:
    """Make a filesystem that looks like one on a disk, but is in memory."""
    with tmpfs(workshop) as memory, on_loop(memory.directory, direct_io=False) as storage:
        yield storage


@contextmanager
def zram(workshop: Path) -> Iterator[Storage]:
    control = Path("/sys/class/zram-control")
    if not control.exists() and not load_module("zram"):
        pytest.skip("this kernel has no zram: install the package with its further modules, or another kernel")
    number = (control / "hot_add").read_text().strip()
    device = f"zram{number}"
    try:
        Path(f"/sys/block/{device}/disksize").write_text(str(SIZE_BYTES))
        sh(*MKFS["ext4"], f"/dev/{device}")
        with mounted(f"/dev/{device}", workshop / "mnt", "ext4") as point:
            yield Storage(point, device)
    finally:
        Path(f"/sys/block/{device}/reset").write_text("1")
        (control / "hot_remove").write_text(number)


@contextmanager
def overlay(workshop: Path, options: str = "") -> Iterator[Storage]:
    """Make an overlay whose upper directory is on an ext4 on a loop device."""
    with on_loop(workshop) as below, _overlay_on(below, workshop / "merged", options) as point:
        yield Storage(point, below.device)


@contextmanager
def overlay_on_hidden_memory(workshop: Path) -> Iterator[Storage]:
    """Make an overlay as in a container: its upper directory is in memory and not visible."""
    with tmpfs(workshop) as memory, _overlay_on(memory, workshop / "merged") as point:
        sh("mount", "-t", "tmpfs", "fstui-tests", memory.directory)
        try:
            yield Storage(point, None)
        finally:
            unmount(memory.directory)


@contextmanager
def _overlay_on(below: Storage, point: Path, options: str = "") -> Iterator[Path]:
    require_kernel("overlay")
    layers = {name: below.directory / name for name in ("lower", "upper", "work")}
    for layer in layers.values():
        layer.mkdir()
    directories = ",".join(f"{name}dir={path}" for name, path in layers.items())
    with mounted("overlay", point, "overlay", f"{directories}{options}") as merged:
        yield merged


def fill(directory: Path, left_bytes: int) -> None:
    """Reserve all free space of the filesystem for a file, except for ``left_bytes``."""
    space = os.statvfs(directory)
    with (directory / "others").open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - left_bytes)


def device_under(directory: Path) -> str:
    """Return the kernel name of the disk below a directory. Skip the test if there is none."""
    number = os.stat(directory).st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        pytest.skip(f"{directory} is not on a block device")
    return (device / ".." if (device / "partition").exists() else device).resolve().name


@contextmanager
def write_limit(device: str, per_s: int) -> Iterator[tuple[str, ...]]:
    """Make a cgroup that limits writes per second to the device; yield the prefix of a command that runs in it."""
    number = Path(f"/sys/block/{device}/dev").read_text().strip()
    name = f"fstui-tests-{os.getpid()}"
    if (v1 := Path("/sys/fs/cgroup/blkio")).is_dir():
        limit, line = "blkio.throttle.write_iops_device", f"{number} {per_s}"
        group = v1 / name
    elif {"io", "memory"} <= _words(Path("/sys/fs/cgroup/cgroup.subtree_control")):
        # without the memory controller, writeback counts for the root group
        limit, line = "io.max", f"{number} wiops={per_s}"
        group = Path("/sys/fs/cgroup") / name
    else:
        pytest.skip(
            "no io cgroup: mount cgroup v1's blkio, or put +io +memory in /sys/fs/cgroup/cgroup.subtree_control"
        )
    group.mkdir()
    try:
        if not (group / limit).exists():
            pytest.skip(f"this kernel has no {limit}: it needs CONFIG_BLK_DEV_THROTTLING")
        (group / limit).write_text(line)
        yield "sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"
    finally:
        group.rmdir()


def _words(path: Path) -> set[str]:
    return set(path.read_text().split()) if path.exists() else set()
