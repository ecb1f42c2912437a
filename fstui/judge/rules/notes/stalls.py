"""*a note*

## What it means
Some operations took far longer than the rest, and everybody waited.

## How it was measured
The number of such operations and the time they cost, per step.

## What it proves, and what not
The probe waits for each operation, so a stall of two seconds is one sample: percentiles hide it, the time lost does
not. Its cause may be the disk, a limit of the cgroup, the host or another writer.

## What to do next
Run for longer, and watch the device meanwhile; look at `dmesg` and at the cgroup's io limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.quantities import counted, seconds


@rule(place=80)
def stalls(case: Case) -> Iterator[Finding]:
    """Operations much slower than the rest. A closed loop counts each once, however long it held everybody up."""
    steps = [step for step in case.steps.all if step.stalls.count]
    if steps:
        number = sum(step.stalls.count for step in steps)
        lost = seconds(sum(step.stalls.lost_s for step in steps))
        yield Finding(
            rule="stalls",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"{counted(number, 'stall')}, {lost} lost",
            sentence=f"{counted(number, 'operation')} stalled and cost {lost} of {words.time_measured(steps)}; the "
            f"percentiles count {'it' if number == 1 else 'each of them'} once.",
            steps=words.names(steps),
            because=tuple(
                f"{step.name}: {counted(step.stalls.count, 'stall')}, {seconds(step.stalls.lost_s)}" for step in steps
            ),
        )
