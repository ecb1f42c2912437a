"""The chart of latency over time, for all formats and screens: logarithmic, with density as shade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from math import ceil, floor, log10
from statistics import median
from typing import NamedTuple

from fstui.judge import Case
from fstui.judge.facts.rotation import revolution_ns
from fstui.judge.references import comparable, operation_of, published
from fstui.measure.kinds import StepSettings
from fstui.measure.latency import stall_limit_ns
from fstui.model.run import Evidence
from fstui.model.settings import Settings
from fstui.model.steps import Latency, Step, TimelinePoint

QUARTER_OCTAVE = 2**0.25
"""The largest width of a cell of ``TimelinePoint.spread``."""
_ENOUGH_PUBLISHED = 3
_FAR = 30
"""A mark that is this many times beyond the measured latencies does not extend the axis."""


class Mark(NamedTuple):
    """A latency with a name: a percentile, or a reference for the step."""

    name: str
    ns: float


class LogScale(NamedTuple):
    """A logarithmic axis between two positive values."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return 0 at the lower end and below, 1 at the upper end and above."""
        if value <= self.low:
            return 0.0
        return min(log10(value / self.low) / log10(self.high / self.low), 1.0)

    def value(self, place: float) -> float:
        """Return the value at a place from 0 to 1."""
        return float(self.low * (self.high / self.low) ** place)

    def holds(self, value: float) -> bool:
        """Return whether the value lies between the ends."""
        return self.low <= value <= self.high

    def decades(self) -> range:
        """Return the exponents of the powers of ten between the ends."""
        return range(ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9) + 1)


def is_stall(ns: float, latency: Latency | None) -> bool:
    """Return whether a step counts this latency as a stall."""
    return ns > stall_limit_ns(latency.p50 if latency else 0)


class Slice(NamedTuple):
    """One interval: its start and end, and cells of (lower ns, upper ns, share of its operations)."""

    start_s: float
    end_s: float
    cells: tuple[tuple[float, float, float], ...]


def slices(timeline: Sequence[TimelinePoint], alone_s: float = 1.0) -> Iterator[Slice]:
    """Return the intervals in which operations ended. Documents without a spread have a p50 and a maximum."""
    for point, end_s in with_ends(timeline, alone_s):
        if point.ops and (cells := point.spread or _outline(point)):
            total = sum(count for _, count in cells)
            yield Slice(
                point.t_s,
                end_s,
                tuple((upper / QUARTER_OCTAVE, float(upper), count / total) for upper, count in cells),
            )


def with_ends(timeline: Sequence[TimelinePoint], alone_s: float) -> Iterator[tuple[TimelinePoint, float]]:
    """Return each interval with its end: the start of the next one, unless intervals are missing in between.

    Times are rounded to milliseconds, so intervals of equal length differ a little. ``alone_s`` is the length of a
    single interval.
    """
    steps = [b.t_s - a.t_s for a, b in pairwise(timeline) if b.t_s > a.t_s]
    stretch_s = min(steps, default=alone_s)
    for point, after in zip_longest(timeline, timeline[1:]):
        near = after is not None and after.t_s - point.t_s < 1.5 * stretch_s
        yield point, after.t_s if near else point.t_s + stretch_s


def axis(timeline: Sequence[TimelinePoint], marks: Sequence[Mark] = (), stall_ns: float = 0) -> LogScale:
    """Return an axis of at least one decade around everything measured.

    Its ends are 1, 2 or 5 times a power of ten, so that they seldom move while a step runs.
    """
    seen = [ns for piece in slices(timeline) for lower, upper, _ in piece.cells for ns in (lower, upper)]
    if not seen:
        return LogScale(1e4, 1e8)
    lowest, highest = min(seen), max(*seen, stall_ns)
    near = [mark.ns for mark in marks if lowest / _FAR < mark.ns < highest * _FAR]
    low, high = _edges(max(min([lowest * 1.02, *near]), 1))[0], _edges(max([highest, *near]))[1]
    return LogScale(low, max(high, low * 10))


def _edges(ns: float) -> tuple[float, float]:
    """Return the nearest of 1, 2, 5, 10 … below and above."""
    power = 10.0 ** floor(log10(ns))
    edges = [power * step for step in (1, 2, 5, 10)]
    return max(edge for edge in edges if edge <= ns * 1.000001), min(edge for edge in edges if edge >= ns * 0.999999)


def ladder(latency: Latency | None) -> tuple[Mark, ...]:
    """Return the percentiles, the most informative first."""
    if latency is None:
        return ()
    known = (("p50", latency.p50), ("max", latency.max), ("p99", latency.p99), ("p99.9", latency.p99_9))
    return tuple(Mark(name, ns) for name, ns in (*known, ("p90", latency.p90)) if ns is not None)


def marks(evidence: Evidence, name: str, settings: Settings) -> tuple[Mark, ...]:
    """Return what a step is compared with: a revolution, its last run, published rates, and the idle device."""
    case = Case(evidence)
    found = [Mark("limit", ns) for ns in _turns(case, settings)]
    before = (run.mean_ns.get(name) for run in evidence.before[:1])
    found += [Mark("last", ns) for ns in before if ns]
    found += [Mark("publ.", ns) for ns in _published(case, settings)]
    return tuple(found + [Mark("idle", ns) for ns in _at_rest(evidence)])


def of_step(evidence: Evidence, step: Step) -> tuple[Mark, ...]:
    """Return the marks of a finished step."""
    return marks(evidence, step.name, step.settings)


def _outline(point: TimelinePoint) -> tuple[tuple[int, int], ...]:
    known = ((point.p50_ns, max(point.ops - 1, 1)), (point.max_ns, 1))
    return tuple((ns, count) for ns, count in known if ns)


def _turns(case: Case, settings: Settings) -> Iterator[float]:
    """Return one revolution of the slowest disk, if one block is rewritten: it passes the head once in that time."""
    turns = [revolution_ns(node.medium) for node in case.stack.lowest if node.medium]
    known = [turn for turn in turns if turn]
    if settings.rewrites_one_block and known:
        yield max(known)


def _published(case: Case, settings: Settings) -> Iterator[float]:
    """Return the median of the rates published for this operation on this class of medium."""
    asked = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
    operation, media = (operation_of(asked) if asked else None), comparable(case.commit_media)
    rates = [one.per_s for one in published(operation, media)] if operation and media else []
    if len(rates) >= _ENOUGH_PUBLISHED:
        yield 1e9 / median(rates)


def _at_rest(evidence: Evidence) -> Iterator[float]:
    """Return the duration of a flush by other processes on the lowest device, while fstui was idle."""
    lowest = {node.id for node in evidence.target.lowest} if evidence.target else set()
    for device in evidence.idle.counters if evidence.idle else ():
        if device.device in lowest and device.flushes and device.flush_ms:
            yield device.flush_ms * 1e6 / device.flushes
            return
