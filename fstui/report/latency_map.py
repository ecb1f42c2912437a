"""A map of latency over time: its logarithmic axis, cells, reference values, and its SVG drawing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from math import ceil, floor, log10
from statistics import median
from typing import NamedTuple

from fstui.judge import Case
from fstui.judge.facts.rotation import slowest_revolution_ns
from fstui.judge.references import comparable_media, find_published, operation_of
from fstui.measure.kinds import StepSettings
from fstui.measure.latency import stall_limit_ns
from fstui.model.quantities import duration_ns
from fstui.model.run import Evidence
from fstui.model.settings import Settings
from fstui.model.steps import Latency, Step, TimelinePoint
from fstui.report.figures import lowest_counters

QUARTER_OCTAVE = 2**0.25
"""The ratio between the upper and the lower end of a cell of ``TimelinePoint.spread``."""
REVOLUTION, HALF_REVOLUTION = "revolution", "half rev."
LAST_RUN, PUBLISHED, IDLE_FLUSH = "last run", "published", "idle flush"
REFERENCES = (REVOLUTION, HALF_REVOLUTION, LAST_RUN, PUBLISHED, IDLE_FLUSH)
"""The names of reference values. The help of the run screen explains them."""
MIN_OPS = 50
"""A share is of at least this many operations. In a period with few operations, each alone would be a large share."""
_MIN_PUBLISHED = 3
"""Fewer published results have no useful median."""
_MAX_DISTANCE = 30
"""The axis includes a reference value only if it is within this factor of the measured values."""
_LEFT, _RIGHT, _TOP, _WIDTH, _HEIGHT = 62, 150, 8, 620, 220
_LINE_HEIGHT = 13
"""Sizes of the SVG drawing in pixels."""


class Mark(NamedTuple):
    """A latency with a name: a percentile, or a reference value."""

    name: str
    ns: float


class LogScale(NamedTuple):
    low: float
    high: float

    def position(self, value: float) -> float:
        """Return the position of a value: 0 at the lower end and below, 1 at the upper end and above."""
        if value <= self.low:
            return 0.0
        return min(log10(value / self.low) / log10(self.high / self.low), 1.0)

    def value(self, place: float) -> float:
        return float(self.low * (self.high / self.low) ** place)

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self) -> list[float]:
        """Return the powers of ten in the range; with fewer than two powers, also twice and five times each power."""
        powers = range(floor(log10(self.low) - 1e-9), ceil(log10(self.high) + 1e-9))
        for steps in ((1,), (1, 2, 5)):
            values = [step * 10.0**power for power in powers for step in steps]
            values = [value for value in values if self.low * 0.999999 <= value < self.high * 0.999999]
            if len(values) > 1:
                break
        return values


def is_stall(ns: float, latency: Latency | None) -> bool:
    return ns > stall_limit_ns(latency.p50 if latency else 0)


class Slice(NamedTuple):
    """A period of time. Its cells are (lower ns, upper ns, share of the operations in about this time)."""

    start_s: float
    end_s: float
    cells: tuple[tuple[float, float, float], ...]


def slices(timeline: Sequence[TimelinePoint], single_s: float = 1.0) -> Iterator[Slice]:
    """Yield the periods in which operations ended. Old documents contain only the median and maximum of a period.

    Consecutive periods with fewer than ``MIN_OPS`` operations share one distribution.
    """
    group: list[tuple[TimelinePoint, float]] = []
    counts: Counter[int] = Counter()
    for point, end_s in with_ends(timeline, single_s):
        if point.ops and (cells := point.spread or _outline(point)):
            group.append((point, end_s))
            for upper, number in cells:
                counts[upper] += number
            if counts.total() >= MIN_OPS:
                yield from _slices(group, counts)
                group, counts = [], Counter()
    yield from _slices(group, counts)


def _slices(group: Sequence[tuple[TimelinePoint, float]], counts: Counter[int]) -> Iterator[Slice]:
    total = max(counts.total(), MIN_OPS)
    for point, end_s in group:
        # the highest cell ends at the maximum: its nominal end would show operations that took longer
        cells = point.spread or _outline(point)
        tops = ((float(min(upper, point.max_ns or upper)), counts[upper]) for upper, _ in cells)
        yield Slice(point.t_s, end_s, tuple((top / QUARTER_OCTAVE, top, number / total) for top, number in tops))


def with_ends(timeline: Sequence[TimelinePoint], single_s: float) -> Iterator[tuple[TimelinePoint, float]]:
    """Yield each point with its end, normally the start of the next one. ``single_s``: the length of a single point."""
    distances_s = [later.t_s - point.t_s for point, later in pairwise(timeline) if later.t_s > point.t_s]
    period_s = min(distances_s, default=single_s)
    for point, next_point in zip_longest(timeline, timeline[1:]):
        # Times are rounded to milliseconds, so periods of equal length differ slightly.
        adjacent = next_point is not None and next_point.t_s - point.t_s < 1.5 * period_s
        yield point, next_point.t_s if adjacent else point.t_s + period_s


def axis(timeline: Sequence[TimelinePoint], marks: Sequence[Mark] = (), stall_ns: float = 0) -> LogScale:
    """Return an axis of at least one decade around everything measured."""
    # of each period only two values, because a timeline of hours has thousands of cells
    edges_ns = [(min(piece.cells)[0], max(upper for _, upper, _ in piece.cells)) for piece in slices(timeline)]
    if not edges_ns:
        return LogScale(1e4, 1e8)
    lowest, highest = min(edges_ns)[0], max(stall_ns, *(highest for _, highest in edges_ns))
    near_ns = [mark.ns for mark in marks if lowest / _MAX_DISTANCE < mark.ns < highest * _MAX_DISTANCE]
    # the lower end of a cell may lie slightly below a round value: do not add a whole step for that
    low, high = round_bounds(max(min([lowest * 1.02, *near_ns]), 1))[0], round_bounds(max([highest, *near_ns]))[1]
    return LogScale(low, max(high, low * 10))


def round_bounds(ns: float) -> tuple[float, float]:
    """Return the nearest of 1, 2, 5, 10 … below and above."""
    power = 10.0 ** floor(log10(ns))
    bounds = [power * step for step in (1, 2, 5, 10)]
    return max(low for low in bounds if low <= ns * 1.000001), min(high for high in bounds if high >= ns * 0.999999)


def percentiles(latency: Latency | None) -> tuple[Mark, ...]:
    """Return the known percentiles, the most important ones first."""
    if latency is None:
        return ()
    pairs = (("p50", latency.p50), ("max", latency.max), ("p99", latency.p99), ("p99.9", latency.p99_9))
    return tuple(Mark(name, ns) for name, ns in (*pairs, ("p90", latency.p90)) if ns is not None)


def marks(evidence: Evidence, name: str, settings: Settings) -> tuple[Mark, ...]:
    """Return the reference values of a step.

    They are one revolution of its disk, or half of one; its mean latency in the previous run; the median of published
    results; and the mean flush of other processes before the run.
    """
    case = Case(evidence)
    revolution_ns = slowest_revolution_ns(case.stack.lowest) or 0
    references = (
        (REVOLUTION, revolution_ns if settings.rewrites_one_block else None),
        (HALF_REVOLUTION, revolution_ns / 2 if _waits_half(settings) else None),
        (LAST_RUN, next((run.mean_ns.get(name) for run in evidence.earlier_runs[:1]), None)),
        (PUBLISHED, _published_ns(case, settings)),
        (IDLE_FLUSH, _idle_flush_ns(evidence)),
    )
    return tuple(Mark(name, ns) for name, ns in references if ns)


def _outline(point: TimelinePoint) -> tuple[tuple[int, int], ...]:
    """Return approximate cells for a point without cells: one operation at the maximum, all others at the median."""
    cells = ((point.p50_ns, max(point.ops - 1, 1)), (point.max_ns, 1))
    return tuple((ns, count) for ns, count in cells if ns)


def _waits_half(settings: Settings) -> bool:
    """Return whether one writer syncs each write, at changing offsets."""
    writes = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
    if writes is None or writes.rewrites_one_block or writes.writers > 1 or writes.sync_every > 1:
        return False
    return writes.sync != "none" or bool({"dsync", "sync"} & set(writes.open_flags))


def _published_ns(case: Case, settings: Settings) -> float | None:
    """Return the time of an operation at the median of the published rates; None if fewer than three are published."""
    writes = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
    operation, media = (operation_of(writes) if writes else None), comparable_media(case.commit_media)
    rates = [reference.per_s for reference in find_published(operation, media)] if operation and media else []
    return 1e9 / median(rates) if len(rates) >= _MIN_PUBLISHED else None


def _idle_flush_ns(evidence: Evidence) -> float | None:
    """Return the mean time of a flush of other processes on the lowest device before the run."""
    devices = lowest_counters(evidence.idle.counters if evidence.idle else (), evidence.target)
    means = (device.flush_ms * 1e6 / device.flushes for device in devices if device.flushes and device.flush_ms)
    return next(means, None)


def svg(evidence: Evidence, step: Step) -> str:
    """Draw the map of a step; return an empty string if no operation was timed."""
    if not any(point.ops and (point.spread or point.p50_ns) for point in step.timeline):
        return ""
    references = marks(evidence, step.name, step.settings)
    scale = axis(step.timeline, references)
    whole_s = max(step.elapsed_s, 1e-3, *(point.t_s for point in step.timeline if point.ops))
    seconds = (f"{whole_s * part / 4:.2f} s" for part in range(5))
    shapes = [*_grid(scale), *_cells(step, scale, whole_s), *_names(step, references, scale)]
    shapes += ticks(seconds, _LEFT, _WIDTH, _TOP + _HEIGHT + 18)
    size = f"{_LEFT + _WIDTH + _RIGHT} {_TOP + _HEIGHT + 26}"
    return f'<svg viewBox="0 0 {size}" role="img" aria-label="latency over time">{"".join(shapes)}</svg>'


def _y(scale: LogScale, ns: float) -> float:
    return _TOP + (1 - scale.position(ns)) * _HEIGHT


def _grid(scale: LogScale) -> Iterator[str]:
    for ns in scale.ticks():
        y = _y(scale, ns)
        yield f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{duration_ns(ns)}</text>'


def _cells(step: Step, scale: LogScale, whole_s: float) -> Iterator[str]:
    """Draw a box for each cell, darker for a larger share of the operations. A small share stays visible."""
    for piece in slices(step.timeline, whole_s):
        x, end = (_LEFT + _WIDTH * min(at_s / whole_s, 1) for at_s in (piece.start_s, piece.end_s))
        for lower, upper, share in piece.cells:
            y, bottom = _y(scale, upper), _y(scale, lower)
            shade = 0.25 + 0.75 * min(share, 1.0) ** 0.5
            box = f'x="{x:.1f}" y="{y:.1f}" width="{max(end - x, 0.5):.1f}" height="{max(bottom - y, 1):.1f}"'
            yield f'<rect {box} opacity="{shade:.2f}" class="cell"/>'


def _names(step: Step, references: Sequence[Mark], scale: LogScale) -> Iterator[str]:
    """Draw a line for each reference value, and at the right the names of reference values and percentiles."""
    from html import escape  # noqa: PLC0415  it loads half a MiB, and the screens need only the scale

    visible = [mark for mark in references if scale.contains(mark.ns)]
    for mark in visible:
        y = _y(scale, mark.ns)
        yield f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="mark"/>'
    floor_y = float(_TOP + _HEIGHT)
    for mark in sorted([*percentiles(step.latency_ns), *visible], key=lambda mark: mark.ns):
        y = min(_y(scale, mark.ns), floor_y)
        floor_y = y - _LINE_HEIGHT
        words = f"{mark.name} {duration_ns(mark.ns)}"
        yield f'<text x="{_LEFT + _WIDTH + 8}" y="{y + 4:.1f}">{escape(words)}</text>'


def ticks(labels: Iterable[str], start_x: int, width: int, y: int) -> Iterator[str]:
    """Draw the five labels of a time axis."""
    for part, (label, anchor) in enumerate(zip(labels, ("start", "middle", "middle", "middle", "end"), strict=True)):
        yield f'<text x="{start_x + width * part / 4:.1f}" y="{y}" text-anchor="{anchor}">{label}</text>'
