"""*a note*

## What it means
The rate of a long step changed for good at some point: "fell from 7 400/s to 28/s after 3.1 GiB". Burst credits, a fast
(SLC) cache on the drive, or a log device that drains to a slow disk look like this.

## How it was measured
The step's timeline of some sixty stretches is split where two medians describe it best. It is a change in a step of at
least 10 s where the two explain more than half of what one leaves open, at least five stretches came before and ten
after, the medians differ by more than 2 ×, and the middle halves do not overlap. Single stalls, and a rate that goes up
and down, are none.

## What it proves, and what not
What held before the change is not what you will have: plan with the later rate. Slower changes need a longer run.

## What to do next
Run `sustained` for as long as your busiest hour: `--set seconds=3600`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.rate_change import RateChange, rate_change
from fstui.model.judgement import Finding
from fstui.model.quantities import rate, seconds, size
from fstui.model.steps import Step


@rule(place=90)
def rate_changed(case: Case) -> Iterator[Finding]:
    """The rate fell (a cache or a credit is used up), or rose (whatever held it up is over), and stayed there."""
    if case.evidence.rate_limit:  # it gave way to others, whose doing that may be
        return
    for done in case.steps.measured:
        found = rate_change(done)
        if found:
            yield _changed(done.step, found)


def _changed(step: Step, found: RateChange) -> Finding:
    before, after, at = rate(found.before_per_s), rate(found.after_per_s), seconds(found.at_s)
    fell = found.after_per_s < found.before_per_s
    what = f"{'fell' if fell else 'rose'} from {before}/s to {after}/s after {size(found.after_bytes)}"
    meaning = (
        "Burst credits, a fast cache on the drive or a log that drains are used up: plan with the later rate."
        if fell
        else "Whatever held it up is over: another writer, a rebuild, a limit."
    )
    return Finding(
        rule="rate-changed",
        verdict=None,
        confidence="high",
        scope="step",
        title=what,
        sentence=f"{step.name} {what}, {at} into {words.time_measured([step])}, and stayed there. {meaning}",
        steps=words.names([step]),
        because=(
            f"{step.name}: median {before}/s in the first {at}",
            f"{step.name}: median {after}/s after that",
        ),
    )
