"""The point where a long step's rate stopped being what it was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from statistics import median, quantiles
from typing import NamedTuple

from fstui.judge.facts.steps import SyncStep, has_rate
from fstui.model.steps import Step

SHORTEST_S = 10.0
"""What changes within a shorter step is noise, or seen by no other run."""
TIMES = 2.0
_NEXT_TO_NOTHING = 1e-3
BEFORE, AFTER = 5, 10
"""Stretches on either side of a change, at the least, of the usual sixty: what came after must have lasted."""
MOST = 1_000
"""Stretches: a timeline has 120 at the most (``latency.Timeline``), a damaged document any number."""
EXPLAINED = 0.5
"""Two medians must leave no more than this share of what one median leaves unexplained: noise keeps most of it."""


class RateChange(NamedTuple):
    """The rates before and after, and where the change was."""

    before_per_s: float
    after_per_s: float
    at_s: float
    after_bytes: int


def rate_change(synced: SyncStep) -> RateChange | None:
    """The one split of a long step's stretches that explains their rates best, if it is a change.

    It is one where the medians differ by more than 2 × and the middle halves of both sides stay apart: single stalls,
    and a rate that goes up and down, are none.
    """
    step, settings = synced
    if step.elapsed_s < SHORTEST_S or settings.ops_per_s or not has_rate(step):
        return None
    points = _stretches(step)
    rates = [per_s for _, _, per_s in points]
    logs = _logarithms(rates)
    at = min(range(1, len(rates)), key=lambda split: _spread(logs[:split]) + _spread(logs[split:]), default=0)
    before, after = rates[:at], rates[at:]
    if len(before) < BEFORE or len(after) < AFTER:
        return None
    if _spread(logs[:at]) + _spread(logs[at:]) > EXPLAINED * _spread(logs):
        return None
    low, high = sorted((before, after), key=median)
    if median(high) <= TIMES * median(low) or _quartiles(high)[0] <= _quartiles(low)[1]:
        return None
    done = sum(ops for _, ops, _ in points[:at])
    return RateChange(median(before), median(after), points[at][0], done * settings.block_bytes)


def _stretches(step: Step) -> list[tuple[float, int, float]]:
    """(start in s, operations, rate) of every stretch. One in which nothing ended has a rate of 0."""
    points = [point for point in step.timeline if point.t_s < step.elapsed_s]
    gaps = [later.t_s - point.t_s for point, later in pairwise(points)]
    width = min((gap for gap in gaps if gap > 0), default=0.0)
    if step.elapsed_s > MOST * width:
        return []
    ops = {round(point.t_s / width): point.ops for point in points}
    whole = int(step.elapsed_s / width)  # the last one is cut short, and tells no rate
    return [(at * width, ops.get(at, 0), ops.get(at, 0) / width) for at in range(whole)]


def _logarithms(rates: Sequence[float]) -> list[float]:
    """A rate changes by factors. A stretch in which next to nothing was done is not infinitely far from the others."""
    least = max(rates, default=0.0) * _NEXT_TO_NOTHING
    return [log(max(per_s, least)) for per_s in rates] if least else [0.0] * len(rates)


def _spread(values: Sequence[float]) -> float:
    """How far they are from their median, all together."""
    middle = median(values)
    return sum(abs(value - middle) for value in values)


def _quartiles(rates: Sequence[float]) -> tuple[float, float]:
    lower, _, upper = quantiles(rates, n=4, method="inclusive")
    return lower, upper
