"""*not-durable, about this step only*

## What it means
O_DIRECT writes, without any sync, were acknowledged faster than the platter can have taken them: they sat in a cache.
That is expected of a drive with its cache on, and it is why O_DIRECT is not durability.

## How it was measured
The rate of a step with O_DIRECT and no sync, one writer, against one turn of the disk for the same block and half a
turn for random offsets (so twice the limit is allowed). More than 1.5 times that is too fast. Steps whose bytes never
reached the device are left out.

## What it proves, and what not
It proves that this step's writes were not on the platter when acknowledged. It says nothing about synced writes.

## What to do next
Add O_DSYNC, or fdatasync after the write. Switch the drive's write cache off and compare.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.rotation import FAR_BEYOND, Pace, fastest
from fstui.model.judgement import Finding
from fstui.model.quantities import rate


@rule(place=30)
def odirect_before_platter(case: Case) -> Iterator[Finding]:
    """O_DIRECT alone was answered before the platter can have had the data: said of the step, not of the disk."""
    paces = tuple(pace for pace in case.rotation.early if not case.flushes.synced_out_of_sight(pace.step))
    if paces:
        worst = fastest(paces)
        yield Finding(
            rule="odirect-before-platter",
            verdict="not-durable",
            confidence="high" if worst.times > FAR_BEYOND else "medium",
            scope="step",
            title=f"O_DIRECT {rate(worst.step.rate_per_s)}/s, platter {rate(worst.limit_per_s)}",
            sentence=f"{worst.answered_early}: most writes were acknowledged before the platter had them."
            f"{_against_synced(case, worst)}",
            steps=words.names(pace.step for pace in paces),
            because=(*(pace.because for pace in paces), *worst.platter.because),
            next=(
                "Do not take O_DIRECT for durability: add O_DSYNC, or fdatasync after the write.",
                *case.rotation.switch_cache_off,
            ),
        )


def _against_synced(case: Case, pace: Pace) -> str:
    offsets = "same" if pace.same else "random"
    beside = [done for done in case.steps.synced if done.settings.offsets == offsets and done.step.rate_per_s > 0]
    if not beside:
        return ""
    # the nearest relative first: O_DIRECT that does sync
    step = min(beside, key=lambda done: not done.direct).step
    times = pace.step.rate_per_s / step.rate_per_s
    return f" It is {times:.1f} × the rate of {step.name}, {rate(step.rate_per_s)}/s."
