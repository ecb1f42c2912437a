"""What is compared: one run, or the interleaved rounds of one, and how far it is from another.

Of rounds the middle one of a step stands for all, as it was measured. The interval is that of the rounds' own ratios,
lowest to highest: it misses the median of n rounds once in 2^(n-1) times, however they scatter (order statistics,
David and Nagaraja 2003, 7.1): with 5 rounds 1 in 16, with 6 of them 1 in 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from string import ascii_uppercase
from typing import NamedTuple

from fstui.model.judgement import NOT_DURABLE, VERDICTS
from fstui.model.run import Run
from fstui.model.steps import Step

MOST = len(ascii_uppercase)


class Measured(NamedTuple):
    """A step, in the round that stands for all."""

    run: Run
    step: Step


class Side(NamedTuple):
    """Rounds of one run, in their order; a single run is one round."""

    letter: str
    rounds: tuple[Run, ...]

    @property
    def run(self) -> Run:
        """Who speaks for all: the round with the worst verdict."""
        return min(self.rounds, key=lambda run: VERDICTS.index(run.verdict))

    @property
    def name(self) -> str:
        """``k3f9a1``; of several ``k3f9a1 ×5``."""
        first = self.rounds[0].id
        return first if len(self.rounds) == 1 else f"{first} ×{len(self.rounds)}"

    @property
    def durable(self) -> bool:
        """Nothing proves otherwise."""
        return self.run.verdict not in NOT_DURABLE

    def step(self, name: str) -> Measured | None:
        """That step of the round in the middle; None where no round has it."""
        found = [Measured(run, step) for run in self.rounds for step in run.steps if step.name == name]
        rated = [one for one in found if one.step.rate_per_s]
        ordered = sorted(rated or found, key=lambda one: one.step.rate_per_s)
        return ordered[(len(ordered) - 1) // 2] if ordered else None

    def rates(self, name: str) -> dict[int, float]:
        """Per second, by the number of the round; of rounds that measured none nothing."""
        return {
            run.round.number if run.round else 1: step.rate_per_s
            for run in self.rounds
            for step in run.steps
            if step.name == name and step.rate_per_s and step.settings.uniform
        }


class Ratio(NamedTuple):
    """How many times as fast, and the interval; of one run each there is none."""

    times: float
    low: float | None = None
    high: float | None = None
    rounds: int = 1

    @property
    def undecided(self) -> bool:
        """Neither is seen to be the faster one."""
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    def __str__(self) -> str:
        interval = "" if self.low is None else f" ({self.low:.2f}–{self.high:.2f})"
        return f"{self.times:.2f} ×{interval}"


def of(runs: Sequence[Run]) -> list[Side]:
    """In the order in which each was first named; rounds of one side of a series are one. No more than ``MOST``."""
    grouped: dict[object, list[Run]] = {}
    for at, run in enumerate(runs):
        key = (run.round.series, run.round.side) if run.round else at
        grouped.setdefault(key, []).append(run)
    ordered = (sorted(rounds, key=lambda run: run.round.number if run.round else 0) for rounds in grouped.values())
    return [Side(letter, tuple(rounds)) for letter, rounds in zip(ascii_uppercase, ordered, strict=False)]


def step_names(sides: Sequence[Side]) -> list[str]:
    """Of all of them, in their order."""
    return list(dict.fromkeys(step.name for side in sides for run in side.rounds for step in run.steps))


def ratio(first: Side, other: Side, name: str) -> Ratio | None:
    """How many times as fast as the first one the other is in that step; None where one has not measured it.

    Rounds of one series are held against each other one by one. Of others, which did not alternate, the interval
    spans each against each.
    """
    if first is other:
        return Ratio(1.0) if first.rates(name) else None
    before, after = first.rates(name), other.rates(name)
    if not before or not after:
        return None
    paired = before.keys() & after.keys() if _alternated(first, other) else ()
    each = [after[at] / before[at] for at in paired] or [b / a for a in before.values() for b in after.values()]
    times = median_low(after.values()) / median_low(before.values())  # of the rounds that stand for all
    rounds = min(len(before), len(after))
    return Ratio(times, min(each), max(each), rounds) if rounds > 1 else Ratio(times)


def _alternated(first: Side, other: Side) -> bool:
    a, b = first.rounds[0].round, other.rounds[0].round
    return a is not None and b is not None and a.series == b.series
