"""Rule 4: a ZFS dataset that was told to leave syncs out, or whose intent log commits nothing.

``zfs_nocacheflush`` and ``zil_nocacheflush`` are barriers that are off: rule 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.layers import filesystems, levels
from fstui.judge.process import stubbed
from fstui.judge.steps import names, synced, syncs, time_measured
from fstui.model import Evidence, Finding, Node, Step
from fstui.quantities import count, plain

_FLAT = 0.05
"""Commits per sync. With sync=disabled zil_commit returns before it counts; others only add."""


def zfs_sync_off(evidence: Evidence) -> Iterator[Finding]:
    """Rule 4: sync=disabled answers every sync at once; so does whatever keeps the intent log from committing."""
    target = evidence.target
    for dataset in filesystems(target) if target else ():
        sync = dataset.reading("sync")
        if dataset.kind == "zfs" and sync and sync.value == "disabled":
            yield _finding(
                dataset,
                "sync=disabled",
                "answers every sync at once and writes the data some seconds later, with its next transaction group",
                because=(words.reading(dataset, sync),),
            )
        elif dataset.kind == "zfs":
            yield from _uncommitted(evidence, dataset)


def _uncommitted(evidence: Evidence, dataset: Node) -> Iterator[Finding]:
    """Only where the program's own filesystem is the dataset, and nothing above swallows its syncs."""
    target = evidence.target
    first = levels(target)[:1] if target else ()
    volatile = target is not None and any(node.reading("volatile") for node in target.stack)
    if not first or first[0].filesystem != dataset or volatile or stubbed(evidence):
        return
    steps = [
        (step, syncs(step, settings), commits)
        for step, settings in synced(evidence)
        if (commits := _commits(step, dataset)) is not None
    ]
    asked, done = sum(asked for _, asked, _ in steps), sum(commits for _, _, commits in steps)
    if steps and done <= _FLAT * asked:
        yield _finding(
            dataset,
            f"{count(done)} ZIL commits for {count(asked)} syncs",
            f"committed its intent log {count(done)} times for {count(asked)} syncs in "
            f"{time_measured(step for step, _, _ in steps)}: they were answered without being written",
            because=tuple(
                plain(f"{step.name}: {count(got)} commits, {count(want)} syncs") for step, want, got in steps
            ),
            steps=names(step for step, _, _ in steps),
        )


def _finding(dataset: Node, title: str, does: str, *, because: tuple[str, ...], steps: tuple[str, ...] = ()) -> Finding:
    return Finding(
        rule="zfs-sync-off",
        verdict="not-durable",
        confidence="high",
        scope="storage",
        title=title,
        sentence=f"The dataset under {plain(dataset.name)} {does}. A power cut loses what was synced last.",
        steps=steps,
        because=because,
        next=("zfs get -r sync shows where it is set; zfs set sync=standard DATASET, then run again.",),
    )


def _commits(step: Step, dataset: Node) -> int | None:
    counters = step.device(dataset.id)
    return counters.commits if counters else None
