"""Create and remove the mounts and the cgroup of one laboratory.

Each of these is marked with the laboratory's run id: a mount in its source or in the name of its image, a cgroup in its
name. The marks remain when the laboratory's directory is renamed or its files are deleted.
"""

import ctypes
import errno
import os
import subprocess
import time
from pathlib import Path

from fstui.measure.wire.stdio import die_with_parent
from fstui.model.errors import Refused
from fstui.proc import Mount, mounts, read_text

UMOUNT_NOFOLLOW = 8
BUSY_TIMEOUT_S = 3.0
"""How long to retry umount2(2), which fails with EBUSY while another program examines the mount."""
_RETRY_INTERVAL_S = 0.05
_CGROUP_V1, _CGROUP_V2 = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
# no lazy initialisation, so that the kernel initialises nothing during a measurement
_MAKE_EXT4 = (
    *("mke2fs", "-t", "ext4", "-q", "-F", "-b", "4096", "-m", "0"),
    *("-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
)


def mark(run: str) -> str:
    return f"fstui-lab-{run}"


def mount(source: str, directory: Path, fstype: str, options: str, cwd: Path | None = None) -> None:
    """Mount a filesystem. Relative paths in the options are relative to ``cwd``. Raises Refused."""
    # -n: do not record the mount in /run, from which umount2(2) would not remove it
    _run("mount", "mount", "-n", "-t", fstype, "-o", options, source, str(directory), cwd=cwd)


def mount_ext4(image: Path, directory: Path, size_bytes: int, options: str = "") -> None:
    """Create an ext4 in a new sparse file, and mount it on a loop device with its write cache on. Raises Refused,
    OSError."""
    with image.open("xb") as file:
        file.truncate(size_bytes)
    _run("e2fsprogs", *_MAKE_EXT4, str(image))
    mount(str(image), directory, "ext4", ",".join(filter(None, ("loop", options))))
    # set explicitly, because a loop device keeps the value that an earlier user wrote
    Path(f"/sys/dev/block/{_device(directory)}/queue/write_cache").write_text("write back")


def mount_points(run: str) -> list[str]:
    return [mount.mount_point for mount in _mounts_of(run)]


def remove(run: str) -> None:
    """Remove the mounts and the cgroup of that laboratory. The kernel detaches the loop device of a mount that was
    removed. Raises Refused if a mount or the cgroup is in use."""
    deadline_s = time.monotonic() + BUSY_TIMEOUT_S
    libc = ctypes.CDLL(None, use_errno=True)
    while points := mount_points(run):
        # EINVAL, ENOENT: the mount was unmounted or renamed since the kernel's table was read
        if libc.umount2(os.fsencode(points[0]), UMOUNT_NOFOLLOW):
            number = ctypes.get_errno()
            if number not in (errno.EBUSY, errno.EINVAL, errno.ENOENT):
                raise OSError(number, os.strerror(number))
            if time.monotonic() > deadline_s:
                raise Refused(f"{points[0]} is in use. End the programs and shells that use it, and try again")
            time.sleep(_RETRY_INTERVAL_S)
    for root in (_CGROUP_V1, _CGROUP_V2):
        group = root / mark(run)
        if (group / "cgroup.procs").exists():
            try:
                group.rmdir()
            except OSError:
                raise Refused(f"the cgroup {group} is in use. End the programs in it, and try again") from None


def make_cgroup(run: str) -> None:
    """Create a cgroup that can limit I/O. Raises Refused, OSError."""
    root = _cgroup_root()
    if root == _CGROUP_V2 and "io" not in read_text(f"{root}/cgroup.subtree_control").split():
        raise Refused("no cgroup can limit I/O here: 'echo +io > /sys/fs/cgroup/cgroup.subtree_control' allows it")
    (root / mark(run)).mkdir()


def limit_writes(run: str, directory: Path, writes_per_s: int) -> None:
    """Let the processes of the cgroup write this many times a second to the device of a mounted filesystem. Raises
    OSError."""
    group, device = _cgroup_root() / mark(run), _device(directory)
    if group.parent == _CGROUP_V1:
        (group / "blkio.throttle.write_iops_device").write_text(f"{device} {writes_per_s}")
    else:
        (group / "io.max").write_text(f"{device} wiops={writes_per_s}")


def join_cgroup(run: str) -> None:
    """Put this process into the cgroup of that laboratory. Raises OSError."""
    (_cgroup_root() / mark(run) / "cgroup.procs").write_text(str(os.getpid()))


def _cgroup_root() -> Path:
    return _CGROUP_V1 if (_CGROUP_V1 / "cgroup.procs").exists() else _CGROUP_V2


def _run(package: str, *argv: str, cwd: Path | None = None) -> None:
    try:
        process = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=cwd, preexec_fn=die_with_parent
        )
    except FileNotFoundError:
        raise Refused(f"{argv[0]} is missing: apt-get install {package}") from None
    if process.returncode:
        raise Refused(f"{argv[0]} failed: {process.stderr.decode(errors='replace').strip()}")


def _device(directory: Path) -> str:
    number = directory.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def _mounts_of(run: str) -> list[Mount]:
    """Return the mounts of the laboratory, the newest first."""
    images = Path("/sys/block").glob("loop*/loop/backing_file")
    sources = {mark(run), *(f"/dev/{image.parts[3]}" for image in images if mark(run) in read_text(str(image)))}
    return sorted((mount for mount in mounts() if mount.source in sources), key=lambda mount: -mount.line)
