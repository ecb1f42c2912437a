"""Signs that the syncs of a process do not reach the kernel's filesystems."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model.host import Process

_MIN_TRIED, _MIN_LEFT = 2, 2


def stub_signs(process: Process) -> Iterator[str]:
    """Yield a line for each sign that something answers the syncs of this process instead of the kernel."""
    found = process.left_dirty.items()
    left_in_all = sum(left for _, (_, left) in found)
    if process.pipe_fsync_fails is False and not _cleans_pages(process):
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    for call, (tried, left) in found:
        if left and left_in_all >= _MIN_LEFT:  # a single one may be a write that just completed
            yield f"{call}: {left} of {tried} left their file dirty in memory; the system call leaves none"
    if process.dsync_flag_kept is False:
        yield "O_DSYNC: missing on the file that was opened with it (F_GETFL)"
    for library in process.preloads:
        yield f"preloaded: {library.value} ({library.path})"


def _cleans_pages(process: Process) -> bool:
    """Return whether each sync that was tried left its file clean.

    A library that replaces fsync by syncfs(2) or sync(2), or treats EINVAL as success, also succeeds on a pipe. It
    still syncs, and its flushes are counted like any other.
    """
    counts = (process.left_dirty.get(call, (0, 0)) for call in ("fsync", "fdatasync"))
    return all(tried >= _MIN_TRIED and not left for tried, left in counts)


def named(process: Process) -> str:
    """``mysqld (812)``"""
    return f"{process.name or 'process'} ({process.pid})"


def io_limits(process: Process, label: str) -> Iterator[str]:
    for limit in process.io_limits:
        yield f"{label}: {limit.what} {limit.value} ({limit.path})"
