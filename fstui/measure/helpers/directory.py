"""Functions and programs for directories whose storage may hang, in a process that can be abandoned.

``inspect``, ``remove`` and ``remove_marked`` are called by ``fstui.measure.children.call_helper``.
Programs:
``space``  stdin: a line for each mount point; stdout: an empty object at the start, then a line of JSON for each mount
           point as soon as its space is known
``keep``   stdin: the path of a directory that does not exist yet. The program creates it (mode 0700), holds it open,
           and prints ``ready`` and its ``identity`` (device and inode). When stdin closes, because the run has ended or
           fstui was killed, the program removes the directory and then its entry in the ledger (an argument)
Paths are JSON strings with surrogate escapes, so that a name that is not UTF-8 stays the same.
"""

import contextlib
import errno
import fcntl
import glob
import grp
import json
import os
import pwd
import queue
import stat
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from fstui.measure.wire import own_directory, stdio
from fstui.measure.wire.own_directory import MARK, PREFIX, NotOwn

NO_PATH_REASON = (
    "no path leads to it here: another filesystem is mounted over it, or it is in another mount namespace (run fstui "
    "there with nsenter -m -t PID), or it was unmounted"
)
MIN_THREADS, POLL_INTERVAL_S = 4, 0.05
IPC_RMID = 0
REMOVAL_TIMEOUT_S = 8.0
STATX_DIOALIGN, STATX_WRITE_ATOMIC = 0x2000, 0x10000
FS_IOC_GETFLAGS, FS_IOC_GETFLAGS_POWERPC = 0x80086601, 0x40086601
FLAGS = {"S": 0x8, "C": 0x800000}
"""Bits of file flags by letter of lsattr(1). S (FS_SYNC_FL): every write is synced. C (FS_NOCOW_FL): btrfs overwrites
the file in place, without checksums. A new file inherits both flags from its directory."""
FS_APPEND_FL = 0x20
STATX = {"x86_64": 332, "aarch64": 291, "riscv64": 291, "ppc64le": 383, "s390x": 379}
"""System call numbers of statx, from the kernel's syscall tables."""


def say(**fields: Any) -> None:
    with contextlib.suppress(BrokenPipeError):  # fstui was killed, but the work must be done
        stdio.say(**fields)


def failure(error: OSError) -> dict[str, Any]:
    return {"errno": error.errno, "error": error.strerror or str(error)}


def space(mount_points: list[str]) -> None:
    """Print the space of each mount point, read by several threads, because statvfs hangs if a file server is dead.

    Whenever no call has returned for POLL_INTERVAL_S, double the number of threads.
    """
    remaining, returned = iter(mount_points), queue.SimpleQueue[None]()

    def work() -> None:
        for mount_point in remaining:  # all threads share this iterator
            print_space(mount_point)
            returned.put(None)

    thread_count = 0
    for _ in mount_points:
        while thread_count < len(mount_points):
            with contextlib.suppress(queue.Empty):
                returned.get(timeout=POLL_INTERVAL_S if thread_count else 0)
                break
            new_count = max(thread_count, MIN_THREADS)
            for _ in range(new_count):
                threading.Thread(target=work, daemon=True).start()
            thread_count += new_count
        else:
            returned.get()


def print_space(mount_point: str) -> None:
    try:
        sizes = os.statvfs(mount_point)
    except OSError as error:
        say(mount_point=mount_point, **failure(error))
    else:
        unit = sizes.f_frsize
        say(mount_point=mount_point, total_bytes=sizes.f_blocks * unit, free_bytes=sizes.f_bavail * unit)


def inspect(path: str) -> dict[str, Any]:
    """Return where a path leads, whether it is a writable directory, and how much space there is. Raises OSError."""
    real = os.path.realpath(path, strict=True)
    # the two differ if ``path`` begins with a /proc/PID/root, /proc/PID/cwd or working directory that has no path here
    if not os.path.samestat(os.stat(path), os.stat(real)):
        raise OSError(errno.EXDEV, NO_PATH_REASON)
    sizes = os.statvfs(real)
    return {
        "path": real,
        "renamers": renamers(real) if os.geteuid() == 0 else None,
        "directory": stat.S_ISDIR(os.stat(real).st_mode),
        "writable": os.access(real, os.W_OK | os.X_OK),
        "append_only": is_append_only(real),
        "read_only": bool(sizes.f_flag & os.ST_RDONLY),
        "total_bytes": sizes.f_blocks * sizes.f_frsize,
        "free_bytes": sizes.f_bavail * sizes.f_frsize,
        "block_bytes": sizes.f_frsize,
        "fsid": sizes.f_fsid,
    }


def is_append_only(path: str) -> bool:
    """Return whether entries can be added to the directory but not removed (``chattr +a``)."""
    try:
        fd = os.open(path, own_directory.OPEN_FLAGS)
    except OSError:  # it may be writable but not readable
        return False
    try:
        return bool(flag_bits(fd) & FS_APPEND_FL)
    finally:
        os.close(fd)


def renamers(path: str) -> str | None:
    """Return a phrase that names the other users who can replace this directory or its contents; None if none can.

    The owner of a directory and all users who may write to it can rename its entries. If the sticky bit is set, only
    the owner of the directory and the owner of the entry can (rename(2), EPERM).
    """
    while True:
        status = os.stat(path)
        if status.st_uid not in (0, os.geteuid()):
            return f"user {name_of(status.st_uid, pwd.getpwuid)}, who owns {path},"
        if not status.st_mode & stat.S_ISVTX:
            if status.st_mode & stat.S_IWOTH:
                return f"any user, as all may write to {path},"
            if status.st_mode & stat.S_IWGRP and status.st_gid != 0:
                return f"group {name_of(status.st_gid, grp.getgrgid)}, which may write to {path},"
            if status.st_mode & stat.S_IWGRP and has_acl(path):
                return f"any user in the access control list of {path} (getfacl {path})"
        if path == "/":
            return None
        path = os.path.dirname(path)


def has_acl(path: str) -> bool:
    """Return whether an ACL grants rights to further users or groups. The group bits limit these rights (acl(5))."""
    try:
        return len(os.getxattr(path, "system.posix_acl_access")) > 0
    except OSError:
        return False


def name_of(number: int, entry_of: Callable[[int], tuple[Any, ...]]) -> str:
    """Return the name of a user or group, or its number if it has no name."""
    try:
        return str(entry_of(number)[0])
    except KeyError:
        return str(number)


def statx(directory: int, name: str) -> bytes:
    """Return what statx(2) reports about a file, with the fields for O_DIRECT. If the call fails, return zeros."""
    import ctypes  # noqa: PLC0415  only needed here

    buffer = ctypes.create_string_buffer(256)
    if number := STATX.get(os.uname().machine):
        ctypes.CDLL(None).syscall(number, directory, os.fsencode(name), 0, STATX_DIOALIGN | STATX_WRITE_ATOMIC, buffer)
    return buffer.raw


def dio_alignment(statx_result: bytes) -> int | None:
    """Return the alignment in bytes that O_DIRECT requires (STATX_DIOALIGN), or 0 if O_DIRECT is not supported. Return
    None if the kernel does not report it (before Linux 6.1, and on many filesystems)."""
    mask = int.from_bytes(statx_result[0:4], sys.byteorder)
    return int.from_bytes(statx_result[0x9C:0xA0], sys.byteorder) if mask & STATX_DIOALIGN else None


def untorn_bytes(statx_result: bytes) -> int:
    """Return the size of the largest atomic write with RWF_ATOMIC (STATX_WRITE_ATOMIC, Linux 6.11); 0: not reported."""
    mask = int.from_bytes(statx_result[0:4], sys.byteorder)
    return int.from_bytes(statx_result[0xAC:0xB0], sys.byteorder) if mask & STATX_WRITE_ATOMIC else 0


def hold_directory(path: str, entry: str | None = None, expected_fsid: str = "0") -> None:
    """Create a directory, hold it until stdin closes, and remove it and its entry in the ledger.

    Create nothing if the filesystem has another f_fsid. "0": any filesystem.
    """
    try:
        if expected_fsid not in ("0", str(fsid(path))):
            raise OSError(errno.ESTALE, "the filesystem changed after the run was planned. Start the run again")
        fd = own_directory.create(path)
    except OSError as error:
        say(**failure(error))
        return
    status = os.fstat(fd)
    say(ready=True, identity=[status.st_dev, status.st_ino], **properties_of_file(fd, MARK))
    while os.read(0, 4096):
        pass
    # if the disk hangs, fstui kills this process but not its child, which continues when the disk works again
    if child := os.fork():
        os.waitpid(child, 0)
        return
    try:
        remove_directory(fd)
    except OSError as error:
        say(**failure(error))
        return
    say(removed=True)
    if entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)


def properties_of_file(directory: int, name: str) -> dict[str, Any]:
    """Write to a file, and return what the kernel then reports about O_DIRECT, RWF_ATOMIC and the file's flags."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.write(fd, b"\n")
            statx_result = statx(directory, name)
            return {
                "dio_alignment": dio_alignment(statx_result),
                "untorn_bytes": untorn_bytes(statx_result),
                "file_flags": file_flags(fd),
            }
        finally:
            os.close(fd)
    except OSError:
        return {"dio_alignment": None, "untorn_bytes": 0, "file_flags": ""}


def file_flags(fd: int) -> str:
    bits = flag_bits(fd)
    return "".join(letter for letter, bit in FLAGS.items() if bits & bit)


def flag_bits(fd: int) -> int:
    """Return the flags of a file or directory (ioctl_iflags(2)); 0 if the filesystem has none."""
    flags = bytearray(8)
    try:
        fcntl.ioctl(fd, FS_IOC_GETFLAGS_POWERPC if os.uname().machine.startswith("ppc") else FS_IOC_GETFLAGS, flags)
    except OSError:
        return 0
    return int.from_bytes(flags[:4], sys.byteorder)


def remove_directory(fd: int) -> None:
    """Remove a directory. Retry for some seconds, because a probe or server may still be using it. Raises OSError."""
    deadline_s = time.monotonic() + REMOVAL_TIMEOUT_S
    free_shared_memory(fd)
    while True:
        try:
            return own_directory.remove(fd)
        except NotOwn:
            raise
        except OSError as error:
            if error.errno in stdio.SHUTDOWN_ERRNOS or time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)


def free_shared_memory(fd: int) -> None:
    """Remove the unused System V shared memory of killed PostgreSQL servers whose data is in this directory.

    Line 7 of postmaster.pid contains the key and the id of the segment (src/include/utils/pidfile.h).
    """
    for path in glob.glob(f"/proc/self/fd/{fd}/*/postmaster.pid"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                owner = os.fstat(file.fileno()).st_uid
                key, segment = map(int, file.read(4096).splitlines()[6].split())
            with open("/proc/sysvipc/shm", "rb") as table:
                rows = [[int(word) for word in line.split()] for line in table.readlines()[1:]]
            # fields 0 and 1: key (signed here, unsigned in the file) and id; 6 and 7: attached processes and owner
            if any((row[0] - key) % (1 << 32) == 0 and row[1] == segment and row[6:8] == [0, owner] for row in rows):
                import ctypes  # noqa: PLC0415  only needed here

                ctypes.CDLL(None).shmctl(segment, IPC_RMID, None)


def remove(path: str) -> dict[str, Any]:
    """Remove a directory of an earlier run with ``remove_marked``. Its name must begin with PREFIX. Raises OSError."""
    if not os.path.basename(path).startswith(PREFIX):
        raise OSError(None, f"its name does not begin with {PREFIX}")
    return remove_marked(path)


def remove_marked(path: str) -> dict[str, Any]:
    """Remove a directory that belongs to this user and contains the file MARK. Raises OSError.

    Returns an empty dict. If the directory does not exist, returns ``absent``, and the inode (``above``) and the f_fsid
    of its parent directory.
    """
    try:
        fd = own_directory.open_left_behind(path)
    except FileNotFoundError:
        parent = os.path.dirname(path)
        return {"absent": True, "above": directory_inode(parent), "fsid": fsid(parent)}
    remove_directory(fd)
    return {}


def directory_inode(path: str) -> int:
    """Return the inode of a directory; 0 if there is no directory with this path."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    return status.st_ino if stat.S_ISDIR(status.st_mode) else 0


def fsid(path: str) -> int:
    """Return the f_fsid of the filesystem that contains the path or would contain it; 0 if it cannot be read."""
    try:
        return os.statvfs(path).f_fsid
    except FileNotFoundError:
        return fsid(os.path.dirname(path))
    except OSError:
        return 0


def main() -> None:
    stdio.ignore_signals()
    if sys.argv[1] == "space":
        say()
        space([json.loads(line) for line in sys.stdin])
    else:
        hold_directory(json.loads(stdio.read_line()), *sys.argv[2:])


if __name__ == "__main__":
    main()
