"""*not-durable, high confidence, for this process only*

## What it means
A library (libeatmydata or a similar one) or a system call filter (seccomp, in containers started with syncs suppressed)
intercepts a sync and returns success, so the sync makes nothing durable. The disk was not judged.

## How it was measured
Each of these signs is enough, with one exception for the first:

- fsync and fdatasync of a pipe succeed, although the kernel refuses both with EINVAL. This sign is ignored if
  the two calls leave no page of a regular file dirty.
- After two or more syncs, the file's page was still dirty (`/proc/self/smaps`). After three calls of fdatasync through
  `syscall(2)`, which bypass such a library, it was clean.
- A file opened with O_DSYNC has lost the flag (`F_GETFL`).
- Such a library is in `/proc/self/maps`, `LD_PRELOAD` or `/etc/ld.so.preload`.

## What it proves, and what it does not
Some or all syncs of this process are faked. The finding says nothing about other processes or the disk. A library that
fakes only a few syncs is found by `flushes-missing` and `bytes-missing`. A library may replace fsync
with `syncfs` or `sync`. Its fsync of a pipe succeeds too, but the data is written. So fstui reports such a library only
if pages stay dirty.

## What to do next
Run fstui without the library, or outside the container if `grep Seccomp /proc/self/status` says 2. Then check the
database: `grep eatmydata /proc/PID/maps`, `grep Seccomp /proc/PID/status`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.configuration import stub_signs
from fstui.model.host import Process


@rule(order=10)
def sync_stubbed(case: Case) -> Iterator[Conclusion]:
    signs = case.configuration.stub_signs
    if signs:
        yield _this_process(case, signs)
    process = case.evidence.cgroup_process
    if process and (signs_of_other := tuple(stub_signs(process))):
        yield _another_process(process, signs_of_other)


def _this_process(case: Case, signs: Sequence[str]) -> Conclusion:
    sign = case.flushes.shortage or signs[0]  # there is no shortage if only some syncs are faked
    return Conclusion(
        title="syncs of this process are stubbed out",
        sentence="A library or a filter intercepts this process's syncs, which never reach the kernel "
        f"({sign}). The disk was not judged.",
        verdict="not-durable",
        scope="process",
        evidence=signs,
        next=(
            "Run fstui without it: unset LD_PRELOAD, empty /etc/ld.so.preload, or run it outside this container if "
            "'grep Seccomp /proc/self/status' says 2.",
            "Check whether the database runs with it: 'grep eatmydata /proc/PID/maps', 'grep Seccomp "
            "/proc/PID/status'.",
        ),
    )


def _another_process(process: Process, signs: Sequence[str]) -> Conclusion:
    name = words.process_label(process)
    return Conclusion(
        title=f"syncs of {name} are stubbed out",
        sentence=f"{name} has loaded a library that stubs syncs. Nothing that {name} writes is made durable, "
        "whatever the disk does for other processes.",
        verdict="not-durable",
        scope="process",
        evidence=signs,
        next=(f"Restart {name} without the library: unset LD_PRELOAD for it, empty /etc/ld.so.preload.",),
    )
