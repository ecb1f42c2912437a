"""The commits of a database, followed down as syncs.

A commit is at least one sync of a log that grows. It is followed down as one; that the storage passes such syncs on is
known from a step with the same flags on the same filesystem. Many clients share a sync: their commits are not counted.

What was asked for them is told by the counters, and by the kernel's trace where the server's processes are known: that
sees forced writes (FUA), too, and layers that count nothing. Anybody's flush may have carried a commit, for a journal
commits for all who wait; so the trace accuses where what everybody asked for is too little.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.flushes import ENOUGH, FlushAccount
from fstui.judge.facts.run_flushes import RunFlushes, WayDown
from fstui.judge.facts.steps import MIN_SYNCS, Steps, SyncStep
from fstui.judge.facts.traced import TRACE, Traced
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.quantities import count, ratio
from fstui.model.settings import Commits, Figures
from fstui.model.steps import Step
from fstui.model.storage import Node


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
            trace=step.trace,
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
    account: FlushAccount
    expected: float
    """Flushes per commit, at the least."""
    traced: Traced | None = None
    """What the kernel's trace saw asked for, where that is what is told; else it is what devices counted."""

    @property
    def lacking(self) -> bool:
        """Fewer than 0.9 of what is expected arrived."""
        return self.each < ENOUGH * self.expected

    @property
    def each(self) -> float:
        """Flushes per commit."""
        return self.flushes / self.account.syncs if self.account.syncs else 0.0

    @property
    def flushes(self) -> float:
        """As many as arrived, at the worst leg of a mirror, or as anybody asked for."""
        if self.traced:
            return self.traced.most
        return self.account.counted.low if self.account.counted else 0

    @property
    def devices(self) -> tuple[Node, ...]:
        """Where."""
        return self.traced.devices if self.traced else self.account.devices

    @property
    def because(self) -> str:
        """The evidence in a line."""
        what, witness = ("flushes or FUA writes", f"; {TRACE}") if self.traced else ("flushes", "")
        arrived = (
            f"{count(self.flushes)} {what} for {count(self.account.syncs)} commits at {words.devices(self.devices)}"
        )
        return f"{self.step.name}: {arrived} ({ratio(self.each)}, {self.expected:g} expected{witness})"


class DatabaseCommits:
    """The database steps, counted as far as they can be."""

    def __init__(self, steps: Steps, flushes: RunFlushes) -> None:
        self._steps, self._flushes = steps, flushes

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
        """Those of one client of whose commits a known number of flushes is expected."""
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
        """By the witness that misses some; None where what to expect is not known."""
        way = self._flushes.of_commits(commits.as_syncs)
        found = [each for each in (self._by_counters(commits, way), self._by_trace(commits, way)) if each]
        return next((each for each in found if each.lacking), next(iter(found), None))

    def _by_counters(self, commits: CommitStep, way: WayDown) -> CountedCommits | None:
        """At the topmost level that counts."""
        step, promised = commits
        reference = self._reference(commits.as_syncs)
        for account in way:
            if account.counted is None:
                continue
            if account.expected is None:
                return CountedCommits(step, promised, account, min(1.0, reference)) if reference else None
            # without a sync that arrived, only a library in the server's own memory tells who is to blame
            known = reference is not None or bool(promised.preloads)
            sends = account.expected.low > 0
            return CountedCommits(step, promised, account, account.expected.low) if known and sends else None
        return None

    def _by_trace(self, commits: CommitStep, way: WayDown) -> CountedCommits | None:
        """At the level that the filesystem hands them to, whether it counts or not."""
        top = next(iter(way), None)
        if top is None or top.traced is None or top.traced.expected.low < 1:
            return None
        alike = any(way[0].proves_by_trace for way in self._of_same_flags(commits.as_syncs))
        if not (alike or self._reference(commits.as_syncs) or commits.promised.preloads):
            return None
        return CountedCommits(*commits, top, top.traced.expected.low, top.traced)

    def _reference(self, wanted: SyncStep) -> float | None:
        """Flushes per sync of a step with the same flags whose flushes arrived; None where there is none."""
        for way in self._of_same_flags(wanted):
            counted = [account for account in way if account.counted]
            if (
                counted
                and counted[0].per_sync >= ENOUGH
                and not any(account.outcome == "missing" for account in counted)
            ):
                return counted[0].per_sync
        return None

    def _of_same_flags(self, wanted: SyncStep) -> Iterator[WayDown]:
        """The ways down of fstui's own steps that sync in the same way."""
        for done in self._steps.measured:
            alike = (done.call, done.direct) == (wanted.call, wanted.direct) and done.syncs >= MIN_SYNCS
            if alike and (way := self._flushes.of(done)):
                yield way
