"""The sync path of the process that measures: does a sync leave it as a system call?

libeatmydata and its kind replace libc's sync calls. Four traces give them away: fsync of a pipe succeeds instead of
failing with EINVAL (fsync(2)), an O_DSYNC open has lost its O_DSYNC, libc's fdatasync is far quicker than the raw
system call, and the library stands in /proc/self/maps.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

ROUNDS = 3
STUBS = ("libeatmydata", "libnosync", "libfakesync", "libfsyncstub")
FDATASYNC = {"x86_64": 75, "aarch64": 83, "riscv64": 83, "ppc64le": 148, "s390x": 148, "armv7l": 148, "i686": 148}
"""System call numbers of fdatasync, from the kernel's syscall tables."""
CALLS = {
    "x86_64": {1: "write", 18: "pwrite64", 20: "writev", 74: "fsync", 75: "fdatasync", 162: "sync", 306: "syncfs"},
    "aarch64": {64: "write", 68: "pwrite64", 82: "fsync", 83: "fdatasync", 81: "sync", 267: "syncfs"},
    "riscv64": {64: "write", 68: "pwrite64", 82: "fsync", 83: "fdatasync", 81: "sync", 267: "syncfs"},
}


def facts(directory: str) -> dict[str, Any]:
    """What fstui.model.Process holds, seen from here, by a file of its own in ``directory``. Raises OSError."""
    path = os.path.join(directory, "sync-path")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    try:
        libc_ns, raw_ns = sync_times(path)
        flag_kept = dsync_flag_kept(path)
    finally:
        os.unlink(path)
    return {
        "pipe_fsync_fails": pipe_fsync_fails(),
        "dsync_flag_kept": flag_kept,
        "libc_sync_ns": libc_ns,
        "raw_sync_ns": raw_ns,
        "preloads": preloads(),
        "cgroup": own_cgroup(),
    }


def pipe_fsync_fails() -> bool:
    """A pipe cannot be synced: the kernel answers EINVAL, a stub says yes."""
    read_end, write_end = os.pipe()
    try:
        os.fsync(write_end)
    except OSError as error:
        return error.errno == errno.EINVAL
    finally:
        os.close(read_end)
        os.close(write_end)
    return False


def dsync_flag_kept(path: str) -> bool:
    """Whether O_DSYNC asked of open(2) is there when F_GETFL is asked."""
    fd = os.open(path, os.O_WRONLY | os.O_DSYNC)
    try:
        return bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DSYNC)
    finally:
        os.close(fd)


def sync_times(path: str) -> tuple[int | None, int | None]:
    """Medians of libc's fdatasync and of the raw system call, each after a write of its own, in ns."""
    raw = raw_fdatasync()
    fd = os.open(path, os.O_WRONLY)
    try:
        times: dict[bool, list[int]] = {False: [], True: []}
        for _ in range(ROUNDS):
            for is_raw, sync in ((False, os.fdatasync), (True, raw)):
                if sync is not None:
                    os.pwrite(fd, random.randbytes(4096), 0)
                    since = time.monotonic_ns()
                    sync(fd)
                    times[is_raw].append(time.monotonic_ns() - since)
    except OSError:
        return None, None  # the step that follows meets the same error and reports it
    finally:
        os.close(fd)
    libc_ns, raw_ns = (round(statistics.median(times[kind])) if times[kind] else None for kind in (False, True))
    return libc_ns, raw_ns


def raw_fdatasync() -> Callable[[int], Any] | None:
    """fdatasync as a system call past libc's wrapper, or None where its number is not known."""
    number = FDATASYNC.get(os.uname().machine)
    if number is None:
        return None
    import ctypes  # noqa: PLC0415  late: 15 ms that most probes never need

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    return lambda fd: syscall(number, fd)


def preloads() -> list[dict[str, str]]:
    """Sync-stubbing libraries mapped into this process."""
    seen = []
    for line in read_text("/proc/self/maps").splitlines():
        library = line.rsplit(" ", 1)[-1]
        if any(stub in library for stub in STUBS) and library not in seen:
            seen.append(library)
    return [{"what": "preload", "value": library, "path": "/proc/self/maps"} for library in seen]


def own_cgroup() -> str | None:
    """The cgroup that io limits would apply to: the unified one, else blkio's."""
    for line in read_text("/proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(",") or (number == "0" and not controllers):
            return path
    return None


def call_of(pid: int) -> str | None:
    """The name of the system call that a process of ours sits in, or None while it runs."""
    first = read_text(f"/proc/{pid}/syscall").split(" ", 1)[0]
    if not first.lstrip("-").isdigit():
        return None
    return CALLS.get(os.uname().machine, {}).get(int(first), f"system call {first}")


def read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
