"""* not-durable, medium confidence: a primary with durable settings lost commits
* a note: in all other cases

## What it means
A MariaDB or MySQL primary was stopped while it acknowledged commits. After its recovery, every acknowledged commit
should be on the primary or on its replica. If the replica has commits that the primary lost, the two have diverged. Do
not let such a primary rejoin without repair.

## How it was measured
`replica-cut` starts both servers, each on a loop device of its own. The clients record which commits were acknowledged,
and fstui looks for each of them in the tables of both servers. To simulate a power cut, fstui kills the server
(SIGKILL), and immediately stops all writes of the filesystem on that server's loop device (a forced shutdown). Data
that was not yet written is lost, as in a power cut of a disk without a cache.

## What it proves, and what it does not
- The settings are durable if `sync_binlog = 1` and `innodb_flush_log_at_trx_commit = 1`. The primary must then keep
  every acknowledged commit. If a commit is missing, a library or a layer above the filesystem drops the primary's
  syncs.
- The scenario does not test what the disk below the test directory does with a flush. `fstui powercut` tests this.
- `kill -9` alone loses nothing that the server had written, whatever its settings are.
- If only the primary was stopped, fstui waits until the replica has applied everything that it received, and then looks
  for the commits. After a cut of both servers, the replica starts without replication. Commits that are only in its
  relay log then count as missing.

## What to do next
Configure durable commits on the primary. Use semi-synchronous replication with AFTER_SYNC: a commit is then on two
hosts before it is acknowledged. Set `sync_relay_log = 1`, so that the replica has also synced the commit. After the
crash of a primary that is not durable, promote the replica.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.measure.kinds.replica_cut import ReplicaCutFigures
from fstui.model.quantities import count
from fstui.model.steps import Step


class CutStep(NamedTuple):
    step: Step
    figures: ReplicaCutFigures

    def share(self, number: int) -> str:
        """Return ``3 of 1 200``: a number of commits, and the acknowledged ones."""
        return f"{count(number)} of {count(self.figures.acknowledged)}"


@rule(order=30)
def replica_cut(case: Case) -> Iterator[Conclusion]:
    cuts = [
        CutStep(step, step.figures)
        for step in case.evidence.steps
        if isinstance(step.figures, ReplicaCutFigures) and step.figures.both_recovered and step.figures.acknowledged
    ]
    if unexpected := [cut for cut in cuts if cut.figures.primary_is_durable and cut.figures.lost_on_primary]:
        yield _lost_despite_settings(unexpected)
    if other_cuts := [cut for cut in cuts if cut not in unexpected]:
        yield _loss_note(other_cuts)


def _lost_despite_settings(cuts: Sequence[CutStep]) -> Conclusion:
    worst = max(cuts, key=lambda cut: cut.figures.lost_on_primary)
    figures, lost_share = worst.figures, worst.share(worst.figures.lost_on_primary)
    return Conclusion(
        title=f"{lost_share} commits lost on a durable primary",
        sentence=f"{figures.title} is configured for durable commits ({', '.join(figures.primary_settings)}), and "
        f"{lost_share} acknowledged commits were missing after {worst.step.name}. The filesystem keeps everything that "
        "was synced, so a library or a layer above it drops the server's syncs.",
        verdict="not-durable",
        confidence="medium",
        scope="process",
        steps=[cut.step for cut in cuts],
        evidence=map(_evidence_line, cuts),
        next=(words.LOOK_AT_LIBRARIES,),
    )


def _loss_note(cuts: Sequence[CutStep]) -> Conclusion:
    any_lost = any(cut.figures.lost_on_primary for cut in cuts)
    worst = max(
        cuts, key=lambda cut: (cut.figures.lost_everywhere, cut.figures.lost_on_primary, cut.figures.lost_on_replica)
    )
    figures = worst.figures
    rest = f" {count(figures.on_replica_alone)} are only on the replica." if figures.on_replica_alone else ""
    return Conclusion(
        title=_title(worst, any_lost=any_lost),
        sentence=f"{figures.title} ({', '.join(figures.primary_settings)}), {worst.step.name}: of "
        f"{count(figures.acknowledged)} acknowledged commits {count(figures.lost_on_primary)} are missing on the "
        f"primary, {count(figures.lost_on_replica)} on the replica, {count(figures.lost_everywhere)} on both.{rest}",
        scope="step",
        steps=[cut.step for cut in cuts],
        evidence=map(_evidence_line, cuts),
        next=(words.durable_commits_advice(figures.primary_settings),) if any_lost else (),
    )


def _title(worst: CutStep, *, any_lost: bool) -> str:
    figures = worst.figures
    if not figures.lost_on_primary and not figures.lost_on_replica:
        return "no acknowledged commit was lost"
    if figures.lost_everywhere:
        return f"{worst.share(figures.lost_everywhere)} commits lost on both servers"
    if any_lost:
        return f"{worst.share(figures.lost_on_primary)} commits lost on the primary, none on both servers"
    return f"{worst.share(figures.lost_on_replica)} commits not on the replica, none lost"


def _evidence_line(cut: CutStep) -> str:
    figures = cut.figures
    return (
        f"{cut.step.name}: {count(figures.acknowledged)} acknowledged; lost {count(figures.lost_on_primary)} on the "
        f"primary, {count(figures.lost_on_replica)} on the replica, {count(figures.lost_everywhere)} on both"
    )
