"""Does a sync of a process reach the kernel's filesystems?"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model.host import Process
from fstui.model.quantities import duration_ns

_STUB_NS = 5_000
"""Memory answers sooner, by either way; there only the longer way to the raw call would be seen."""
_STUB_RATIO = 5
_LEAST_TRIED, _LEAST_LEFT = 2, 2


def stub_signs(process: Process) -> Iterator[str]:
    """Yield a line for each sign that something answers the syncs of this process in the kernel's place."""
    found = process.left_dirty.items()
    left_in_all = sum(left for _, (_, left) in found)
    if process.pipe_fsync_fails is False and not _cleans_pages(process):
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    for call, (tried, left) in found:
        if left and left_in_all >= _LEAST_LEFT:  # a single one may be chance
            yield f"{call}: {left} of {tried} left their file dirty in memory; the system call leaves none"
    if process.dsync_flag_kept is False:
        yield "O_DSYNC: taken away from the file that was opened with it (F_GETFL)"
    libc, raw = process.libc_sync_ns, process.raw_sync_ns
    if libc is not None and raw is not None and libc < _STUB_NS <= raw and raw >= _STUB_RATIO * libc:
        yield f"libc's fdatasync: {duration_ns(libc)}; the raw system call: {duration_ns(raw)}"
    for library in process.preloads:
        yield f"preloaded: {library.value} ({library.path})"


def _cleans_pages(process: Process) -> bool:
    """Each sync that was tried left its file clean.

    A library that makes syncfs(2) or sync(2) of fsync, or takes EINVAL for success, answers on a pipe as well, and
    still syncs: the flushes are counted as those of any process.
    """
    counts = (process.left_dirty.get(call, (0, 0)) for call in ("fsync", "fdatasync"))
    return all(tried >= _LEAST_TRIED and not left for tried, left in counts)


def named(process: Process) -> str:
    """``mysqld (812)``"""
    return f"{process.name or 'process'} ({process.pid})"


def io_limits(process: Process, label: str) -> Iterator[str]:
    """The io limits of its cgroup, a line each."""
    for limit in process.io_limits:
        yield f"{label}: {limit.what} {limit.value} ({limit.path})"
