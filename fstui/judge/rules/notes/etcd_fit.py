"""*a note*

## What it means
Whether the disk is fast enough for etcd by etcd's own documents: the 99th percentile of the fdatasync of its log below
10 ms, at least 50 sequential writes a second, 500 recommended.

## How it was measured
Scenario `wal-etcd`: 2 300 bytes after 2 300 bytes into space that was allocated before, each followed by fdatasync, one
writer; the percentile is that of fdatasync alone. Source: etcd.io, FAQ (`wal_fsync_duration_seconds`) and "Hardware
recommendations".

## What it proves, and what not
It is about speed. A disk that answers before it has written anything is fit by this measure: read the verdict first.

## What to do next
Not fit: give the log a disk of its own. Fit: run `sustained` to see whether it lasts.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import has_rate
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns, rate
from fstui.model.steps import Step

SCENARIO = "wal-etcd"
P99_NS = 10_000_000
LEAST_PER_S, RECOMMENDED_PER_S = 50, 500
SOURCE = (
    "etcd.io: FAQ (wal_fsync_duration_seconds, p99 below 10 ms), Hardware recommendations (50, better 500 a second)"
)


@rule(place=100)
def etcd_fit(case: Case) -> Iterator[Finding]:
    """Fast enough for etcd, by its own documents. It says nothing of durability."""
    scenario = case.evidence.scenario
    held_back = bool(case.evidence.rate_limit)
    if scenario is None or scenario.name != SCENARIO or case.configuration.stub_signs or held_back:
        return
    for step, settings in case.steps.synced:
        p99 = step.sync_ns.p99 if step.sync_ns else None
        if settings.prefill != "written" and settings.sync == "fdatasync" and p99 is not None and has_rate(step):
            yield _measured(step, p99)


def _measured(step: Step, p99_ns: int) -> Finding:
    p99, per_s = duration_ns(p99_ns), rate(step.rate_per_s)
    fit = p99_ns < P99_NS and step.rate_per_s >= LEAST_PER_S
    word = "not fit" if not fit else "fit" if step.rate_per_s >= RECOMMENDED_PER_S else "fit for a light load"
    return Finding(
        rule="etcd-fit",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"{word} for etcd: p99 {p99}, {per_s}/s",
        sentence=f"By etcd's own criterion this is {word}: 99 % of the fdatasyncs took less than {p99} (it wants "
        f"10 ms), at {per_s} appends a second (it wants {LEAST_PER_S}, better {RECOMMENDED_PER_S}) in "
        f"{words.time_measured([step])}. That is about speed alone.",
        steps=words.names([step]),
        because=(f"{step.name}: p99 of fdatasync {p99}, {per_s}/s", f"criterion: {SOURCE}"),
        next=() if fit else ("Give the log a disk of its own, or a faster one; run sustained to see what lasts.",),
    )
