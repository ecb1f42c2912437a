"""*not-durable, medium confidence, where a primary lost what its settings promised; otherwise a note*

## What it means
A primary was ended in the middle of acknowledged commits. The clients are the witness: what was acknowledged to them
should be found again, on the primary once it has recovered, or on its replica. Where the replica has what the
primary lost, they have diverged: such a primary must not simply be joined to it again.

## How it was measured
`replica-cut` starts both servers on filesystems of their own and compares the clients' acknowledgements, row by row,
with both tables afterwards. A power cut is SIGKILL and at once the kernel's shutdown of that filesystem: all that it
held and had not written is gone, as in a power cut of a disk without a cache.

## What it proves, and what not
With `sync_binlog = 1` and `innodb_flush_log_at_trx_commit = 1` nothing acknowledged may be missing on the primary:
where it is, its syncs were answered by something above the disk. What the disk below DIR does with a flush is not cut
here: that takes `fstui powercut`. kill -9 loses nothing that was written, at any setting. A replica that was
not cut first applies all that it had received. After a cut of both it starts without replication and applies nothing
more: what it had only received stays in its relay log, and counts as missing.

## What to do next
Durable settings on the primary; semi-synchronous replication with AFTER_SYNC, so that a commit is on two machines
before it is acknowledged; after the crash of a primary that is not durable, promote the replica.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.measure.kinds.replica_cut import ReplicaCutFigures
from fstui.model.judgement import Finding
from fstui.model.quantities import count
from fstui.model.steps import Step


class Cut(NamedTuple):
    """A step whose servers were compared."""

    step: Step
    told: ReplicaCutFigures


@rule(place=30)
def replica_cut(case: Case) -> Iterator[Finding]:
    """What was acknowledged before a primary's end, and where it is afterwards."""
    cuts = [
        Cut(step, step.figures)
        for step in case.evidence.steps
        if isinstance(step.figures, ReplicaCutFigures) and step.figures.whole and step.figures.acknowledged
    ]
    if broken := [cut for cut in cuts if cut.told.promised and cut.told.lost_on_primary]:
        yield _broken(broken)
    if others := [cut for cut in cuts if cut not in broken]:
        yield _noted(others)


def _broken(cuts: Sequence[Cut]) -> Finding:
    worst = max(cuts, key=lambda cut: cut.told.lost_on_primary)
    told = worst.told
    return Finding(
        rule="replica-cut",
        verdict="not-durable",
        confidence="medium",
        scope="process",
        title=f"{_of(worst.told.lost_on_primary, worst)} lost on a durable primary",
        sentence=f"{told.title} promises durable commits ({', '.join(told.primary_settings)}), and "
        f"{_of(told.lost_on_primary, worst)} acknowledged ones were not there after {worst.step.name}. Its filesystem "
        "keeps what was synced, so something answers its syncs.",
        steps=words.names(cut.step for cut in cuts),
        because=tuple(map(_because, cuts)),
        next=("Look at what the server loads: grep -E 'eatmydata|nosync' /proc/PID/maps, and LD_PRELOAD here.",),
    )


def _noted(cuts: Sequence[Cut]) -> Finding:
    lost = [cut for cut in cuts if cut.told.lost_on_primary]
    worst = max(cuts, key=lambda cut: (cut.told.lost_everywhere, cut.told.lost_on_primary, cut.told.lost_on_replica))
    if not worst.told.lost_on_primary and not worst.told.lost_on_replica:
        title = "nothing acknowledged was lost on either"
    elif worst.told.lost_everywhere:
        title = f"{_of(worst.told.lost_everywhere, worst)} lost on both"
    elif lost:
        title = f"{_of(worst.told.lost_on_primary, worst)} lost on the primary, none on both"
    else:
        title = f"{_of(worst.told.lost_on_replica, worst)} not on the replica, none lost"
    return Finding(
        rule="replica-cut",
        verdict=None,
        confidence="high",
        scope="step",
        title=title,
        sentence=_sentence(worst),
        steps=words.names(cut.step for cut in cuts),
        because=tuple(map(_because, cuts)),
        next=(words.durable_commits(worst.told.primary_settings),) if lost else (),
    )


def _sentence(worst: Cut) -> str:
    told = worst.told
    alone = f" {count(told.on_replica_alone)} are on the replica alone." if told.on_replica_alone else ""
    return (
        f"{told.title} ({', '.join(told.primary_settings)}), {worst.step.name}: of {count(told.acknowledged)} "
        f"acknowledged commits {count(told.lost_on_primary)} are missing on the primary, "
        f"{count(told.lost_on_replica)} on the replica, {count(told.lost_everywhere)} on both.{alone}"
    )


def _of(number: int, cut: Cut) -> str:
    return f"{count(number)} of {count(cut.told.acknowledged)}"


def _because(cut: Cut) -> str:
    told = cut.told
    return (
        f"{cut.step.name}: {count(told.acknowledged)} acknowledged; lost {count(told.lost_on_primary)} on the primary, "
        f"{count(told.lost_on_replica)} on the replica, {count(told.lost_everywhere)} on both"
    )
