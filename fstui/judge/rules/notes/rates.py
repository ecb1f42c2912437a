"""Rates and latencies that are worth a note."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log
from statistics import median, quantiles
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import WriteStep, has_rate
from fstui.model.quantities import count, duration_ns, rate, seconds, size
from fstui.model.steps import Step

MIN_STEP_S = 10.0
"""Changes within a shorter step are not reported, because they may be noise."""
MIN_FACTOR = 2.0
"""The rate has changed if the medians before and after differ by more than this factor."""
_IDLE_SHARE = 1e-3
"""The rate of an interval without an operation counts as this share of the highest rate: 0 has no logarithm."""
MIN_INTERVALS_BEFORE, MIN_INTERVALS_AFTER = 5, 10
"""Minimum numbers of intervals before and after the change. A step has 60 to 120 intervals."""
MAX_INTERVALS = 1_000
"""A timeline has at most 120 intervals (``latency.Timeline``), but a damaged document may have any number."""
MAX_UNEXPLAINED = 0.5
"""The deviations from two medians (before and after the change) may be at most this share of the deviations from a
single median. In noise, the share is larger."""


@rule(order=130, precedes_verdict=True)
def sync_latency(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    The step made a fixed number of synced writes per second, so its rate says nothing about the disk. Look at the
    latency of the writes: the median (p50), the p99 (if there are at least 100 operations) and the longest.

    ## How it was measured
    fstui made one write at a time. With the monotonic clock, it measured the time from the start of the write to the
    end of its sync.

    ## What it proves, and what it does not
    Other processes may have used the disk during this time. The latency says nothing about durability.

    ## What to do next
    To see the effect of a change, keep the scenario running while you make it. If the longest operation took far longer
    than the p50:

    - If requests were in flight at the device during that time, look at the device or its host.
    - If none were in flight, look at the filesystem's journal or at an I/O limit.
    """
    if case.evidence.rate_limit or case.configuration.stub_signs:  # a limit or a stub decides the latency
        return
    for write_step in case.steps.measured:
        step, latency = write_step.step, write_step.step.latency_ns
        if write_step.settings.ops_per_s and write_step.sync_method and latency:
            p50, worst = duration_ns(latency.p50), duration_ns(latency.max)
            p99 = f", p99 {duration_ns(latency.p99)}" if latency.p99 is not None else ""
            yield Conclusion(
                title=f"p50 {p50}{p99}, worst {worst}",
                sentence=f"A write with its sync took {p50} (p50{p99}), at worst {worst}, in {count(write_step.syncs)} "
                f"syncs during {words.time_measured([step])}.",
                scope="step",
                steps=[step],
                evidence=(f"{step.name}: p50 {p50}{p99}, max {worst}",),
            )


@rule(order=90)
def rate_changed(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    The rate of a long step changed and did not change back: "fell from 7 400/s to 28/s after 3.1 GiB". Typical causes
    are burst credits, a fast (SLC) cache on the drive, or a log device that drains to a slow disk.

    ## How it was measured
    The step consists of 60 to 120 intervals. fstui splits them into two parts, so that the rates deviate as
    little as possible from the median of their part. The rate changed if all of these are true:

    - The step lasted at least 10 s. At least five intervals are before the change, and at least ten are after it.
    - The medians differ by more than a factor of 2.
    - The interquartile ranges (the middle halves of the rates) of the two parts do not overlap.
    - The rates deviate from the median of their part at most half as much as from the median of the whole step.

    ## What it proves, and what it does not
    If the rate fell, plan with the later rate: the earlier one does not last. fstui does not report single stalls, or a
    rate that goes up and down. To see slower changes, run for longer.

    ## What to do next
    Run the scenario named `sustained` for as long as your busiest period lasts:
    `fstui run sustained DIR --set seconds=3600`.
    """
    if case.evidence.rate_limit:  # fstui paused for other processes, and that may explain the change
        return
    for write_step in case.steps.measured:
        step, change = write_step.step, rate_change(write_step)
        if change:
            before, after, elapsed = rate(change.before_per_s), rate(change.after_per_s), seconds(change.start_s)
            fell = change.after_per_s < change.before_per_s
            change_text = f"{'fell' if fell else 'rose'} from {before}/s to {after}/s after {size(change.bytes_before)}"
            meaning = (
                "Burst credits, a fast cache on the drive or a log device may be used up: plan with the later rate."
                if fell
                else "A cause such as another writer, a rebuild or a limit may have ended."
            )
            yield Conclusion(
                title=change_text,
                sentence=f"{step.name} {change_text}, {elapsed} into {words.time_measured([step])}, and stayed there. "
                f"{meaning}",
                scope="step",
                steps=[step],
                evidence=(
                    f"{step.name}: median {before}/s in the first {elapsed}",
                    f"{step.name}: median {after}/s after that",
                ),
            )


class RateChange(NamedTuple):
    before_per_s: float
    after_per_s: float
    start_s: float
    bytes_before: int


def rate_change(write_step: WriteStep) -> RateChange | None:
    """Split the intervals of a long step where two medians fit the rates best. Return None if there is no change."""
    step, settings = write_step
    if step.elapsed_s < MIN_STEP_S or settings.ops_per_s or not has_rate(step):
        return None
    width_s, ops = _intervals(step)
    rates = [number / width_s for number in ops]
    logs = _logarithms(rates)
    split = min(range(1, len(rates)), key=lambda index: _spread(logs[:index]) + _spread(logs[index:]), default=0)
    before, after = rates[:split], rates[split:]
    if len(before) < MIN_INTERVALS_BEFORE or len(after) < MIN_INTERVALS_AFTER:
        return None
    if _spread(logs[:split]) + _spread(logs[split:]) > MAX_UNEXPLAINED * _spread(logs):
        return None
    low, high = sorted((before, after), key=median)
    if median(high) <= MIN_FACTOR * median(low) or _quartiles(high)[0] <= _quartiles(low)[1]:
        return None
    return RateChange(median(before), median(after), split * width_s, sum(ops[:split]) * settings.block_bytes)


def _intervals(step: Step) -> tuple[float, list[int]]:
    """Return the length of an interval in s, and the operations of each complete interval, even of an empty one."""
    points = [point for point in step.timeline if point.t_s < step.elapsed_s]
    gaps = [later.t_s - point.t_s for point, later in pairwise(points)]
    width = min((gap for gap in gaps if gap > 0), default=0.0)
    if step.elapsed_s > MAX_INTERVALS * width:
        return width, []
    ops = {round(point.t_s / width): point.ops for point in points}
    return width, [ops.get(index, 0) for index in range(int(step.elapsed_s / width))]


def _logarithms(rates: Sequence[float]) -> list[float]:
    """Return the logarithms, because rates change by factors. A minimum replaces the rate of an idle interval."""
    minimum = max(rates, default=0.0) * _IDLE_SHARE
    return [log(max(per_s, minimum)) for per_s in rates] if minimum else [0.0] * len(rates)


def _spread(values: Sequence[float]) -> float:
    middle = median(values)
    return sum(abs(value - middle) for value in values)


def _quartiles(rates: Sequence[float]) -> tuple[float, float]:
    lower, _, upper = quantiles(rates, n=4, method="inclusive")
    return lower, upper
