"""*not-durable, high confidence, for one process only*

## What it means
A library or a system call filter intercepts a sync and returns success, so the sync makes nothing durable. The library
is libeatmydata or a similar one. The filter is a seccomp filter, as in containers that
`systemd-nspawn --suppress-sync=yes` started.

## How it was measured
One of these signs is enough:

- fsync or fdatasync of a pipe succeeds, although the kernel itself would return EINVAL for both.
- At least two syncs left the file's page dirty (`/proc/self/smaps`). After each of them, fstui wrote the page again and
  called fdatasync through `syscall(2)`, which bypasses such a library. This call always left the page clean.
- A file opened with O_DSYNC has lost the flag (`F_GETFL`).
- Such a library is in `/proc/self/maps`, `LD_PRELOAD` or `/etc/ld.so.preload`.

The first sign does not count if every sync of a regular file left its page clean. In this case, the data is written:
the library calls `syncfs` or `sync` instead of fsync, or ignores EINVAL.

## What it proves, and what it does not
Some or all syncs of fstui itself are faked. The finding says nothing about other processes or the disk. If a library
fakes only a few syncs, `flushes-missing` and `bytes-missing` report it.

## What to do next
Run fstui without the library. If `grep Seccomp /proc/self/status` prints `Seccomp: 2`, a filter applies, often because
fstui runs in a container: run fstui outside the container. Then check the database: `grep eatmydata /proc/PID/maps`,
`grep Seccomp /proc/PID/status`.
"""

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
        title="the syncs of fstui itself are stubbed out",
        sentence="A library or a filter intercepts the syncs of fstui itself, so they make nothing durable "
        f"({sign}). The disk was not judged.",
        verdict="not-durable",
        scope="process",
        evidence=signs,
        next=(
            "Run fstui without the library: unset LD_PRELOAD, empty /etc/ld.so.preload. If 'grep Seccomp "
            "/proc/self/status' prints 2, run fstui outside this container.",
            "Check whether the syncs of the database are also stubbed: 'grep eatmydata /proc/PID/maps', 'grep Seccomp "
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
