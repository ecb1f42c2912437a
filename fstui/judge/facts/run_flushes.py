"""The flush accounts of a whole run: which flushes are missing, and at which levels flushes provably arrive."""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.account import ENOUGH_SHARE, FlushAccount, fewest_bytes, fewest_flushes
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.flushes import LevelAccounts, compute_accounts
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import Steps, WriteStep
from fstui.model.quantities import ratio
from fstui.model.steps import Step
from fstui.model.storage import Node

_GAP_SHARE = 0.8
"""Missing flushes are temporary if one interval has enough flushes, and another has less than this share of the whole
step's flushes per sync."""


class Proof(NamedTuple):
    """Steps whose flushes were counted, and the number of levels, from the top, at which these flushes arrived."""

    steps: tuple[LevelAccounts, ...]
    depth: int

    @property
    def is_noisy(self) -> bool:
        """Whether flushes at the topmost level may be those of other processes."""
        return any(accounts[0].outcome == "noisy" for accounts in self.steps)


class RunFlushes:
    def __init__(self, stack: Stack, steps: Steps, other_writers: OtherWriters, configuration: Configuration) -> None:
        self._stack, self._steps, self._other_writers, self._configuration = stack, steps, other_writers, configuration
        self._accounts: dict[int, LevelAccounts] = {}

    def accounts(self, write_step: WriteStep) -> LevelAccounts:
        """Return the accounts of a step of the run. They are computed only once."""
        if id(write_step.step) not in self._accounts:
            self._accounts[id(write_step.step)] = self.compute_accounts(write_step)
        return self._accounts[id(write_step.step)]

    def compute_accounts(self, write_step: WriteStep) -> LevelAccounts:
        """Compute the accounts of a step that is not in the run, such as commits treated as syncs."""
        return compute_accounts(self._stack, write_step, self._other_writers)

    @cached_property
    def synced_accounts(self) -> tuple[LevelAccounts, ...]:
        """The accounts of the synced steps; empty if the configuration already explains missing flushes."""
        if self._configuration.breaks_sync:
            return ()
        return tuple(accounts for write_step in self._steps.synced if (accounts := self.accounts(write_step)))

    @cached_property
    def missing_flushes(self) -> tuple[FlushAccount, ...]:
        """For each step with missing flushes, the account of the topmost level that lacks flushes.

        If the whole step has enough flushes but an interval does not, the account is that of the interval with the
        fewest flushes, because the whole step would hide a short interruption. Levels whose write cache was switched
        are left out.
        """
        return tuple(account for account in self._lacking_flushes if not self._cache_was_switched(account.level))

    @cached_property
    def _lacking_flushes(self) -> tuple[FlushAccount, ...]:
        if self._configuration.breaks_sync:
            return ()
        steps = self._steps.synced
        one_writer = (
            _topmost_missing(self.accounts(write_step)) or self._worst_interval(write_step) for write_step in steps
        )
        several_writers = map(_topmost_missing, map(self.accounts, self._steps.synced_by_several_writers))
        return tuple(account for account in (*one_writer, *several_writers) if account)

    @cached_property
    def missing_bytes(self) -> tuple[FlushAccount, ...]:
        return _missing_bytes(self.synced_accounts)

    @cached_property
    def buffering_loop(self) -> Node | None:
        """A loop device without direct I/O, which buffers O_DIRECT writes in the page cache."""
        return next((node for node in self._stack.nodes if node.value("dio") == "0"), None)

    @cached_property
    def buffered_direct(self) -> tuple[FlushAccount, ...]:
        """The accounts of unsynced O_DIRECT steps whose bytes did not reach the device, because a layer buffered them.

        With a loop device without direct I/O, the accounts of all unsynced O_DIRECT steps are returned. If their bytes
        arrived, the kernel happened to write them back during the step.
        """
        if self._configuration.breaks_sync:
            return ()
        steps = [accounts for accounts in map(self.accounts, self._steps.unsynced_direct) if accounts]
        if self.buffering_loop:
            return tuple(_topmost_lacking_bytes(accounts) or accounts[-1] for accounts in steps)
        return _missing_bytes(steps)

    @cached_property
    def noisy_accounts(self) -> tuple[FlushAccount, ...]:
        return tuple(account for accounts in self.synced_accounts for account in accounts if account.others_wrote)

    @cached_property
    def proof(self) -> Proof | None:
        """The proof that syncs arrive; None if flushes or bytes are missing, or if no flushes are expected.

        Steps with an exact number of expected flushes are preferred. If a filesystem may send one or two flushes per
        sync, the second one may come from another process.
        """
        counted = tuple(accounts for accounts in self.synced_accounts if _is_counted(accounts[0]))
        if not counted or self._lacking_flushes or self.missing_bytes:
            return None
        expected = [(accounts, accounts[0].arrival.expected) for accounts in counted]
        exact = tuple(accounts for accounts, flushes in expected if flushes and flushes.low == flushes.high)
        return Proof(exact or counted, _proven_depth(exact or counted))

    @cached_property
    def level(self) -> Level | None:
        """The level to which the findings about flushes refer; the lowest level if there are no such findings.

        If the configuration breaks syncs, this is the level with the fewest flushes. Levels above the broken one still
        send flushes, and levels below may count flushes of other processes.
        """
        all_accounts = map(self.accounts, self._steps.synced)
        counted = [account for accounts in all_accounts for account in accounts if account.counted]
        if self._configuration.breaks_sync and counted:
            return fewest_flushes(counted).level
        if self.missing_flushes:
            return fewest_flushes(self.missing_flushes).level
        if self.missing_bytes:
            return fewest_bytes(self.missing_bytes).level
        proof = self.proof
        if proof and (proof.depth or proof.is_noisy):
            return self._stack.levels[max(proof.depth, 1) - 1]
        return next(reversed(self._stack.levels), None)

    @cached_property
    def complete_lowest_account(self) -> FlushAccount | None:
        """The account of the lowest level in the first step for which the counters are complete there."""
        return next((accounts[-1] for accounts in self.synced_accounts if accounts[-1].counters_are_complete), None)

    @property
    def bytes_complete_at_lowest(self) -> bool:
        lowest = [accounts[-1] for accounts in self.synced_accounts if accounts[-1].counted_bytes is not None]
        return any(account.expected_bytes.low and not account.lacks_bytes for account in lowest)

    def counted_accounts(self, step: Step) -> LevelAccounts:
        """Return the accounts of a synced step that have both counted and expected flushes."""
        accounts = next((accounts for accounts in self.synced_accounts if accounts[0].step is step), ())
        return tuple(account for account in accounts if account.expected and account.counted)

    def has_expected_flushes(self, step: Step) -> bool:
        accounts = self.counted_accounts(step)
        return bool(accounts) and not any(account.outcome == "missing" for account in accounts)

    def is_temporary(self, missing: FlushAccount) -> bool:
        if missing.step not in self._steps.all:  # the account is about an interval of a step that has enough flushes
            return True
        whole_step = next((write_step for write_step in self._steps.synced if write_step.step is missing.step), None)
        intervals = self._missing_in_intervals(whole_step) if whole_step else ()
        has_gap = any(interval and interval.per_sync < _GAP_SHARE * missing.per_sync for interval in intervals)
        return has_gap and None in intervals

    def advice(self, level: Level) -> str:
        """Return what the user can do if flushes or bytes are missing at ``level``."""
        depth = next((depth for depth, other in enumerate(self._stack.levels) if other is level), 0)
        if not depth:
            return words.LOOK_FOR_FILTER
        loops = words.devices(self._stack.levels[depth - 1].devices)
        return f"Check how {loops} is set up: 'losetup --list' shows a loop device's file, and whether DIO is on."

    @cached_property
    def shortage(self) -> str:
        """``9 120 syncs a second, and no flush reached loop2``, for the worst step; empty if all steps have enough."""
        all_accounts = map(self.accounts, self._steps_without_fua)
        counted = [account for accounts in all_accounts for account in accounts if account.counted]
        worst = min(counted, key=lambda account: account.arrival.per_sync, default=None)
        if worst is None or worst.arrival.per_sync >= ENOUGH_SHARE:
            return ""
        where, per_sync = words.devices(worst.arrival.devices), ratio(worst.arrival.per_sync)
        reached = (
            f"{per_sync} flushes per sync reached {where}" if worst.arrival.flushes else f"no flush reached {where}"
        )
        return f"{words.syncs_a_second(worst.syncs, worst.step)}, and {reached}"

    @cached_property
    def sync_rate(self) -> str:
        """``shortage`` if it is not empty, otherwise the rate of the step with most syncs; empty without syncs."""
        longest = max(self._steps_without_fua, key=lambda write_step: write_step.syncs, default=None)
        return self.shortage or (words.syncs_a_second(longest.syncs, longest.step) if longest else "")

    @property
    def _steps_without_fua(self) -> list[WriteStep]:
        """The synced steps whose flushes can be counted, because devices do not count FUA writes."""
        return [write_step for write_step in self._steps.synced if not write_step.writes_fua]

    def _cache_was_switched(self, level: Level) -> bool:
        """Return whether a write cache was switched in any step. Then it may also have been off during a part of a step
        in which no change was noticed, and the kernel rightly sent no flushes."""
        return any(step.has_changed(node.id, "write cache") for step in self._steps.all for node in level.path)

    def _worst_interval(self, write_step: WriteStep) -> FlushAccount | None:
        missing = filter(None, self._missing_in_intervals(write_step))
        return min(missing, key=lambda account: account.per_sync, default=None)

    def _missing_in_intervals(self, write_step: WriteStep) -> tuple[FlushAccount | None, ...]:
        """Return, for each interval of a step, the account that lacks flushes, or None if there are enough flushes."""
        return tuple(_topmost_missing(self.compute_accounts(interval)) for interval in write_step.intervals)


def _is_counted(account: FlushAccount) -> bool:
    by_counters = account.expected is not None and account.expected.low > 0 and account.counted is not None
    return by_counters or account.trace_is_complete


def _topmost_missing(accounts: LevelAccounts) -> FlushAccount | None:
    return next((account for account in accounts if account.outcome == "missing"), None)


def _missing_bytes(steps: Iterable[LevelAccounts]) -> tuple[FlushAccount, ...]:
    return tuple(account for account in map(_topmost_lacking_bytes, steps) if account)


def _topmost_lacking_bytes(accounts: LevelAccounts) -> FlushAccount | None:
    return next((account for account in accounts if account.lacks_bytes), None)


def _proven_depth(steps: tuple[LevelAccounts, ...]) -> int:
    """Return the number of levels, from the top, at which more steps are complete than noisy."""
    depth = 0
    for level in zip(*steps, strict=True):
        outcomes = [account.outcome for account in level]
        if outcomes.count("complete") <= outcomes.count("noisy"):
            break
        depth += 1
    return depth
