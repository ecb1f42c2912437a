"""The sync path of the measuring process: do its sync calls reach the kernel's filesystems?

Libraries such as libeatmydata replace libc's sync calls. A seccomp filter may let system calls return success without
any effect. There are four signs of such a stub: the sync of a pipe succeeds, a file that was opened with O_DSYNC does
not have the flag, the library is in /proc/self/maps, or pages are still dirty after a sync.
"""

import errno
import fcntl
import mmap
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from itertools import count, cycle
from typing import Any

from fstui.proc import LOOP_WORKER, ON_FROZEN, SYSTEM_CALLS, io_cgroup, mapped_files, stubs_syncs, waits_for_thaw

DSYNC_OPENS = 24
FDATASYNC = {"x86_64": 75, "aarch64": 83, "riscv64": 83, "ppc64le": 148, "s390x": 148, "armv7l": 148, "i686": 148}
"""System call numbers of fdatasync, from the kernel's syscall tables."""
MAX_TRIES, TRIES_TIMEOUT_S = 24, 0.3
"""Maximum number of syncs to check for dirty pages, and time limit for these checks."""
MIN_TRIES = 4
"""Minimum number of checked syncs, even on slow storage."""
MAX_SEARCH_TRIES, SEARCH_TIMEOUT_S = 88, 1.3
"""The same limits after one sync has left its page dirty. This may be chance, because btrfs may mark a page as clean
shortly after the sync. So more syncs are checked until a second one leaves its page dirty."""
CONTROL_SYNCS = 3
"""A call of libc that leaves the page dirty counts only if this many raw system calls then leave the page clean."""
_DIRTY_KB = re.compile(r"^(?:Shared|Private)_Dirty: +(\d+) kB$")
_MAPPING_LINE = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ")
Sync = Callable[[int], object]
_LIBC_SYNCS: dict[str, Sync] = {"fsync": os.fsync, "fdatasync": os.fdatasync}
_LOOP_MAJOR = 7
"""The major number of loop devices (Documentation/admin-guide/devices.txt of the kernel)."""
_PROC = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
"""Opened at the start, so that a probe can read /proc after a chroot."""


def facts(directory: str) -> dict[str, Any]:
    """Return the fields of fstui.model.host.Process, after tests with files in ``directory``. Raises OSError."""
    path = os.path.join(directory, "sync-path")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    try:
        flag_kept = keeps_dsync_flag(path)
    finally:
        os.unlink(path)
    return {
        "pipe_fsync_fails": pipe_fsync_fails(),
        "left_dirty": count_left_dirty(path, _LIBC_SYNCS, raw_fdatasync()),
        "dsync_flag_kept": flag_kept,
        "preloads": [
            {"what": "preload", "value": library, "path": "/proc/self/maps"}
            for library in mapped_files(read_text("self/maps"))
            if stubs_syncs(library)
        ],
        "cgroup": io_cgroup(read_text("self/cgroup")),
    }


def pipe_fsync_fails() -> bool:
    """Return whether fsync and fdatasync of a pipe fail with EINVAL, as in the kernel. A stub succeeds."""
    read_end, write_end = os.pipe()
    try:
        return all(_fails_with_einval(sync, write_end) for sync in _LIBC_SYNCS.values())
    finally:
        os.close(read_end)
        os.close(write_end)


def _fails_with_einval(sync: Sync, fd: int) -> bool:
    try:
        sync(fd)
    except OSError as error:
        return error.errno == errno.EINVAL
    return False


def keeps_dsync_flag(path: str) -> bool:
    """Return whether the file has the flag (F_GETFL) each time it is opened with O_DSYNC."""
    for _ in range(DSYNC_OPENS):
        fd = os.open(path, os.O_WRONLY | os.O_DSYNC)
        try:
            if not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DSYNC:
                return False
        finally:
            os.close(fd)
    return True


def raw_fdatasync() -> Callable[[int], int] | None:
    """Return a function that makes the system call fdatasync without libc's wrapper; None if its number is unknown."""
    number = FDATASYNC.get(os.uname().machine)
    if number is None:
        return None
    import ctypes  # noqa: PLC0415  it takes 15 ms, and most probes do not need it

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    return lambda fd: int(syscall(number, fd))


def blocking_call(pid: int, *, is_frozen_below: bool = False) -> str | None:
    """Return the system call in which a process is blocked ("system call -1": outside of one), or None if it runs.

    ``is_frozen_below``: a filesystem below the one to which it writes is frozen.
    """
    number = read_text(f"{pid}/syscall").split(" ", 1)[0]
    if not number.lstrip("-").isdigit():
        return None
    call = SYSTEM_CALLS.get(int(number), f"system call {number}")
    return call + ON_FROZEN if is_frozen_below or waits_for_thaw(read_text(f"{pid}/wchan")) else call


def is_frozen_below_loop(device: int) -> bool:
    """Return whether the kernel worker of a loop device waits for the end of a freeze; False for another device.

    This reads the name of each process, so it takes several milliseconds.
    """
    worker_suffix = f"{LOOP_WORKER}{os.minor(device)}\n"
    if os.major(device) != _LOOP_MAJOR or (fd := open_in_proc(".")) is None:
        return False
    names = os.listdir(fd)
    os.close(fd)
    workers = (name for name in names if name.isdigit() and read_text(f"{name}/comm").endswith(worker_suffix))
    return any(waits_for_thaw(read_text(f"{name}/wchan")) for name in workers)


def is_stopped(pid: int) -> bool:
    """Return whether a signal (SIGSTOP) or a debugger (ptrace(2)) has stopped a process."""
    return read_text(f"{pid}/stat").rpartition(")")[2].split()[:1] in (["T"], ["t"])


def open_in_proc(name: str) -> int | None:
    """Open a file in /proc and return its descriptor, or None if there is no such file."""
    try:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=_PROC)
    except OSError:
        return None


def read_text(name: str) -> str:
    if (fd := open_in_proc(name)) is None:
        return ""
    try:
        with os.fdopen(fd, errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def count_left_dirty(path: str, calls: Mapping[str, Sync], raw: Sync | None) -> dict[str, tuple[int, int]]:
    """Return for each call how many syncs were checked, and how many of them left the written page dirty.

    ``path``: a file to create. ``raw``: fdatasync without libc's wrapper. A sync is not counted if ``raw`` also leaves
    the page dirty (tmpfs, some journal modes), or if the page was clean before (FUSE, a mount that syncs each write).
    """
    counts: dict[str, tuple[int, int]] = {}
    if raw is None:
        return counts
    with ExitStack() as stack, suppress(OSError, ValueError):  # the step itself will report the error
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        stack.callback(os.unlink, path)
        stack.callback(os.close, fd)
        is_dirty, start_s = dirty_check(stack, fd, os.path.basename(path)), time.monotonic()
        for number, (name, sync) in zip(count(), cycle(calls.items()), strict=False):
            is_searching = sum(dirty for _, dirty in counts.values()) == 1
            max_tries = MAX_SEARCH_TRIES if is_searching else MAX_TRIES
            timeout_s = SEARCH_TIMEOUT_S if is_searching else TRIES_TIMEOUT_S
            if number >= max_tries or (number >= MIN_TRIES and time.monotonic() - start_s > timeout_s):
                break
            stays_dirty = _leaves_dirty(fd, is_dirty, sync)
            if stays_dirty and any(_leaves_dirty(fd, is_dirty, raw) for _ in range(CONTROL_SYNCS)):
                continue
            if stays_dirty is not None:
                tries, dirty = counts.get(name, (0, 0))
                counts[name] = (tries + 1, dirty + stays_dirty)
    return counts


def _leaves_dirty(fd: int, is_dirty: Callable[[], bool], sync: Sync) -> bool | None:
    """Write a page and sync it. Return whether it is still dirty, or None if it was clean before the sync."""
    os.pwrite(fd, os.urandom(mmap.PAGESIZE), 0)
    if not is_dirty():
        return None
    sync(fd)
    return is_dirty()


def dirty_check(stack: ExitStack, fd: int, name: str) -> Callable[[], bool]:
    """Return a function that returns whether the first page of the file is dirty. It does not write the page back.

    The function reads /proc/self/smaps. Every kernel has that file, but it shows pages of FUSE as clean. ``name``: the
    last part of the file's path. Raises OSError if the filesystem does not support mappings.
    """
    os.pwrite(fd, b"\0", 0)  # an empty file cannot be mapped
    mapping = stack.enter_context(mmap.mmap(fd, 1, prot=mmap.PROT_READ))

    def is_dirty() -> bool:
        _ = mapping[0]  # smaps counts only pages that were touched
        return dirty_kb(read_text("self/smaps"), name) > 0

    return is_dirty


def dirty_kb(smaps: str, name: str) -> int:
    """Return the kB of dirty pages in the mappings of files with this name."""
    total_kb, has_name = 0, False
    for line in smaps.splitlines():
        if _MAPPING_LINE.match(line):
            has_name = line.endswith("/" + name)
        elif has_name and (match := _DIRTY_KB.match(line)):
            total_kb += int(match[1])
    return total_kb
