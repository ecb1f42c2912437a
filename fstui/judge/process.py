"""Rule 1: does a sync of this process, or of the one that it stands for, reach the kernel's filesystems?"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model import Evidence, Finding, Process
from fstui.quantities import duration_ns, plain

_STUB_NS = 5_000
_STUB_RATIO = 5


def sync_stubbed(evidence: Evidence) -> Iterator[Finding]:
    """Rule 1: this process' syncs never reach the kernel's filesystems, or those of the one that it stands for."""
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
                "Run fstui without it: unset LD_PRELOAD, empty /etc/ld.so.preload; outside this container, if "
                "grep Seccomp /proc/self/status says 2.",
                "Look whether the database runs with it: grep eatmydata /proc/PID/maps, grep Seccomp /proc/PID/status.",
            ),
        )
    if evidence.like and (loaded := tuple(_stub_signs(evidence.like))):
        who = _named(evidence.like)
        yield Finding(
            rule="sync-stubbed",
            verdict="not-durable",
            confidence="high",
            scope="process",
            title=f"syncs of {who} are stubbed out",
            sentence=f"{who} has a library loaded that answers syncs without making them. Nothing that it writes is "
            "made durable, whatever the disk does for others.",
            because=loaded,
            next=(f"Restart {who} without the library: unset LD_PRELOAD for it, empty /etc/ld.so.preload.",),
        )


def in_its_shoes(evidence: Evidence) -> Iterator[Finding]:
    """A note: whose io cgroup the probes ran in, the limits there and at home, and what may filter its calls."""
    like = evidence.like
    if like is None:
        return
    who = _named(like)
    filtered = like.seccomp == "filter"
    limits = f"{len(like.io_limits)} io limits hold there" if like.io_limits else "no io limit holds there"
    yield Finding(
        rule="in-its-shoes",
        verdict=None,
        confidence="high",
        scope="process",
        title=f"measured in the io cgroup of {who}",
        sentence=f"The probes ran in the io cgroup of {who}: {limits}."
        + (" A seccomp filter sits before its system calls, and could answer a sync in the kernel's place." * filtered),
        because=(
            plain(f"its cgroup: {like.cgroup or 'not read'}"),
            *_limits("its limit", like),
            *_limits("limit of fstui's own cgroup", evidence.process),
            *((f"its seccomp state: filter (/proc/{like.pid}/status)",) if filtered else ()),
        ),
        next=("Compare: the same run without --like.",) if like.io_limits else (),
    )


def stubbed(evidence: Evidence) -> bool:
    """Nothing this process measured says anything about the disk."""
    return any(True for _ in _stub_signs(evidence.process))


def _named(process: Process) -> str:
    return plain(f"{process.name or 'process'} ({process.pid})")


def _limits(label: str, process: Process) -> Iterator[str]:
    for limit in process.io_limits:
        yield plain(f"{label}: {limit.what} {limit.value} ({limit.path})")


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
