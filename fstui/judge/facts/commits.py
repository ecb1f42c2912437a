"""The commits of a database, counted as syncs.

A commit is at least one sync of a growing log. Commits of many clients share a sync, so only those of one client are
counted. For comparison, the evidence quotes fstui's own syncs with the same call and flags on the same filesystem.

The counters decide, and so does the kernel's trace if the server's processes are known. A journal thread commits on
behalf of every waiting process, so in the trace, flushes are missing only if all processes together sent too few.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from fstui.judge.facts.account import ENOUGH, Arrival, FlushAccount
from fstui.judge.facts.flushes import LevelAccounts
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.steps import MIN_SYNCS, Steps, SyncStep
from fstui.judge.facts.traced import TRACE
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.quantities import ratio
from fstui.model.settings import CommitSettings, Figures
from fstui.model.steps import Step
from fstui.storage.layers.flushes import Range


class CommitStep(NamedTuple):
    """A step whose operations are commits, and the durability that its settings state."""

    step: Step
    promised: CommitSettings

    @property
    def as_syncs(self) -> SyncStep:
        """Each commit as one sync of the binary log or the WAL, whether or not it is durable."""
        flags = self.promised.log_flags
        sync = SyncWrites(offsets="append", prefill="none", sync="none" if flags else "fdatasync", open_flags=flags)
        return SyncStep(replace(self.step, syncs=self.step.ops, bytes=0), sync)

    @property
    def countable(self) -> bool:
        measured = self.step.status not in {"failed", "skipped"} and self.step.ops >= MIN_SYNCS
        return measured and self.step.writers == 1 and self.promised.counted


class CountedCommits(NamedTuple):
    """The commits of one client, with their account, and their flushes as counted by the device or the trace."""

    step: Step
    promised: CommitSettings
    account: FlushAccount
    arrival: Arrival
    """Its ``expected`` is the minimum per commit."""

    @property
    def expected(self) -> float:
        return self.arrival.expected.low if self.arrival.expected else 0.0

    @property
    def lacks_flushes(self) -> bool:
        return self.arrival.per_sync < ENOUGH * self.expected

    @property
    def because(self) -> str:
        if self.arrival.traced:
            return self.arrival.line(self.step, what="flushes or FUA writes", syncs="commits", more=f"; {TRACE}")
        return self.arrival.line(self.step, what="flushes", syncs="commits")


class DatabaseCommits:
    """The database steps, and the flushes of their commits as far as they can be counted."""

    def __init__(self, steps: Steps, flushes: RunFlushes) -> None:
        self._steps, self._flushes = steps, flushes

    @cached_property
    def all(self) -> tuple[CommitStep, ...]:
        return tuple(
            CommitStep(step, promised)
            for step in self._steps.all
            if (promised := step.settings.commit_settings(step.figures or Figures()))
        )

    @cached_property
    def counted(self) -> tuple[CountedCommits, ...]:
        """The commits of one client for which a known number of flushes is expected."""
        return tuple(counted for commits in self.all if commits.countable and (counted := self._counted(commits)))

    @cached_property
    def missing_flushes(self) -> tuple[CountedCommits, ...]:
        return tuple(commits for commits in self.counted if commits.lacks_flushes)

    def comparison(self, commits: CountedCommits) -> tuple[str, ...]:
        """Return the evidence from fstui's own syncs with the same flags, if their flushes arrived."""
        wanted = CommitStep(commits.step, commits.promised).as_syncs
        per_sync = self._reference(wanted)
        if per_sync is None:
            return ()
        return (f"{wanted.call} by fstui: {ratio(per_sync)} flushes each, on the same filesystem",)

    def _counted(self, commits: CommitStep) -> CountedCommits | None:
        """Return the commits with the first account that lacks flushes, or else with the first one, if there is one."""
        accounts = self._flushes.compute(commits.as_syncs)
        counted = [*filter(None, (self._by_counters(commits, accounts), self._by_trace(commits, accounts)))]
        return next((account for account in counted if account.lacks_flushes), next(iter(counted), None))

    def _by_counters(self, commits: CommitStep, accounts: LevelAccounts) -> CountedCommits | None:
        """Return the commits with the account of the topmost level that counts flushes."""
        account = next((account for account in accounts if account.counted), None)
        if account is None or account.counted is None or account.expected is None or not account.expected.low:
            return None
        # if no sync of fstui arrived either, blame the server only if it has a library loaded that replaces syncs
        if self._reference(commits.as_syncs) is None and not commits.promised.preloads:
            return None
        expected = Range(account.expected.low, account.expected.low)
        arrival = Arrival(account.devices, account.counted.low, expected, account.syncs, None)
        return CountedCommits(*commits, account, arrival)

    def _by_trace(self, commits: CommitStep, accounts: LevelAccounts) -> CountedCommits | None:
        """Return the commits with the flushes in the trace below the filesystem, even if that layer counts none."""
        top = next(iter(accounts), None)
        if top is None or top.traced is None or top.traced.expected.low < 1:
            return None
        own_complete = any(accounts[0].complete_by_trace for accounts in self._of_same_flags(commits.as_syncs))
        if not (own_complete or self._reference(commits.as_syncs) or commits.promised.preloads):
            return None
        expected = Range(top.traced.expected.low, top.traced.expected.low)
        arrival = Arrival(top.traced.devices, top.traced.own.high, expected, top.syncs, top.traced)
        return CountedCommits(*commits, top, arrival)

    def _reference(self, wanted: SyncStep) -> float | None:
        """Return the flushes per sync of a step with the same flags whose flushes arrived; None without such a step."""
        for accounts in self._of_same_flags(wanted):
            counted = [account for account in accounts if account.counted]
            if not counted or any(account.outcome == "missing" for account in counted):
                continue
            if counted[0].per_sync >= ENOUGH:
                return counted[0].per_sync
        return None

    def _of_same_flags(self, wanted: SyncStep) -> Iterator[LevelAccounts]:
        for sync_step in self._steps.measured:
            same_flags = (sync_step.call, sync_step.direct) == (wanted.call, wanted.direct)
            if same_flags and sync_step.syncs >= MIN_SYNCS and (accounts := self._flushes.accounts(sync_step)):
                yield accounts
