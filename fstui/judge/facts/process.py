"""Does a sync of a process reach the kernel's filesystems?"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model.host import Process
from fstui.quantities import duration_ns

_STUB_NS = 5_000
"""Memory answers sooner, by either way; there only the longer way to the raw call would be seen."""
_STUB_RATIO = 5


def stub_signs(process: Process) -> Iterator[str]:
    """What shows that something answers its syncs in the kernel's place, a line each; nothing where they pass."""
    if process.pipe_fsync_fails is False:
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    for call, (tried, answered) in process.futile_syncs.items():
        if answered:
            yield f"{call} of what cannot be synced: {answered} of {tried} succeeded; the kernel refuses each"
    if process.dsync_flag_kept is False:
        yield "O_DSYNC: taken away from the file that was opened with it (F_GETFL)"
    libc, raw = process.libc_sync_ns, process.raw_sync_ns
    if libc is not None and raw is not None and libc < _STUB_NS <= raw and raw >= _STUB_RATIO * libc:
        yield f"libc's fdatasync: {duration_ns(libc)}; the raw system call: {duration_ns(raw)}"
    for library in process.preloads:
        yield f"preloaded: {library.value} ({library.path})"


def named(process: Process) -> str:
    """``mysqld (812)``"""
    return f"{process.name or 'process'} ({process.pid})"


def io_limits(process: Process, label: str) -> Iterator[str]:
    """The io limits of its cgroup, a line each."""
    for limit in process.io_limits:
        yield f"{label}: {limit.what} {limit.value} ({limit.path})"
