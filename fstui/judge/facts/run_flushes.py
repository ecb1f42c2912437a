"""The flush accounts of a whole run: what is missing, and how far down the stack the flushes are proven to arrive."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.account import ENOUGH, TOLERANCE, FlushAccount, fewest_bytes, fewest_flushes
from fstui.judge.facts.composition import flush_counters
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.flushes import LevelAccounts, accounts_of
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import Steps, SyncStep
from fstui.judge.facts.traced import Withheld, withheld
from fstui.model.quantities import ratio
from fstui.model.steps import Step
from fstui.model.storage import Node

_INTERRUPTED = 0.8
"""Flushes are missing only for a time if a turn has less than this share of the whole step's flushes per sync."""


class Proven(NamedTuple):
    """Steps whose flushes were counted, and the number of levels, from the top, at which they are proven to arrive."""

    steps: tuple[LevelAccounts, ...]
    depth: int

    @property
    def noisy(self) -> bool:
        """Whether the flushes of other processes cannot be told apart at the topmost level."""
        return any(accounts[0].outcome == "noisy" for accounts in self.steps)


class RunFlushes:
    def __init__(self, stack: Stack, steps: Steps, others: OtherWriters, configuration: Configuration) -> None:
        self._stack, self._steps, self._others, self._configuration = stack, steps, others, configuration
        self._accounts: dict[int, LevelAccounts] = {}

    def accounts(self, done: SyncStep) -> LevelAccounts:
        """Return the accounts of a step, even if the configuration explains missing flushes. They are computed once."""
        if id(done.step) not in self._accounts:
            self._accounts[id(done.step)] = self.compute(done)
        return self._accounts[id(done.step)]

    def compute(self, done: SyncStep) -> LevelAccounts:
        """Compute the accounts of a step that is not in the run, such as commits treated as syncs."""
        return accounts_of(self._stack, done, self._others)

    @cached_property
    def synced(self) -> tuple[LevelAccounts, ...]:
        """The accounts of the synced steps; empty if the configuration already explains missing flushes."""
        if self._configuration.breaks_sync:
            return ()
        return tuple(accounts for done in self._steps.synced if (accounts := self.accounts(done)))

    @cached_property
    def missing_flushes(self) -> tuple[FlushAccount, ...]:
        """For each step with missing flushes, the account of the topmost level that lacks them.

        If the whole step has enough, but a turn does not, it is the account of the turn with the fewest flushes. The
        whole step would hide a short interruption.
        """
        if self._configuration.breaks_sync:
            return ()
        by_one = (_topmost_missing(self.accounts(done)) or self._worst_turn(done) for done in self._steps.synced)
        by_several = (_topmost_missing(self.accounts(done)) for done in self._steps.synced_by_several)
        return tuple(account for account in (*by_one, *by_several) if account)

    @cached_property
    def missing_bytes(self) -> tuple[FlushAccount, ...]:
        return _missing_bytes(self.synced)

    @cached_property
    def buffering_loop(self) -> Node | None:
        """A loop device that answers O_DIRECT from the page cache."""
        return next((node for node in self._stack.nodes if node.value("dio") == "0"), None)

    @cached_property
    def not_direct(self) -> tuple[FlushAccount, ...]:
        """O_DIRECT steps without a sync whose bytes did not reach the device, because a layer kept them in memory.

        With a loop device without direct I/O, all such steps are returned: if their bytes arrived, the kernel wrote
        them back during the step by chance.
        """
        if self._configuration.breaks_sync:
            return ()
        steps = [accounts for accounts in map(self.accounts, self._steps.direct_alone) if accounts]
        if self.buffering_loop:
            return tuple(_topmost_lacking_bytes(accounts) or accounts[-1] for accounts in steps)
        return _missing_bytes(steps)

    @cached_property
    def withheld(self) -> tuple[Withheld, ...]:
        """Layers that received fstui's flushes and did not forward them, according to the trace; each pair once."""
        if not self._stack.levels:
            return ()
        top = self._stack.levels[0]
        found = (pair for done in self._steps.synced for pair in withheld(self._stack, top, done))
        return tuple({(pair.above.id, pair.below.id): pair for pair in found}.values())

    @cached_property
    def noisy(self) -> tuple[FlushAccount, ...]:
        return tuple(account for accounts in self.synced for account in accounts if account.others_wrote)

    @cached_property
    def proven(self) -> Proven | None:
        """The level down to which the syncs are known to arrive; None if flushes or bytes are missing, or none are
        expected.

        Steps with an exact number of expected flushes are preferred: if a filesystem may send one or two per sync, the
        difference may come from another process.
        """
        counted = tuple(accounts for accounts in self.synced if _is_counted(accounts[0]))
        if not counted or self.missing_flushes or self.missing_bytes:
            return None
        expected = [(accounts, accounts[0].arrival.expected) for accounts in counted]
        exact = tuple(accounts for accounts, flushes in expected if flushes and flushes.low == flushes.high)
        return Proven(exact or counted, _proven_depth(exact or counted))

    @cached_property
    def level(self) -> Level | None:
        """The level that the findings about flushes are about; the lowest if there are none.

        If the configuration breaks syncs, it is the level with the fewest flushes. Levels above the broken one send
        them, and levels below may count those of other processes.
        """
        counted = [account for done in self._steps.synced for account in self.accounts(done) if account.counted]
        if self._configuration.breaks_sync and counted:
            return fewest_flushes(counted).level
        if self.missing_flushes:
            return fewest_flushes(self.missing_flushes).level
        if self.missing_bytes:
            return fewest_bytes(self.missing_bytes).level
        proven = self.proven
        if proven and (proven.depth or proven.noisy):
            return self._stack.levels[max(proven.depth, 1) - 1]
        return next(reversed(self._stack.levels), None)

    @cached_property
    def complete_at_lowest(self) -> FlushAccount | None:
        """The account of the lowest level, in a step that is complete there by the counters."""
        return next((accounts[-1] for accounts in self.synced if accounts[-1].complete_by_counters), None)

    @property
    def bytes_complete_at_lowest(self) -> bool:
        last = (accounts[-1] for accounts in self.synced)
        return any(each.counted_bytes is not None and each.expected_bytes.low and not each.lacks_bytes for each in last)

    def counting_levels(self, step: Step) -> LevelAccounts:
        """Return the accounts of a synced step that have both counted and expected flushes."""
        accounts = next((accounts for accounts in self.synced if accounts[0].step is step), ())
        return tuple(account for account in accounts if account.expected and account.counted)

    def as_expected(self, step: Step) -> bool:
        accounts = self.counting_levels(step)
        return bool(accounts) and not any(account.outcome == "missing" for account in accounts)

    def per_sync(self, done: SyncStep) -> float | None:
        """Return the flushes per sync at the topmost level that counts them; None if no level does."""
        return next((account.per_sync for account in self.accounts(done) if account.counted), None)

    def is_temporary(self, missing: FlushAccount) -> bool:
        if missing.step not in self._steps.all:  # it is a turn of a step that has enough
            return True
        turns = next((self._missing_turns(done) for done in self._steps.synced if done.step is missing.step), ())
        fewer = any(turn and turn.per_sync < _INTERRUPTED * missing.per_sync for turn in turns)
        return fewer and None in turns

    def synced_by_flag(self, step: Step) -> bool:
        """Return whether a quiet device received a flush for each write, although no sync is visible (chattr +S)."""
        for node in self._stack.nodes:
            found = flush_counters(node, step)
            others = (self._others.flushes_per_s((node,)) or 0.0) * step.elapsed_s
            enough = found is not None and found.flushes is not None and found.flushes >= ENOUGH * step.ops
            if enough and others <= TOLERANCE * step.ops:
                return True
        return False

    def where_to_look(self, level: Level) -> str:
        """Return the next step if flushes or bytes are missing at that level."""
        depth = next((depth for depth, each in enumerate(self._stack.levels) if each is level), 0)
        if not depth:
            return words.LOOK_FOR_FILTER
        disk = words.devices(self._stack.levels[depth - 1].devices)
        return f"Look at what answers for {disk}: losetup --list shows a loop device's file, and whether DIO is on."

    @cached_property
    def few_per_sync(self) -> str:
        """``9 120 syncs a second, and no flush reached loop2``, of the worst step; empty if all have enough."""
        counted = [account for done in self._without_fua for account in self.accounts(done) if account.counted]
        worst = min(counted, key=lambda account: account.arrival.per_sync, default=None)
        if worst is None or worst.arrival.per_sync >= ENOUGH:
            return ""
        where, each = words.devices(worst.arrival.devices), ratio(worst.arrival.per_sync)
        reached = f"{each} flushes each reached {where}" if worst.arrival.flushes else f"no flush reached {where}"
        return f"{words.syncs_a_second(worst.syncs, worst.step)}, and {reached}"

    @cached_property
    def rate(self) -> str:
        """``few_per_sync``, or the rate of the step with most syncs; empty if nothing was synced."""
        most = max(self._without_fua, key=lambda done: done.syncs, default=None)
        return self.few_per_sync or (words.syncs_a_second(most.syncs, most.step) if most else "")

    @property
    def _without_fua(self) -> list[SyncStep]:
        """The synced steps whose flushes can be counted: devices do not count FUA writes."""
        return [done for done in self._steps.synced if not done.writes_fua]

    def _worst_turn(self, done: SyncStep) -> FlushAccount | None:
        missing = filter(None, self._missing_turns(done))
        return min(missing, key=lambda account: account.per_sync, default=None)

    def _missing_turns(self, done: SyncStep) -> tuple[FlushAccount | None, ...]:
        """Return for each turn of a step the account that lacks flushes; None for a turn with enough."""
        return tuple(_topmost_missing(self.compute(turn)) for turn in done.turns)


def _is_counted(account: FlushAccount) -> bool:
    counted = account.expected is not None and account.expected.low > 0 and account.counted is not None
    return counted or account.complete_by_trace


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
