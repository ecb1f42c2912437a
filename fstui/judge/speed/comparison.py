"""What every yardstick makes of the steps: too slow by it, as it should be, or neither."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep, has_rate
from fstui.model.quantities import duration_ns, rate
from fstui.model.steps import Step

FEW_SYNCS, LONG_ENOUGH_S = 5, 0.5
"""Syncs that are a rate where they took so long: of a disk at 10/s a check of two seconds sees 14. What held up a
shorter step may be over by now."""
CPU_BELOW = 4
"""The kernel's threads that carry a write down want a CPU too: so many times as long as its writer may be lost."""


class Comparison(NamedTuple):
    """One step beside one yardstick."""

    step: Step
    slow_below_per_s: float
    normal_from_per_s: float
    evidence: str
    """What it is held against, with its number: ``the slowest has 83/s``."""
    paced: bool = False
    """Its rate is its pace: what counts is how long each operation took."""

    @property
    def per_s(self) -> float:
        """So many as fit, one after another."""
        whole = self.step.latency_ns
        return 1e9 / max(1, whole.mean) if self.paced and whole else self.step.rate_per_s

    @property
    def slow(self) -> bool:
        return self.per_s < self.slow_below_per_s

    @property
    def normal(self) -> bool:
        return self.per_s >= self.normal_from_per_s

    def slow_without(self, lost_ns: int) -> bool:
        """It would be with the time in which its writer had no CPU taken out, and that of the kernel's threads."""
        left_s = self.step.elapsed_s - CPU_BELOW * lost_ns / 1e9
        return left_s > 0 and not self.paced and self.step.ops / left_s < self.slow_below_per_s

    @property
    def did(self) -> str:
        """``840/s``, or ``1.2 ms each``."""
        return f"{duration_ns(1e9 / self.per_s)} each" if self.paced else f"{rate(self.per_s)}/s"

    @property
    def line(self) -> str:
        return f"{self.step.name}: {self.did}; {self.evidence}"


class Yardstick(NamedTuple):
    """All steps beside one yardstick."""

    name: str
    """``53 published on ssd``"""
    comparisons: tuple[Comparison, ...]

    @property
    def slow(self) -> bool:
        """Half of the steps or more: a single one may have met somebody else's work."""
        return bool(self.comparisons) and 2 * sum(one.slow for one in self.comparisons) >= len(self.comparisons)

    @property
    def normal(self) -> bool:
        return bool(self.comparisons) and 2 * sum(one.normal for one in self.comparisons) > len(self.comparisons)

    @property
    def worst(self) -> Comparison:
        """The step that is furthest below."""
        return min(self.comparisons, key=lambda one: one.per_s / one.normal_from_per_s)


def rated(case: Case) -> Iterable[SyncStep]:
    """The steps whose times are the storage's: synced one by one, by one writer."""
    return (done for done in case.steps.measured if done.call and has_rate(done.step) and _is_rate(done))


def _is_rate(done: SyncStep) -> bool:
    return done.syncs >= MIN_SYNCS or (done.syncs >= FEW_SYNCS and done.step.elapsed_s >= LONG_ENOUGH_S)
