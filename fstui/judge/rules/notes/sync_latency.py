"""*a note: how long one write with its sync takes*

## What it means
The scenario writes at a gentle pace, a few synced writes a second, so its rate is the pace and says nothing. What
counts is how long each one took: the middle (p50), the tail (p99, from 100 on) and the worst.

## How it was measured
Each write and its sync were timed together, by the monotonic clock, with one outstanding.

## What it proves, and what not
It is the latency of these seconds, on a disk that others may be using too: that is the point in an incident. It says
nothing about durability.

## What to do next
Leave it running while you change something, and watch the strip. A worst case far above the p50 with in-flight
requests at the device points at the device or its host; without them, at the filesystem's journal or a limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.quantities import count, duration_ns
from fstui.model.steps import Latency, Step


@rule(place=130, said_first=True)
def sync_latency(case: Case) -> Iterator[Finding]:
    """A paced step's rate is its pace; its latency is the answer. It says nothing of durability."""
    if case.evidence.rate_limit:  # the pace was not the scenario's: all steps have one
        return
    for done in case.steps.measured:
        took = done.step.latency_ns
        if done.settings.ops_per_s and done.call and took is not None and not case.configuration.stub_signs:
            yield _took(done.step, took, done.syncs)


def _took(step: Step, took: Latency, syncs: int) -> Finding:
    p50, worst = duration_ns(took.p50), duration_ns(took.max)
    p99 = f", p99 {duration_ns(took.p99)}" if took.p99 is not None else ""
    return Finding(
        rule="sync-latency",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"p50 {p50}{p99}, worst {worst}",
        sentence=f"A write with its sync took {p50} (p50{p99}), at worst {worst}: {count(syncs)} of them in "
        f"{words.time_measured([step])}.",
        steps=words.names([step]),
        because=(f"{step.name}: p50 {p50}{p99}, max {worst}",),
    )
