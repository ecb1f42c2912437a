"""Rule 1: does a sync of this process, or of the one that it stands for, reach the kernel's filesystems?"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model import Evidence, Finding, Process
from fstui.quantities import duration_ns, plain

_STUB_NS = 5_000
_STUB_RATIO = 5


def sync_stubbed(evidence: Evidence) -> Iterator[Finding]:
    """Rule 1: this process' syncs never reach the kernel's filesystems."""
    signs = tuple(_stub_signs(evidence.process))
    if signs:
        yield Finding(
            rule="sync-stubbed",
            verdict="not-durable",
            confidence="high",
            scope="process",
            title="syncs of this process are stubbed out",
            sentence="In this process a sync returns without syncing: a library, or a filter of its system calls, "
            "answers in the kernel's place. Nothing that it writes is made durable, and the disk was not judged.",
            because=signs,
            next=(
                "Run fstui clean: unset LD_PRELOAD, empty /etc/ld.so.preload; outside this container, if "
                "grep Seccomp /proc/self/status says 2.",
                "Look whether the database runs with it: grep eatmydata /proc/PID/maps, grep Seccomp /proc/PID/status.",
            ),
        )


def stubbed(evidence: Evidence) -> bool:
    """Nothing this process measured says anything about the disk."""
    return any(True for _ in sync_stubbed(evidence))


def _stub_signs(process: Process) -> Iterator[str]:
    if process.pipe_fsync_fails is False:
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    if process.dsync_flag_kept is False:
        yield "O_DSYNC: taken away from the file that was opened with it (F_GETFL)"
    libc, raw = process.libc_sync_ns, process.raw_sync_ns
    if libc is not None and raw is not None and libc < _STUB_NS and raw >= _STUB_RATIO * libc:
        yield f"libc's fdatasync: {duration_ns(libc)}; the raw system call: {duration_ns(raw)}"
    for library in process.preloads:
        yield plain(f"preloaded: {library.value} ({library.path})")
