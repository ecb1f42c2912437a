"""*a note: whose limits the measurement met*

## What it means
With `--like PID` the probes join the io cgroup of that process, usually the database's. Its limits on operations and
bytes per second hold for the probes too, so the figures are those that the process can reach.

## How it was measured
`/proc/PID/cgroup` names the group, `io.max` (cgroup v2) or `blkio.throttle.*` (v1) of the group and of those above it
hold the limits. `/proc/PID/maps` names its libraries, the Seccomp line of `/proc/PID/status` whether a filter sits
before its system calls.

## What it proves, and what not
The limits are those at the start of the run. Being in the same cgroup does not make the probes run under the same
seccomp filter, with the same libraries or in the same mount namespace: those are looked at, not shared.

## What to do next
Run the same scenario without `--like` and compare: a large difference is the limit, not the disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.process import io_limits, named
from fstui.model.host import Process
from fstui.model.judgement import Finding


@rule(place=120)
def another_cgroup(case: Case) -> Iterator[Finding]:
    """Whose io cgroup the probes ran in, the limits there and at home, and what may filter its calls."""
    like = case.evidence.like
    if like is not None:
        yield _measured_there(like, case.evidence.process)


def _measured_there(like: Process, own: Process) -> Finding:
    who, filtered = named(like), like.seccomp == "filter"
    limits = f"{len(like.io_limits)} io limits hold there" if like.io_limits else "no io limit holds there"
    could = " A seccomp filter sits before its system calls, and could answer a sync in the kernel's place."
    return Finding(
        rule="another-cgroup",
        verdict=None,
        confidence="high",
        scope="process",
        title=f"measured in the io cgroup of {who}",
        sentence=f"The probes ran in the io cgroup of {who}: {limits}.{could if filtered else ''}",
        because=(
            f"its cgroup: {like.cgroup or 'not read'}",
            *io_limits(like, "its limit"),
            *io_limits(own, "limit of fstui's own cgroup"),
            *((f"its seccomp state: filter (/proc/{like.pid}/status)",) if filtered else ()),
        ),
        next=("Compare: the same run without --like.",) if like.io_limits else (),
    )
