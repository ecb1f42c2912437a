"""The sync path of the process that measures: do its syncs reach the kernel's filesystems?

libeatmydata and its like replace libc's sync calls; a seccomp filter answers them in the kernel's place. Five signs
show it: the sync of a pipe succeeds, an O_DSYNC open loses its O_DSYNC, libc's fdatasync is far quicker than the raw
system call, the library is in /proc/self/maps, and pages are still dirty after a sync (``dirty_pages``).
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import re
import time
from collections.abc import Callable
from typing import Any

from fstui.measure.probes.dirty_pages import left_dirty

ROUNDS, OPENED = 3, 24
MOST_ROUNDS, QUICK_NS = 24, 50_000
"""So many where the raw call was quicker than this: so near to nothing it may be the way to the call that took long."""
FDATASYNC = {"x86_64": 75, "aarch64": 83, "riscv64": 83, "ppc64le": 148, "s390x": 148, "armv7l": 148, "i686": 148}
"""System call numbers of fdatasync, from the kernel's syscall tables."""
CALLS = {
    "x86_64": {
        1: "write", 18: "pwrite64", 20: "writev", 26: "msync", 74: "fsync", 75: "fdatasync", 162: "sync", 306: "syncfs",
    },
    "aarch64": {64: "write", 68: "pwrite64", 82: "fsync", 83: "fdatasync", 81: "sync", 227: "msync", 267: "syncfs"},
    "riscv64": {64: "write", 68: "pwrite64", 82: "fsync", 83: "fdatasync", 81: "sync", 227: "msync", 267: "syncfs"},
}  # fmt: skip
_CALLS: dict[str, Callable[[int], object]] = {"fsync": os.fsync, "fdatasync": os.fdatasync}


_PROC = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
"""Held: a probe that has shut itself in its directory still reads there."""


def facts(directory: str, stubs: str) -> dict[str, Any]:
    """Return the fields of fstui.model.host.Process, found with a file of its own in ``directory``. Raises OSError.

    ``stubs``: a pattern for the names of libraries that leave syncs out.
    """
    path = os.path.join(directory, "sync-path")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    try:
        libc_ns, raw_ns = sync_times(path)
        flag_kept = dsync_flag_kept(path)
    finally:
        os.unlink(path)
    return {
        "pipe_fsync_fails": pipe_fsync_fails(),
        "left_dirty": left_dirty(path, _CALLS, raw_fdatasync(), read_text),
        "dsync_flag_kept": flag_kept,
        "libc_sync_ns": libc_ns,
        "raw_sync_ns": raw_ns,
        "preloads": preloads(stubs),
        "cgroup": own_cgroup(),
    }


def pipe_fsync_fails() -> bool:
    """Return whether fsync and fdatasync of a pipe fail with EINVAL, as the kernel answers; a stub succeeds."""
    read_end, write_end = os.pipe()
    try:
        return all(_is_invalid(call, write_end) for call in _CALLS.values())
    finally:
        os.close(read_end)
        os.close(write_end)


def _is_invalid(call: Callable[[int], object], fd: int) -> bool:
    try:
        call(fd)
    except OSError as error:
        return error.errno == errno.EINVAL
    return False


def dsync_flag_kept(path: str) -> bool:
    """Whether O_DSYNC asked of open(2) is there when F_GETFL is asked, each of many times."""
    for _ in range(OPENED):
        fd = os.open(path, os.O_WRONLY | os.O_DSYNC)
        try:
            if not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DSYNC:
                return False
        finally:
            os.close(fd)
    return True


def sync_times(path: str) -> tuple[int | None, int | None]:
    """The shortest of libc's fdatasync and of the raw system call, each after a write of its own, in ns.

    Not the median: beside others who want the processor, two of three may have waited for it, or all of three where a
    server's answer to the write came between (FUSE): a filesystem without fsync was taken for a stub. None for the raw
    one too where calling it takes half of that time: on an emulated processor that is 30 µs, and nothing is told by it.
    """
    raw = raw_fdatasync()
    fd = os.open(path, os.O_WRONLY)
    try:
        times: dict[bool, list[int]] = {False: [], True: []}
        while len(times[False]) < ROUNDS or (
            len(times[False]) < MOST_ROUNDS and min(times[True], default=QUICK_NS) < QUICK_NS
        ):
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
    libc_ns, raw_ns = (min(times[kind], default=None) for kind in (False, True))
    if raw is not None and raw_ns is not None and raw_ns < 2 * _call_ns(raw):
        raw_ns = None
    return libc_ns, raw_ns


def _call_ns(raw: Callable[[int], Any]) -> int:
    """The shortest time of such a call that the kernel refuses at once (EBADF)."""
    times = []
    for _ in range(ROUNDS):
        since = time.monotonic_ns()
        raw(-1)
        times.append(time.monotonic_ns() - since)
    return min(times)


def raw_fdatasync() -> Callable[[int], int] | None:
    """fdatasync as a system call past libc's wrapper, or None where its number is not known."""
    number = FDATASYNC.get(os.uname().machine)
    if number is None:
        return None
    import ctypes  # noqa: PLC0415  late: 15 ms that most probes never need

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    return lambda fd: int(syscall(number, fd))


def preloads(stubs: str) -> list[dict[str, str]]:
    """Sync-stubbing libraries mapped into this process, each once."""
    lines = read_text("self/maps").splitlines()
    mapped = dict.fromkeys(line.rsplit(" ", 1)[-1] for line in lines)
    found = [library for library in mapped if re.search(stubs, os.path.basename(library), re.IGNORECASE)]
    return [{"what": "preload", "value": library, "path": "/proc/self/maps"} for library in found]


def own_cgroup() -> str | None:
    """The cgroup that io limits would apply to: the unified one, else blkio's."""
    for line in read_text("self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(",") or (number == "0" and not controllers):
            return path
    return None


def call_of(pid: int) -> str | None:
    """The name of the system call that a process of ours sits in, or None while it runs."""
    first = read_text(f"{pid}/syscall").split(" ", 1)[0]
    if not first.lstrip("-").isdigit():
        return None
    return CALLS.get(os.uname().machine, {}).get(int(first), f"system call {first}")


def read_text(name: str) -> str:
    """A file of /proc, by its name there; empty where it cannot be read."""
    try:
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=_PROC), errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
