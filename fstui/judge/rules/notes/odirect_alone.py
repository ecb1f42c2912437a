"""*a note, about this step only*

## What it means
O_DIRECT goes around the page cache and sends no flush. On a device with a write cache the data can be lost in a power
cut, on every disk.

## How it was measured
Any step with O_DIRECT and no sync.

## What it proves, and what not
It says nothing against the disk: a fast O_DIRECT on a device with its cache on is expected.

## What to do next
For durability add O_DSYNC, or fdatasync after the write.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.quantities import count, rate


@rule(place=40)
def odirect_alone(case: Case) -> Iterator[Finding]:
    """O_DIRECT promises nothing about power cuts: no flush is sent, on any disk."""
    alone = (done.step for done in case.steps.of_sync_writes if done.direct_alone and done.step.ops)
    steps = [step for step in alone if not case.flushes.synced_out_of_sight(step)]
    if steps and any(node.layer == "block" for node in case.stack.nodes):
        yield Finding(
            rule="odirect-alone",
            verdict=None,
            confidence="high",
            scope="step",
            title="O_DIRECT alone: not durable by itself",
            sentence=f"O_DIRECT without a sync ({words.listed(f'{rate(step.rate_per_s)}/s' for step in steps)}) sends "
            "no flush, on this disk as on every other: not durable by itself.",
            steps=words.names(steps),
            because=tuple(f"{step.name}: {count(step.ops)} writes, no sync asked for" for step in steps),
            next=("For durability add O_DSYNC, or fdatasync after the write.",),
        )
