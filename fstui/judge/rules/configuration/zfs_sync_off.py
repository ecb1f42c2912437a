"""*not-durable, high confidence*

## What it means
The ZFS dataset, or the volume beneath, answers syncs without writing them: `sync=disabled`, set on it or inherited, or
an intent log (ZIL) that commits nothing while syncs succeed.

## How it was measured
`zfs get sync`, and the dataset's own `zil_commit_count` under `/proc/spl/kstat/zfs` before and after each step. With
`sync=disabled` a sync returns before that counter moves. At most one commit for 20 syncs counts as none. Older OpenZFS
counts for the whole box: others can only add to it.

## What it proves, and what not
A power cut loses the last seconds of what was "synced"; the pool itself stays consistent. Where the counter moves, this
rule is silent: whether the log device keeps its word is for others to tell. `zfs_nocacheflush` and `zil_nocacheflush`
are barriers that are off: see `barriers-off`.

## What to do next
`zfs get -r sync` shows where it is set; `zfs set sync=standard DATASET`, then run again. A fast log device (SLOG) makes
honest syncs cheap.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.configuration import Uncommitted
from fstui.model.judgement import Finding
from fstui.model.quantities import count
from fstui.model.storage import Node


@rule(place=40)
def zfs_sync_off(case: Case) -> Iterator[Finding]:
    """sync=disabled answers every sync at once; so does whatever keeps the intent log from committing."""
    for dataset, sync in case.configuration.sync_disabled:
        yield _finding(
            dataset,
            "sync=disabled",
            f"answers every sync at once{case.arrivals.came_to_aside} and writes some seconds later",
            because=(words.reading(dataset, sync),),
        )
    if case.configuration.uncommitted:
        yield _flat(case.stack.levels[0].filesystem, case.configuration.uncommitted)


def _flat(dataset: Node, steps: tuple[Uncommitted, ...]) -> Finding:
    asked, done = sum(step.syncs for step in steps), sum(step.commits for step in steps)
    return _finding(
        dataset,
        f"{count(done)} ZIL commits for {count(asked)} syncs",
        f"committed its intent log {count(done)} times for {count(asked)} syncs in "
        f"{words.time_measured(found.step for found in steps)}: they were answered without being written",
        because=tuple(
            f"{found.step.name}: {count(found.commits)} commits, {count(found.syncs)} syncs" for found in steps
        ),
        steps=words.names(found.step for found in steps),
    )


def _finding(dataset: Node, title: str, does: str, *, because: tuple[str, ...], steps: tuple[str, ...] = ()) -> Finding:
    return Finding(
        rule="zfs-sync-off",
        verdict="not-durable",
        confidence="high",
        scope="storage",
        title=title,
        sentence=f"The {words.of_pool(dataset)} {does}. A power cut loses what was synced last.",
        steps=steps,
        because=because,
        next=("zfs get -r sync shows where it is set; zfs set sync=standard DATASET, then run again.",),
    )
