"""What arrived of every step on its way down the stack, and how far down it proves anything."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.composition import flush_counters
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.flushes import ENOUGH, TOLERANCE, FlushAccount, accounts_of, fewest_bytes, fewest_flushes
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import Steps, SyncStep
from fstui.judge.facts.traced import Withheld, of_ours, withheld
from fstui.model.quantities import ratio
from fstui.model.steps import Step
from fstui.storage.layers.flushes import Range

WayDown = tuple[FlushAccount, ...]
"""What every level received of one step, topmost first."""
_LAPSED = 0.8
"""A turn with less than this share of what the whole step has for each sync, beside turns that have theirs."""


class Proven(NamedTuple):
    """The steps with an exact count, and how many levels of them, from the top, are proven."""

    ways: tuple[WayDown, ...]
    depth: int

    @property
    def noisy(self) -> bool:
        """In one of them somebody else's writes cannot be told from ours at the topmost level."""
        return any(way[0].outcome == "noisy" for way in self.ways)


class RunFlushes:
    """The ways down of the measured steps."""

    def __init__(self, stack: Stack, steps: Steps, others: OtherWriters, configuration: Configuration) -> None:
        self._stack, self._steps, self._others, self._configuration = stack, steps, others, configuration
        self._counted: dict[int, WayDown] = {}

    def of(self, done: SyncStep) -> WayDown:
        """That step's way down, whatever the configuration says."""
        if id(done.step) not in self._counted:
            self._counted[id(done.step)] = accounts_of(self._stack, done, self._others)
        return self._counted[id(done.step)]

    def of_commits(self, done: SyncStep) -> WayDown:
        """The same of a step that was made up of another: the commits of a database as syncs."""
        return accounts_of(self._stack, done, self._others)

    @cached_property
    def synced(self) -> tuple[WayDown, ...]:
        """Those of the synced steps. None where the configuration already tells why nothing arrives."""
        if self._configuration.breaks_sync:
            return ()
        return tuple(way for done in self._steps.synced if (way := self.of(done)))

    @cached_property
    def lacking_flushes(self) -> tuple[FlushAccount, ...]:
        """The topmost level of each step at which flushes are missing: what is below it merely passes that on.

        Where the whole step has them, that of its turn with the fewest: a lapse hides in the rest.
        """
        if self._configuration.breaks_sync:
            return ()
        alone = (_topmost_lacking(self.of(done)) or self._lapse(done) for done in self._steps.synced)
        together = (_topmost_lacking(self.of(done)) for done in self._steps.synced_by_several)
        return tuple(account for account in (*alone, *together) if account)

    @cached_property
    def lacking_bytes(self) -> tuple[FlushAccount, ...]:
        """The topmost level of each step at which bytes are missing."""
        return _lacking_bytes(self.synced)

    @cached_property
    def not_direct(self) -> tuple[FlushAccount, ...]:
        """O_DIRECT steps without a sync whose bytes stayed above the device: some layer kept them in memory."""
        if self._configuration.breaks_sync:
            return ()
        return _lacking_bytes(tuple(map(self.of, self._steps.direct_alone)))

    @cached_property
    def withheld(self) -> tuple[Withheld, ...]:
        """Layers that the trace saw asked for our flushes and not pass them on; each pair once."""
        if not self._stack.levels:
            return ()
        top = self._stack.levels[0]
        found = (pair for done in self._steps.synced for pair in withheld(self._stack, top, done))
        return tuple({(pair.above.id, pair.below.id): pair for pair in found}.values())

    @cached_property
    def of_ours(self) -> tuple[str, ...]:
        """A line for the step with most syncs, where the trace saw fewer flushes of ours than that."""
        top = next(iter(self._stack.levels), None)
        most = max(self._steps.synced, key=lambda done: done.syncs, default=None)
        line = of_ours(self._stack, top, most) if top and most else None
        return (line,) if line else ()

    @cached_property
    def few_flushes(self) -> str:
        """``9 120 syncs a second, 0.00 flushes each at loop2``: of the step with the fewest flushes for each sync.

        Not of forced writes, which need none. Empty where none had too few.
        """
        counts = [account for each in self._unforced for account in self.of(each) if account.counted]
        worst = min(counts, key=lambda account: account.sent.each, default=None)
        if worst is None or worst.sent.each >= ENOUGH:
            return ""
        where = words.devices(worst.sent.devices)
        return f"{words.syncs_a_second(worst.syncs, worst.step)}, {ratio(worst.sent.each)} flushes each at {where}"

    @cached_property
    def came_to(self) -> str:
        """What syncs came to where the configuration tells why; empty where none synced."""
        most = max(self._unforced, key=lambda done: done.syncs, default=None)
        return self.few_flushes or (words.syncs_a_second(most.syncs, most.step) if most else "")

    @property
    def came_to_aside(self) -> str:
        """The same in brackets, after a blank."""
        return f" ({self.came_to})" if self.came_to else ""

    @property
    def returned_early(self) -> str:
        """The same, or what it would come to."""
        return self.came_to or "a sync returns before the data is safe"

    @property
    def _unforced(self) -> list[SyncStep]:
        return [done for done in self._steps.synced if not done.forced]

    @cached_property
    def noisy(self) -> tuple[FlushAccount, ...]:
        """The accounts in which somebody else's writes cannot be told from ours."""
        return tuple(account for way in self.synced for account in way if account.others_wrote)

    @cached_property
    def proven(self) -> Proven | None:
        """How far down the syncs are known to have arrived; None where none is expected to get a flush, or something is
        missing.

        Where the filesystem may send one flush or two, a neighbour can hide in the difference, so an exact count goes
        before such a one.
        """
        expecting = tuple(way for way in self.synced if _expects(way[0]))
        if not expecting or self.lacking_flushes or self.lacking_bytes:
            return None
        exact = tuple(way for way in expecting if _is_exact(way[0].sent.expected))
        return Proven(exact or expecting, _proven_depth(exact or expecting))

    @cached_property
    def level(self) -> Level | None:
        """The level of the stack that the finding about accounts speaks of; where there is none, the lowest.

        Where the configuration breaks syncs, the one that received the fewest of them: what is above a stack's broken
        level sends them, and what is below it may hear its neighbours.
        """
        if self._configuration.breaks_sync and self._counts:
            return fewest_flushes(self._counts).level
        if self.lacking_flushes:
            return fewest_flushes(self.lacking_flushes).level
        if self.lacking_bytes:
            return fewest_bytes(self.lacking_bytes).level
        told = self.proven
        if told and (told.depth or told.noisy):
            return self._stack.levels[max(told.depth, 1) - 1]
        return next(reversed(self._stack.levels), None)

    @cached_property
    def at_the_bottom(self) -> FlushAccount | None:
        """The lowest level, in a step whose flushes and bytes all arrived there, and nobody else can have sent them."""
        return next((way[-1] for way in self.synced if way[-1].proves_by_counters), None)

    @property
    def bytes_at_the_bottom(self) -> bool:
        """All that was synced in some step was counted at the lowest level, whatever was expected there."""
        last = (way[-1] for way in self.synced)
        return any(each.written is not None and each.requested.low and not each.lacks_bytes for each in last)

    def for_a_time(self, lacking: FlushAccount) -> bool:
        """They were missing in a turn, or in the whole step since one of its turns lapsed and another did not."""
        turns = next((self._turns_lacking(done) for done in self._steps.synced if done.step is lacking.step), ())
        lapsed = any(turn and turn.per_sync < _LAPSED * lacking.per_sync for turn in turns)
        return lacking.step not in self._steps.all or (lapsed and None in turns)

    def _turns_lacking(self, done: SyncStep) -> tuple[FlushAccount | None, ...]:
        return tuple(_topmost_lacking(accounts_of(self._stack, turn, self._others)) for turn in done.turns)

    def _lapse(self, done: SyncStep) -> FlushAccount | None:
        return min(filter(None, self._turns_lacking(done)), key=lambda account: account.per_sync, default=None)

    @property
    def _counts(self) -> tuple[FlushAccount, ...]:
        """Of every synced step, whatever the configuration says: the levels that count flushes."""
        return tuple(account for done in self._steps.synced for account in self.of(done) if account.counted)

    @property
    def arrived(self) -> bool:
        """The syncs are known to have arrived as the flushes expected, as far down as one level at the least."""
        return self.proven is not None and self.proven.depth > 0

    def counting_levels(self, step: Step) -> WayDown:
        """The levels that count flushes and a known number of which is expected, in that synced step."""
        way = next((way for way in self.synced if way[0].step is step), ())
        return tuple(account for account in way if account.expected and account.counted)

    def as_expected(self, step: Step) -> bool:
        """Its syncs were counted, and arrived as the flushes that the filesystem is expected to send."""
        way = self.counting_levels(step)
        return bool(way) and not any(account.outcome == "missing" for account in way)

    def flushes_each(self, done: SyncStep) -> float | None:
        """Flushes per sync at the topmost level that counts them; None where none does."""
        return next((account.per_sync for account in self.of(done) if account.counted), None)

    def synced_out_of_sight(self, step: Step) -> bool:
        """As many flushes as writes reached a device that was quiet before: syncs may be out of sight (chattr +S)."""
        for node in self._stack.nodes:
            found = flush_counters(node, step)
            others = (self._others.flushes_per_s((node,)) or 0.0) * step.elapsed_s
            enough = found is not None and found.flushes is not None and found.flushes >= ENOUGH * step.ops
            if enough and others <= TOLERANCE * step.ops:
                return True
        return False


def _expects(account: FlushAccount) -> bool:
    """It is expected flushes, and they were counted, or seen."""
    counted = account.expected is not None and account.expected.low > 0 and account.counted is not None
    return counted or account.proves_by_trace


def _is_exact(expected: Range | None) -> bool:
    return expected is not None and expected.low == expected.high


def _topmost_lacking(way: WayDown) -> FlushAccount | None:
    return next((account for account in way if account.outcome == "missing"), None)


def _lacking_bytes(ways: tuple[WayDown, ...]) -> tuple[FlushAccount, ...]:
    topmost = (next((account for account in way if account.lacks_bytes), None) for way in ways)
    return tuple(account for account in topmost if account)


def _proven_depth(ways: tuple[WayDown, ...]) -> int:
    """How many levels, from the top, more steps prove than others' writes spoil."""
    depth = 0
    for level in zip(*ways, strict=True):
        if sum(account.outcome == "complete" for account in level) <= sum(
            account.outcome == "noisy" for account in level
        ):
            break
        depth += 1
    return depth
