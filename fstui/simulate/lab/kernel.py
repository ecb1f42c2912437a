"""Create and remove the loop devices, the mounts and the cgroup of one laboratory.

Each of these is marked with the laboratory's run id: a loop device in its file name, a mount in its source, a cgroup in
its name. The marks remain when the laboratory's directory is renamed or its files are deleted.
"""

import ctypes
import errno
import fcntl
import os
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from fstui.model.errors import Refused
from fstui.proc import Mount, mounts, read_text

LOOP_CLR_FD, LOOP_GET_STATUS64, LOOP_CONFIGURE, LOOP_CTL_GET_FREE = 0x4C01, 0x4C05, 0x4C0A, 0x4C82
LO_FLAGS_AUTOCLEAR, LO_FLAGS_DIRECT_IO = 4, 16
_LOOP_INFO = struct.Struct("=5Q4I64s64s32s2Q")
"""struct loop_info64 (uapi/linux/loop.h)."""
_LOOP_CONFIG = struct.Struct(f"=2I{_LOOP_INFO.size}s8Q")
UMOUNT_NOFOLLOW = 8
BUSY_TIMEOUT_S = 3.0
"""How long to retry umount2(2), which fails with EBUSY while another program examines the mount."""
_RETRY_INTERVAL_S = 0.05
_CGROUP_V1, _CGROUP_V2 = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
_libc = ctypes.CDLL(None, use_errno=True)


class LabLoop(NamedTuple):
    """A loop device: its kernel name, and a descriptor that keeps it attached until it is mounted."""

    name: str
    fd: int


def mark(run: str) -> str:
    return f"fstui-lab-{run}"


def make_ext4(directory: int, name: str, size_bytes: int) -> int:
    """Create a sparse file with an ext4 in the directory; return its descriptor. Raises Refused, OSError."""
    fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    os.ftruncate(fd, size_bytes)
    # no lazy initialisation, so that the kernel initialises nothing during a measurement
    options = ["-q", "-F", "-b", "4096", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"]
    argv = ["mke2fs", "-t", "ext4", *options, f"/proc/self/fd/{fd}"]
    try:
        process = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, pass_fds=(fd,))
    except FileNotFoundError:
        raise Refused("mke2fs is missing: apt-get install e2fsprogs") from None
    if process.returncode:
        raise Refused(f"mke2fs failed: {process.stderr.decode(errors='replace').strip()}")
    return fd


def attach(file_fd: int, run: str) -> LabLoop:
    """Attach a loop device with its write cache on. It is detached when its last user closes it. Raises OSError."""
    with _open_device("loop-control") as control:
        for _ in range(16):  # another process may take the free device first
            name = f"loop{fcntl.ioctl(control.fileno(), LOOP_CTL_GET_FREE)}"
            fd = os.open(f"/dev/{name}", os.O_RDWR | os.O_CLOEXEC)
            for flags in (LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO, LO_FLAGS_AUTOCLEAR):
                info = _LOOP_INFO.pack(*[0] * 8, flags, mark(run).encode(), b"", b"", 0, 0)
                try:
                    fcntl.ioctl(fd, LOOP_CONFIGURE, _LOOP_CONFIG.pack(file_fd, 0, info, *[0] * 8))
                except OSError as error:
                    if error.errno == errno.EBUSY:
                        break
                    if error.errno != errno.EINVAL or flags == LO_FLAGS_AUTOCLEAR:
                        os.close(fd)
                        raise
                else:
                    # set explicitly, because a loop device keeps the value that an earlier user wrote
                    Path(f"/sys/block/{name}/queue/write_cache").write_text("write back")
                    return LabLoop(name, fd)
            os.close(fd)
    raise OSError(errno.EBUSY, "no loop device is free")


def mount(source: str, point_fd: int, fstype: str, options: str = "") -> None:
    _call(_libc.mount, source.encode(), f"/proc/self/fd/{point_fd}".encode(), fstype.encode(), 0, options.encode())


def mount_points(run: str) -> list[str]:
    return [mount.mount_point for mount in _mounts_of(run)]


def remove(run: str) -> None:
    """Remove the mounts, loop devices and cgroup of that laboratory. Raises Refused if one of them is in use."""
    deadline_s = time.monotonic() + BUSY_TIMEOUT_S
    while remaining := _mounts_of(run):
        point = remaining[0].mount_point
        try:
            _call(_libc.umount2, os.fsencode(point), UMOUNT_NOFOLLOW)
        except OSError as error:
            # EINVAL, ENOENT: the mount was unmounted or renamed since the kernel's table was read
            if error.errno not in (errno.EBUSY, errno.EINVAL, errno.ENOENT):
                raise
            if time.monotonic() > deadline_s:
                raise Refused(f"{point} is in use. End the programs and shells that use it, and try again") from None
            time.sleep(_RETRY_INTERVAL_S)
    for name in _loops_of(run):
        with suppress(OSError), _open_device(name) as loop:
            fcntl.ioctl(loop.fileno(), LOOP_CLR_FD)
    for root in (_CGROUP_V1, _CGROUP_V2):
        group = root / mark(run)
        if (group / "cgroup.procs").exists():
            try:
                group.rmdir()
            except OSError:
                raise Refused(f"the cgroup {group} is in use. End the programs in it, and try again") from None


def make_cgroup(run: str, loop: str, writes_per_s: int) -> None:
    """Create a cgroup that limits the writes to the loop device. Raises Refused, OSError."""
    device = Path(f"/sys/block/{loop}/dev").read_text().strip()
    if (_CGROUP_V1 / "cgroup.procs").exists():
        group, file, limit = _CGROUP_V1 / mark(run), "blkio.throttle.write_iops_device", f"{device} {writes_per_s}"
    elif "io" in read_text(f"{_CGROUP_V2}/cgroup.subtree_control").split():
        group, file, limit = _CGROUP_V2 / mark(run), "io.max", f"{device} wiops={writes_per_s}"
    else:
        raise Refused("no cgroup can limit I/O here: 'echo +io > /sys/fs/cgroup/cgroup.subtree_control' allows it")
    group.mkdir()
    (group / file).write_text(limit)


def join_cgroup(run: str) -> None:
    """Put this process into the cgroup of that laboratory. Raises OSError."""
    root = _CGROUP_V1 if (_CGROUP_V1 / "cgroup.procs").exists() else _CGROUP_V2
    (root / mark(run) / "cgroup.procs").write_text(str(os.getpid()))


def _open_device(device: str) -> BinaryIO:
    return cast(BinaryIO, Path("/dev", device).open("r+b", buffering=0))


def _call(function: object, *arguments: object) -> None:
    assert callable(function)
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _mounts_of(run: str) -> list[Mount]:
    sources = {mark(run), *(f"/dev/{name}" for name in _loops_of(run))}
    return sorted((mount for mount in mounts() if mount.source in sources), key=lambda mount: -mount.line)


def _loops_of(run: str) -> list[str]:
    loops = []
    for directory in sorted(Path("/sys/block").glob("loop*/loop")):
        name = directory.parent.name
        with suppress(OSError), _open_device(name) as loop:
            info = _LOOP_INFO.unpack(fcntl.ioctl(loop.fileno(), LOOP_GET_STATUS64, bytes(_LOOP_INFO.size)))
            file_name = info[9]  # lo_file_name
            if file_name.rstrip(b"\0").decode(errors="replace") == mark(run):
                loops.append(name)
    return loops
