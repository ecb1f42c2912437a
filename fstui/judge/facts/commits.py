"""The commits of a database, counted as syncs.

A commit is at least one sync of a growing log. Commits of many clients share a sync, so only those of one client are
counted. For comparison, the evidence quotes fstui's own syncs with the same call and flags on the same filesystem.

Flushes are missing if the counters show too few. If the server's processes are known, the kernel's trace can also show
this. A journal thread commits on behalf of every waiting process, so the trace shows missing flushes only if all
processes together sent too few.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from fstui.judge.facts.account import ENOUGH_SHARE, Arrival, FlushAccount
from fstui.judge.facts.flushes import LevelAccounts
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.steps import MIN_SYNCS, Steps, WriteStep
from fstui.judge.facts.traced import TRACE
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.quantities import ratio
from fstui.model.settings import CommitSettings, Figures
from fstui.model.steps import Step
from fstui.storage.layers.flushes import Range


class CommitStep(NamedTuple):
    """A step whose operations are commits, and the database's settings that decide their durability."""

    step: Step
    settings: CommitSettings

    @property
    def as_syncs(self) -> WriteStep:
        """The step as if each commit were one sync of the binary log or the WAL, even if commits are not durable."""
        flags = self.settings.log_flags
        sync = SyncWrites(offsets="append", prefill="none", sync="none" if flags else "fdatasync", open_flags=flags)
        part = self.step.traced_part
        traced_part = replace(part, syncs=part.ops) if part else None
        return WriteStep(replace(self.step, syncs=self.step.ops, bytes=0, traced_part=traced_part), sync)

    @property
    def is_countable(self) -> bool:
        is_measured = self.step.status not in {"failed", "skipped"} and self.step.ops >= MIN_SYNCS
        return is_measured and self.step.writers == 1 and self.settings.counted


class CountedCommits(NamedTuple):
    """The commits of one client, with their account, and their flushes as counted by the device or the trace."""

    step: Step
    settings: CommitSettings
    account: FlushAccount
    arrival: Arrival
    """Its ``expected`` is the minimum per commit."""

    @property
    def expected(self) -> float:
        return self.arrival.expected.low if self.arrival.expected else 0.0

    @property
    def lacks_flushes(self) -> bool:
        return self.arrival.per_sync < ENOUGH_SHARE * self.expected

    @property
    def evidence(self) -> str:
        requests, suffix = ("flushes or FUA writes", f"; {TRACE}") if self.arrival.trace else ("flushes", "")
        return self.arrival.line(self.step, requests=requests, operations="commits", suffix=suffix)


class DatabaseCommits:
    def __init__(self, steps: Steps, flushes: RunFlushes) -> None:
        self._steps, self._flushes = steps, flushes

    @cached_property
    def all(self) -> tuple[CommitStep, ...]:
        return tuple(
            CommitStep(step, settings)
            for step in self._steps.all
            if (settings := step.settings.commit_settings(step.figures or Figures()))
        )

    @cached_property
    def counted(self) -> tuple[CountedCommits, ...]:
        """The commits of one client for which a known number of flushes is expected."""
        return tuple(counted for commits in self.all if commits.is_countable and (counted := self._count(commits)))

    @cached_property
    def missing_flushes(self) -> tuple[CountedCommits, ...]:
        return tuple(commits for commits in self.counted if commits.lacks_flushes)

    def comparison(self, commits: CountedCommits) -> tuple[str, ...]:
        """Return the evidence from fstui's own syncs with the same flags, if their flushes arrived."""
        commit_syncs = CommitStep(commits.step, commits.settings).as_syncs
        per_sync = self._own_flushes_per_sync(commit_syncs)
        if per_sync is None:
            return ()
        return (f"{commit_syncs.sync_method} by fstui: {ratio(per_sync)} flushes each, on the same filesystem",)

    def _count(self, commits: CommitStep) -> CountedCommits | None:
        """Count by the counters and by the trace. Return a result that lacks flushes if there is one, or else any."""
        accounts = self._flushes.compute_accounts(commits.as_syncs)
        by_counters, by_trace = self._count_by_counters(commits, accounts), self._count_by_trace(commits, accounts)
        candidates = [counted for counted in (by_counters, by_trace) if counted]
        return min(candidates, key=lambda counted: not counted.lacks_flushes, default=None)

    def _count_by_counters(self, commits: CommitStep, accounts: LevelAccounts) -> CountedCommits | None:
        """Count the flushes at the topmost level that has counters."""
        account = next((account for account in accounts if account.counted), None)
        if account is None or account.counted is None or account.expected is None or not account.expected.low:
            return None
        # if fstui's own flushes did not arrive either, only a library loaded into the server shows the server's fault
        if self._own_flushes_per_sync(commits.as_syncs) is None and not commits.settings.preloads:
            return None
        expected = Range(account.expected.low, account.expected.low)
        arrival = Arrival(account.devices, account.counted.low, expected, account.syncs, None)
        return CountedCommits(*commits, account, arrival)

    def _count_by_trace(self, commits: CommitStep, accounts: LevelAccounts) -> CountedCommits | None:
        """Count the flushes that the trace shows directly below the filesystem, even at a layer without counters."""
        top = next(iter(accounts), None)
        if top is None or top.trace is None or top.trace.expected.low < 1:
            return None
        commit_syncs = commits.as_syncs
        own_complete = any(accounts[0].trace_is_complete for accounts in self._accounts_with_same_flags(commit_syncs))
        if not (own_complete or self._own_flushes_per_sync(commit_syncs) or commits.settings.preloads):
            return None
        expected = Range(top.trace.expected.low, top.trace.expected.low)
        arrival = Arrival(top.trace.devices, top.trace.own.high, expected, top.trace.syncs, top.trace)
        return CountedCommits(*commits, top, arrival)

    def _own_flushes_per_sync(self, commit_syncs: WriteStep) -> float | None:
        """Return the flushes per sync of a step by fstui with the same flags if its flushes arrived, else None."""
        for accounts in self._accounts_with_same_flags(commit_syncs):
            counted = [account for account in accounts if account.counted]
            if not counted or any(account.outcome == "missing" for account in counted):
                continue
            if counted[0].per_sync >= ENOUGH_SHARE:
                return counted[0].per_sync
        return None

    def _accounts_with_same_flags(self, commit_syncs: WriteStep) -> Iterator[LevelAccounts]:
        for write_step in self._steps.measured:
            same_flags = (write_step.sync_method, write_step.direct) == (commit_syncs.sync_method, commit_syncs.direct)
            if same_flags and write_step.syncs >= MIN_SYNCS and (accounts := self._flushes.accounts(write_step)):
                yield accounts
