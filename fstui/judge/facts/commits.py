"""The commits of a database, followed down as syncs.

A commit is at least one sync of a log that grows. It is followed down as one; that the storage passes such syncs on is
known from a step with the same flags on the same filesystem. Many clients share a sync: their commits are not counted.
"""

from __future__ import annotations

from functools import cached_property
from math import isinf
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.arrival import ENOUGH, Arrival
from fstui.judge.facts.arrivals import Arrivals
from fstui.judge.facts.steps import MIN_SYNCS, Steps, SyncStep
from fstui.measures.sync_writes import SyncWrites
from fstui.model.settings import Commits, Figures
from fstui.model.steps import Step
from fstui.quantities import count, ratio


class CommitStep(NamedTuple):
    """A step whose operations are commits, and what they promise."""

    step: Step
    promised: Commits

    @property
    def as_syncs(self) -> SyncStep:
        """Every commit as one sync of the binary log or the WAL, whatever it promised."""
        step, flags = self.step, self.promised.log_flags
        syncs = Step(
            name=step.name,
            settings=step.settings,
            status=step.status,
            ops=step.ops,
            syncs=step.ops,
            bytes=0,
            elapsed_s=step.elapsed_s,
            counters=step.counters,
        )
        sync = SyncWrites(offsets="append", prefill="none", sync="none" if flags else "fdatasync", open_flags=flags)
        return SyncStep(syncs, sync)

    @property
    def countable(self) -> bool:
        """By one client, to the filesystem that is measured, and enough of them."""
        done = self.step.status not in {"failed", "skipped"} and self.step.ops >= MIN_SYNCS
        return done and self.step.writers == 1 and self.promised.counted


class CountedCommits(NamedTuple):
    """The commits of one client, and the level of the stack at which their flushes were counted."""

    step: Step
    promised: Commits
    arrival: Arrival
    expected: float
    """Flushes per commit, at the least."""

    @property
    def lacking(self) -> bool:
        """Fewer than 0.9 of what is owed arrived."""
        return self.arrival.per_sync < ENOUGH * self.expected

    @property
    def flushes(self) -> float:
        """As many as arrived, at the worst leg of a mirror."""
        return self.arrival.flushes.low if self.arrival.flushes else 0

    @property
    def because(self) -> str:
        """The evidence in a line."""
        where, per_commit = words.devices(self.arrival.devices), ratio(self.arrival.per_sync)
        arrived = f"{count(self.flushes)} flushes for {count(self.arrival.syncs)} commits at {where}"
        return f"{self.step.name}: {arrived} ({per_commit}, {self.expected:g} owed)"


class DatabaseCommits:
    """The database steps, counted as far as they can be."""

    def __init__(self, steps: Steps, arrivals: Arrivals) -> None:
        self._steps, self._arrivals = steps, arrivals

    @cached_property
    def all(self) -> tuple[CommitStep, ...]:
        """Every step whose operations are commits."""
        return tuple(
            CommitStep(step, promised)
            for step in self._steps.all
            if (promised := step.settings.commits(step.figures or Figures()))
        )

    @cached_property
    def counted(self) -> tuple[CountedCommits, ...]:
        """Those of one client whose commits owe a known number of flushes."""
        return tuple(found for commits in self.all if commits.countable and (found := self._counted(commits)))

    @cached_property
    def lacking(self) -> tuple[CountedCommits, ...]:
        """Those of them whose commits did not reach the device."""
        return tuple(commits for commits in self.counted if commits.lacking)

    def comparison(self, commits: CountedCommits) -> tuple[str, ...]:
        """What a sync with the same flags came to, in a line, where there was one."""
        wanted = CommitStep(commits.step, commits.promised).as_syncs
        share = self._reference(wanted)
        if share is None:
            return ()
        return (f"{wanted.call} by fstui: {ratio(share)} flushes each, on the same filesystem",)

    def _counted(self, commits: CommitStep) -> CountedCommits | None:
        """At the topmost level that counts; None where nobody knows what they owe."""
        step, promised = commits
        reference = self._reference(commits.as_syncs)
        for arrival in self._arrivals.of_commits(commits.as_syncs):
            if arrival.flushes is None:
                continue
            if arrival.expected is None or isinf(arrival.expected.high):
                return CountedCommits(step, promised, arrival, min(1.0, reference)) if reference else None
            # without a sync that arrived, only a library in the server's own memory tells who is to blame
            known = reference is not None or bool(promised.preloads)
            owes = arrival.expected.low > 0
            return CountedCommits(step, promised, arrival, arrival.expected.low) if known and owes else None
        return None

    def _reference(self, wanted: SyncStep) -> float | None:
        """Flushes per sync of a step with the same flags whose flushes arrived; None where there is none."""
        for done in self._steps.measured:
            if (done.call, done.direct) != (wanted.call, wanted.direct) or done.syncs < MIN_SYNCS:
                continue
            counted = [arrival for arrival in self._arrivals.of(done) if arrival.flushes]
            if counted and counted[0].per_sync >= ENOUGH and not any(arrival.lacks_flushes for arrival in counted):
                return counted[0].per_sync
        return None
