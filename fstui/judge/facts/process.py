"""Does a sync of a process reach the kernel's filesystems?"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model.host import Process
from fstui.model.quantities import duration_ns

_STUB_NS = 5_000
"""Memory answers sooner, by either way; there only the longer way to the raw call would be seen."""
_STUB_RATIO = 5
_LEAST_TRIED, _LEAST_LEFT = 2, 2
_O_DSYNC = "O_DSYNC"


def stub_signs(process: Process) -> Iterator[str]:
    """What shows that something answers its syncs in the kernel's place, a line each; nothing where they pass."""
    if process.pipe_fsync_fails is False and not _syncs_more(process, "fsync"):
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    for call, (tried, answered) in process.futile_syncs.items():
        if answered and not _syncs_more(process, call):
            yield f"{call} of what cannot be synced: {answered} of {tried} succeeded; the kernel refuses each"
    # who keeps O_DSYNC from F_GETFL is seen by the flushes; one of all may be chance
    found = [(call, *counts) for call, counts in process.left_dirty.items() if call != _O_DSYNC]
    enough = sum(left for _, _, left in found) >= _LEAST_LEFT
    for call, tried, left in found:
        if left and enough:
            yield f"{call}: {left} of {tried} left their file dirty in memory; the system call leaves none"
    if process.dsync_flag_kept is False and not _synced_after(process):
        yield "O_DSYNC: taken away from the file that was opened with it (F_GETFL)"
    libc, raw = process.libc_sync_ns, process.raw_sync_ns
    if libc is not None and raw is not None and libc < _STUB_NS <= raw and raw >= _STUB_RATIO * libc:
        yield f"libc's fdatasync: {duration_ns(libc)}; the raw system call: {duration_ns(raw)}"
    for library in process.preloads:
        yield f"preloaded: {library.value} ({library.path})"


def _syncs_more(process: Process, call: str) -> bool:
    """It is answered where it should be refused as something else that syncs would answer there, and syncs indeed.

    A library that makes syncfs(2) of fsync, or takes EINVAL for a success, answers on a pipe, and never on a file that
    was opened with O_PATH. One that makes sync(2) of it answers everywhere, as one does that makes nothing: only that
    each left other files clean, too, tells. Whether what was written was flushed, the counters say; but one that leaves
    out each second syncfs sends as many flushes as are owed, so where the page cache does not tell it is accused.
    """
    tried, left = process.left_dirty.get(call, (0, 0))
    if left or tried < _LEAST_TRIED:
        return False
    match process.answered_like.get(call):
        case "syncfs":
            return True
        case "sync":
            return process.others_clean.get(call) == (tried, tried)
    return False


def _synced_after(process: Process) -> bool:
    """O_DSYNC is taken away, and yet nothing was left in the page cache: a library syncs after each write instead."""
    tried, left = process.left_dirty.get(_O_DSYNC, (0, 0))
    return tried > 0 and not left


def named(process: Process) -> str:
    """``mysqld (812)``"""
    return f"{process.name or 'process'} ({process.pid})"


def io_limits(process: Process, label: str) -> Iterator[str]:
    """The io limits of its cgroup, a line each."""
    for limit in process.io_limits:
        yield f"{label}: {limit.what} {limit.value} ({limit.path})"
