"""*cannot-tell, high, where the storage changed; else a note*

## What it means
fstui itself was held up while it measured, for more than 1 % of the step; or the storage changed during the run:
counting, barriers or a write cache were switched, a member was replaced; or its data was being moved (btrfs replace and
balance, pvmove).

## How it was measured
The time that the probe was blocked handing its samples over; the stack, read before and after each step and compared
with what it was before the run. A setting that is switched and switched back within one step is not seen.

## What it proves, and what not
Nothing about the disk. No rule about rates rests on a step that was held up; what the kernel counted still holds.
No rule rests on a step whose storage changed, or on a setting that changed: what the other steps show is not enough to
report the storage as durable.

## What to do next
Run again when the machine is less busy, or with more seconds per step.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import has_rate
from fstui.model.judgement import Finding
from fstui.model.quantities import count, seconds
from fstui.model.steps import Step


@rule(place=110)
def disturbed(case: Case) -> Iterator[Finding]:
    """The probe itself was held up: no rule about rates rests on such a step."""
    yield from _changed(case)
    steps = [step for step in case.steps.all if not has_rate(step) and not step.changed]
    if steps:
        yield Finding(
            rule="disturbed",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"fstui was held up in {count(len(steps))} of {count(len(case.steps.all))} steps",
            sentence=f"fstui itself was held up while measuring {words.listed(step.name for step in steps)}, so "
            "no rate of these is judged.",
            steps=words.names(steps),
            because=tuple(f"{step.name}: held up {_held(step)}" for step in steps),
            next=("Run again when the machine is less busy, or with more seconds per step.",),
        )


def _changed(case: Case) -> Iterator[Finding]:
    """The stack was not what it was before the run: the counts of these steps mean nothing."""
    steps = [step for step in case.steps.all if step.changed]
    if steps:
        changes = list(dict.fromkeys(line for step in steps for line in step.changed))
        yield Finding(
            rule="disturbed",
            verdict="cannot-tell",
            confidence="high",
            scope="storage",
            title=f"the storage changed in {count(len(steps))} of its steps: {changes[0]}",
            sentence=f"The storage changed before or during {count(len(steps))} of {count(len(case.steps.all))} steps "
            f"({words.listed(changes)}), so these are not judged.",
            steps=words.names(steps),
            because=tuple(f"{step.name}: {line}" for step in steps for line in step.changed),
            next=("Run again when nothing changes the storage.",),
        )


def _held(step: Step) -> str:
    return f"{seconds(step.held_ns / 1e9)} of {seconds(step.elapsed_s)}"
