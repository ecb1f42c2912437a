"""*a note*

## What it means
fstui itself was held up while it measured, for more than 1 % of the step; or the storage became another meanwhile:
counting was switched off, if only for a moment, barriers or a write cache were switched, a member was replaced; or its
data was on the move (btrfs replace and balance, pvmove).

## How it was measured
The time that the probe was blocked handing its samples over; the stack, read again after each step, and whenever
somebody wrote to a setting that it was read from (inotify(7)) or remounted one of its filesystems meanwhile.

## What it proves, and what not
Nothing about the disk. No rule about rates rests on a step that was held up; what the kernel counted meanwhile stands.
Nothing at all rests on one whose storage changed.

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

_TO, _MANY = " → ", 4


@rule(place=110)
def disturbed(case: Case) -> Iterator[Finding]:
    """The probe itself was held up: no rule about rates rests on such a step."""
    yield from _changed([step for step in case.steps.all if step.changed])
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


def _changed(steps: list[Step]) -> Iterator[Finding]:
    """What its counts would rest on was another at its end."""
    if steps:
        changes = list(dict.fromkeys(_briefly(line) for step in steps for line in step.changed))
        yield Finding(
            rule="disturbed",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"the storage changed in {count(len(steps))} of its steps: {changes[0]}",
            sentence=f"While {words.listed(step.name for step in steps)} ran, the storage became another "
            f"({words.listed(changes)}), so nothing of these is judged.",
            steps=words.names(steps),
            because=tuple(f"{step.name}: {line}" for step in steps for line in step.changed),
            next=("Run again when nobody works on it.",),
        )


def _briefly(line: str) -> str:
    """Whatever was switched to and fro all the time: twice is enough."""
    values = line.split(_TO)
    return line if len(values) <= _MANY else _TO.join((*values[: _MANY - 1], "…"))


def _held(step: Step) -> str:
    return f"{seconds(step.held_ns / 1e9)} of {seconds(step.elapsed_s)}"
