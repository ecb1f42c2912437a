"""Latencies in constant memory: a log-linear histogram with percentiles, and a timeline of histograms.

Each power of two has 64 buckets, so the middle of a bucket differs from its values by less than 1 %. Minimum, maximum
and mean are exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from fstui.model.steps import Latency, StallSummary, TimelinePoint

_SUB_BITS = 6
_EXACT = 2 << _SUB_BITS
_CELL_BITS = _SUB_BITS - 2
"""A cell of a picture contains 2 to the power of this many buckets, so there are four cells for each power of two."""
_MAX_LOOSE = 16384
"""Maximum number of different values that are counted exactly before they are put into buckets."""
_MAX_FRESH = 8
"""Maximum number of stretches with values that are not merged yet. The samples of several writers arrive in turn and
belong to the same few stretches, so merging after each arrival would be a waste."""
STALL_NS = 250_000_000
STALL_TIMES_P50 = 10


def bucket_of(value: int) -> int:
    """Return the bucket of a value: up to 127 the value itself, then its seven leading bits and their position."""
    if value < _EXACT:
        return max(value, 0)
    shift = value.bit_length() - _SUB_BITS - 1
    return (shift << _SUB_BITS) + (value >> shift)


def stall_limit_ns(p50_ns: int) -> int:
    """Return the duration from which an operation is a stall: 250 ms or ten times the median, whichever is longer."""
    return max(STALL_NS, STALL_TIMES_P50 * p50_ns)


def lower_edge(bucket: int) -> int:
    if bucket < _EXACT:
        return bucket
    shift = (bucket >> _SUB_BITS) - 1
    return ((bucket & ((1 << _SUB_BITS) - 1)) + (1 << _SUB_BITS)) << shift


class Histogram:
    """The number of values in each bucket, in ns. New values are counted exactly until a result is requested."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self._loose: Counter[int] = Counter()
        self._min: int | None = None
        self._max = 0
        self._sum = 0
        self.total = 0

    def add(self, values: Sequence[int]) -> None:
        """Add many values at once, none of them negative."""
        self.total += len(values)
        self._loose.update(values)
        if len(self._loose) > _MAX_LOOSE:
            self._settle()

    def merge(self, other: Histogram) -> None:
        if other.total:
            self._buckets.update(other.counts)
            self._min = other.min if self._min is None else min(self._min, other.min)
            self._max = max(self._max, other.max)
            self._sum += other.sum
            self.total += other.total

    @property
    def counts(self) -> Counter[int]:
        self._settle()
        return self._buckets

    @property
    def min(self) -> int:
        """The exact smallest value; 0 if there is none."""
        self._settle()
        return self._min or 0

    @property
    def max(self) -> int:
        """The exact largest value; 0 if there is none."""
        self._settle()
        return self._max

    @property
    def sum(self) -> int:
        self._settle()
        return self._sum

    def _settle(self) -> None:
        if not self._loose:
            return
        for value, times in self._loose.items():
            self._buckets[bucket_of(value)] += times
            self._sum += value * times
        lowest = max(0, min(self._loose))
        self._min = lowest if self._min is None else min(self._min, lowest)
        highest = max(self._loose)
        self._max = max(self._max, highest)
        self._loose.clear()

    def percentiles(self, shares: Iterable[float]) -> list[int]:
        """Return for each share (0 to 1, ascending) the value that this share of the values does not exceed. Return an
        empty list if there are no values."""
        if not self.total:
            return []
        values: list[int] = []
        buckets = iter(sorted(self.counts.items()))
        bucket, count = 0, 0
        for share in shares:
            while count < share * self.total:
                bucket, times = next(buckets)
                count += times
            middle = (lower_edge(bucket) + lower_edge(bucket + 1)) // 2
            values.append(min(max(middle, self.min), self.max))
        return values

    def latency(self) -> Latency | None:
        """Return the summary; None if there are no values. p99 requires 100 values and p99_9 requires 1 000."""
        if not self.total:
            return None
        p50, p90, p95, p99, p99_9 = self.percentiles((0.5, 0.9, 0.95, 0.99, 0.999))
        return Latency(
            min=self.min,
            mean=max(0, self.sum // self.total),
            p50=p50,
            p90=p90,
            p95=p95,
            p99=p99 if self.total >= 100 else None,
            p99_9=p99_9 if self.total >= 1000 else None,
            max=self.max,
        )

    def spread(self) -> tuple[tuple[int, int], ...]:
        """Return (upper edge in ns, count) of each cell of a picture. Cells below 128 ns are 16 ns wide."""
        cells: dict[int, int] = {}
        for bucket, times in self.counts.items():
            cells[bucket >> _CELL_BITS] = cells.get(bucket >> _CELL_BITS, 0) + times
        return tuple((lower_edge((cell + 1) << _CELL_BITS), times) for cell, times in sorted(cells.items()))

    def table(self) -> tuple[tuple[int, int], ...]:
        """Return (upper edge in ns, count) of every bucket that is not empty, ascending."""
        return tuple((lower_edge(bucket + 1), times) for bucket, times in sorted(self.counts.items()))

    def stalls(self) -> StallSummary:
        """Return the number of stalls, and the time beyond p50 that they lost."""
        if self.max < STALL_NS:
            return StallSummary()
        (p50,) = self.percentiles((0.5,))
        limit = stall_limit_ns(p50)
        slow = [(lower_edge(bucket), times) for bucket, times in self.counts.items() if lower_edge(bucket) >= limit]
        return StallSummary(
            count=sum(times for _, times in slow),
            lost_s=round(sum((value - p50) * times for value, times in slow) / 1e9, 3),
        )


class Timeline:
    """Latencies over time, in at most ``2 × points`` stretches. If there would be more, two neighbours become one."""

    def __init__(self, length_s: float | None, points: int = 60) -> None:
        # if the length is not known, begin with short stretches, which become longer when there are too many
        self.width_ns = int(length_s * 1e9 / points) if length_s else 250_000_000
        self.most = 2 * points
        self._whole = Histogram()
        self._fresh: dict[int, Histogram] = {}
        self._stretches: dict[int, Histogram] = {}
        self._counters: dict[int, dict[str, int | None]] = {}
        self._points: dict[int, TimelinePoint] = {}
        """The results of ``points``, for the stretches that have not changed since: usually all but the newest."""

    @property
    def whole(self) -> Histogram:
        self._settle()
        return self._whole

    def add(self, ends_ns: Sequence[int], values: Sequence[int], start_ns: int = 0) -> None:
        """Add end times (ascending) and durations of one writer. ``start_ns``: the start of the step on their clock."""
        start = 0
        while start < len(ends_ns):
            stretch = self._room_for(ends_ns[start] - start_ns)
            until_ns = start_ns + (stretch + 1) * self.width_ns
            end = len(ends_ns) if ends_ns[-1] < until_ns else bisect_left(ends_ns, until_ns, start + 1)
            self._fresh_of(stretch).add(values[start:end])
            start = end

    def _fresh_of(self, stretch: int) -> Histogram:
        if stretch not in self._fresh:
            if len(self._fresh) == _MAX_FRESH:
                self._settle()
            self._fresh[stretch] = Histogram()
        return self._fresh[stretch]

    def _settle(self) -> None:
        for stretch, histogram in self._fresh.items():
            self._whole.merge(histogram)
            self._stretches.setdefault(stretch, Histogram()).merge(histogram)
            self._points.pop(stretch, None)
        self._fresh.clear()

    def add_counters(self, at_ns: int, **counters: int | None) -> None:
        stretch = self._room_for(at_ns)
        _add_counters(self._counters.setdefault(stretch, {}), counters)
        self._points.pop(stretch, None)

    def points(self) -> tuple[TimelinePoint, ...]:
        self._settle()
        stretches = sorted(self._stretches.keys() | self._counters.keys())
        for stretch in stretches:
            if stretch not in self._points:
                self._points[stretch] = self._point(stretch)
        return tuple(self._points[stretch] for stretch in stretches)

    def _point(self, stretch: int) -> TimelinePoint:
        histogram = self._stretches.get(stretch, Histogram())
        p50, p99 = histogram.percentiles((0.5, 0.99)) or (None, None)
        return TimelinePoint(
            t_s=round(stretch * self.width_ns / 1e9, 3),
            ops=histogram.total,
            p50_ns=p50,
            p99_ns=p99 if histogram.total >= 100 else None,
            max_ns=histogram.max if histogram.total else None,
            spread=histogram.spread(),
            **self._counters.get(stretch, {}),
        )

    def _room_for(self, at_ns: int) -> int:
        while at_ns // self.width_ns >= self.most:
            self._halve()
        return max(0, at_ns // self.width_ns)

    def _halve(self) -> None:
        self._settle()
        self.width_ns *= 2
        stretches, counters = self._stretches, self._counters
        self._stretches, self._counters, self._points = {}, {}, {}
        for stretch, histogram in stretches.items():
            self._stretches.setdefault(stretch // 2, Histogram()).merge(histogram)
        for stretch, counted in counters.items():
            _add_counters(self._counters.setdefault(stretch // 2, {}), counted)


def _add_counters(kept: dict[str, int | None], more: dict[str, int | None]) -> None:
    """Add up by name. A counter that is None was not read and adds nothing."""
    for name, value in more.items():
        before = kept.get(name)
        kept[name] = value if before is None else before if value is None else before + value
