"""The point at which the rate of a long step changed permanently."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from statistics import median, quantiles
from typing import NamedTuple

from fstui.judge.facts.steps import SyncStep, has_rate
from fstui.model.steps import Step

MIN_S = 10.0
"""Changes within a shorter step are noise."""
TIMES = 2.0
_NEXT_TO_NOTHING = 1e-3
BEFORE, AFTER = 5, 10
"""Least number of intervals before and after a change, of about sixty. The later rate has to last longer."""
MAX_INTERVALS = 1_000
"""Most intervals to examine. A timeline has at most 120 (``latency.Timeline``), but a damaged document any number."""
EXPLAINED = 0.5
"""There is a change if the deviations from two medians, before and after it, are at most this share of the deviations
from a single median. In noise, the share is larger."""


class RateChange(NamedTuple):
    before_per_s: float
    after_per_s: float
    at_s: float
    after_bytes: int


def rate_change(synced: SyncStep) -> RateChange | None:
    """Return the split of a long step's intervals that fits their rates best, if it is a change.

    The medians have to differ by more than a factor of 2, and the middle halves must not overlap. Single stalls, and a
    rate that goes up and down, are no change.
    """
    step, settings = synced
    if step.elapsed_s < MIN_S or settings.ops_per_s or not has_rate(step):
        return None
    points = _intervals(step)
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


def _intervals(step: Step) -> list[tuple[float, int, float]]:
    """Return (start in s, operations, rate) of every interval. One without a completed operation has a rate of 0."""
    points = [point for point in step.timeline if point.t_s < step.elapsed_s]
    gaps = [later.t_s - point.t_s for point, later in pairwise(points)]
    width = min((gap for gap in gaps if gap > 0), default=0.0)
    if step.elapsed_s > MAX_INTERVALS * width:
        return []
    ops = {round(point.t_s / width): point.ops for point in points}
    whole = int(step.elapsed_s / width)  # the last interval is incomplete
    return [(at * width, ops.get(at, 0), ops.get(at, 0) / width) for at in range(whole)]


def _logarithms(rates: Sequence[float]) -> list[float]:
    """Return the logarithms, since a rate changes by factors. A minimum keeps idle intervals at a finite distance."""
    least = max(rates, default=0.0) * _NEXT_TO_NOTHING
    return [log(max(per_s, least)) for per_s in rates] if least else [0.0] * len(rates)


def _spread(values: Sequence[float]) -> float:
    middle = median(values)
    return sum(abs(value - middle) for value in values)


def _quartiles(rates: Sequence[float]) -> tuple[float, float]:
    lower, _, upper = quantiles(rates, n=4, method="inclusive")
    return lower, upper
