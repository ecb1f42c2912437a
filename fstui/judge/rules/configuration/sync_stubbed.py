"""*not-durable, high confidence, for this process only*

## What it means
A library (libeatmydata and its kin), or a filter of the system calls (seccomp, in containers started with syncs
suppressed), answers a sync in the kernel's place. Nothing that this process writes is made durable. The disk was not
judged.

## How it was measured
fsync and fdatasync of a pipe must fail (EINVAL): one that succeeds was answered in the kernel's place. After a sync no
page of its file may be dirty (`cachestat`, else `/proc/self/smaps`); where two are, and three raw system calls after
each leave none, syncs were left out. A file opened with O_DSYNC must still have the flag (`F_GETFL`). libc's fdatasync
takes under 5 µs while the raw system call takes at least five times as long. The library is in `/proc/self/maps`,
`LD_PRELOAD` or `/etc/ld.so.preload`.

## What it proves, and what not
It proves that syncs of this process are faked, all or some. It says nothing about any other process, nor about the
disk. A library that fakes only a few syncs is found by `flushes-missing` and `bytes-missing`. One that does more than a
sync (`syncfs`, `sync`) succeeds on a pipe, too: it is not accused where it leaves no page dirty.

## What to do next
Run fstui without the library, or outside the container where `grep Seccomp /proc/self/status` says 2. Then look at the
database: `grep eatmydata /proc/PID/maps`, `grep Seccomp /proc/PID/status`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.process import named, stub_signs
from fstui.model.host import Process
from fstui.model.judgement import Finding


@rule(place=10)
def sync_stubbed(case: Case) -> Iterator[Finding]:
    """This process' syncs never reach the kernel's filesystems, or those of the one that it stands for."""
    signs = case.configuration.stub_signs
    if signs:
        came_to = case.flushes.few_flushes or signs[0]  # where only some are left out, flushes do not tell
        yield Finding(
            rule="sync-stubbed",
            verdict="not-durable",
            confidence="high",
            scope="process",
            title="syncs of this process are stubbed out",
            sentence="A library or a filter answers syncs of this process in the kernel's place "
            f"({came_to}). The disk was not judged.",
            because=(*signs, *case.flushes.of_ours),
            next=(
                "Run fstui without it: unset LD_PRELOAD, empty /etc/ld.so.preload; outside this container, if "
                "grep Seccomp /proc/self/status says 2.",
                "Look whether the database runs with it: grep eatmydata /proc/PID/maps, grep Seccomp /proc/PID/status.",
            ),
        )
    like = case.evidence.like
    if like and (loaded := tuple(stub_signs(like))):
        yield _of_another(like, loaded)


def _of_another(like: Process, loaded: tuple[str, ...]) -> Finding:
    who = named(like)
    return Finding(
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
