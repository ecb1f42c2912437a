"""*a note*

## What it means
A write with fsync took at least 1.5 times as long as the same write with fdatasync: fsync makes the file's timestamps
durable, too, and where they have changed since the last one, that is a commit of the filesystem's journal more.

## How it was measured
Two steps that overwrite the same blocks with one writer, as fast as they go, and differ in the call alone; and the
flushes that each came to, field 16 of `/sys/block/X/stat`. Silent where fsync sent no more of them: then something else
made the difference.

## What it proves, and what not
It says nothing about honesty. Overwrites are as durable by fdatasync as by fsync: only timestamps may be older after a
power cut. The kernel's clock ticks every 1 to 4 ms, so that a quick disk pays for few ticks and a slow one for each.

## What to do next
Let the database call fdatasync: PostgreSQL `wal_sync_method = fdatasync` (its default on Linux), MySQL from 8.0.26 on
`innodb_use_fdatasync = ON`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import SyncStep
from fstui.model.judgement import Finding
from fstui.model.quantities import rate, ratio

DEARER = 1.5
MORE_FLUSHES = 1.2
"""So many times the flushes of fdatasync; a neighbour's are no more than 5 % where anything is proven."""


@rule()
def fsync_dearer(case: Case) -> Iterator[Finding]:
    """fsync commits timestamps, at up to twice the price of fdatasync."""
    if case.configuration.breaks_sync:
        return
    overwrites = [done for done in case.steps.synced if done.overwrites_alone and done.step.rate_per_s]
    for whole in overwrites:
        data = next((done for done in overwrites if _differs_in_the_call_alone(whole, done)), None)
        if data and data.step.rate_per_s >= DEARER * whole.step.rate_per_s and _sends_more(case, whole, data):
            yield _dearer(case, whole, data)


def _differs_in_the_call_alone(whole: SyncStep, data: SyncStep) -> bool:
    ours, theirs = whole.settings, data.settings
    return (
        (whole.call, data.call) == ("fsync", "fdatasync")
        and (ours.open_flags, ours.offsets, ours.block_bytes) == (theirs.open_flags, theirs.offsets, theirs.block_bytes)
    )  # fmt: skip


def _sends_more(case: Case, whole: SyncStep, data: SyncStep) -> bool:
    flushes, fewer = case.flushes.flushes_each(whole), case.flushes.flushes_each(data)
    return flushes is not None and fewer is not None and flushes >= MORE_FLUSHES * fewer > 0


def _dearer(case: Case, whole: SyncStep, data: SyncStep) -> Finding:
    times = data.step.rate_per_s / whole.step.rate_per_s
    steps = [whole.step, data.step]
    slow, quick = (f"{rate(step.rate_per_s)}/s" for step in steps)
    return Finding(
        rule="fsync-dearer",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"fsync {slow}, fdatasync {quick}",
        sentence=f"fdatasync did {quick} where fsync of the same writes did {slow}, in {words.time_measured(steps)}: "
        f"{times:.1f} × as many, since fsync commits the timestamps, too. Overwrites are as durable by either.",
        steps=words.names(steps),
        because=tuple(_line(case, done) for done in (whole, data)),
        next=("PostgreSQL: wal_sync_method = fdatasync. MySQL from 8.0.26 on: innodb_use_fdatasync = ON.",),
    )


def _line(case: Case, done: SyncStep) -> str:
    return (
        f"{done.step.name}: {rate(done.step.rate_per_s)}/s, {ratio(case.flushes.flushes_each(done) or 0)} flushes each"
    )
