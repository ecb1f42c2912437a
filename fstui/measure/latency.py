"""Latencies in constant memory: a log-linear histogram with percentiles, and a timeline of histograms.

Each power of two has 64 buckets, so the middle of a bucket differs from each value in the bucket by less than 1 %.
Minimum, maximum and mean are exact.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fstui.model.steps import Latency, StallSummary, TimelinePoint

_SUB_BITS = 6
_EXACT_VALUES = 2 << _SUB_BITS
_CELL_BITS = _SUB_BITS - 2
"""A cell of a drawn distribution contains 2 ** _CELL_BITS buckets, so there are four cells for each power of two."""
_MAX_PENDING_VALUES = 16384
"""Maximum number of different values that are counted before they are put into buckets."""
_MAX_PENDING_INTERVALS = 8
"""Maximum number of intervals with values that are not merged yet. Merging after each frame would cost more: the
samples of several writers arrive in turn and belong to the same few intervals."""
STALL_NS = 250_000_000
STALL_P50_FACTOR = 10


def bucket_of(value: int) -> int:
    """Return the bucket of a value: up to 127 the value itself, then its seven highest bits and their position."""
    if value < _EXACT_VALUES:
        return max(value, 0)
    shift = value.bit_length() - _SUB_BITS - 1
    return (shift << _SUB_BITS) + (value >> shift)


def stall_limit_ns(p50_ns: int) -> int:
    """Return the shortest duration that counts as a stall: 250 ms or ten times the median, whichever is longer."""
    return max(STALL_NS, STALL_P50_FACTOR * p50_ns)


def lower_edge(bucket: int) -> int:
    if bucket < _EXACT_VALUES:
        return bucket
    shift = (bucket >> _SUB_BITS) - 1
    return ((bucket & ((1 << _SUB_BITS) - 1)) + (1 << _SUB_BITS)) << shift


class Histogram:
    """The number of values (in ns) in each bucket. New values are put into buckets when a result is requested."""

    def __init__(self) -> None:
        # two arrays instead of a dict, because a step of hours has more than 100 histograms of hundreds of buckets
        self._buckets, self._counts = array("H"), array("Q")
        self._pending: Counter[int] = Counter()
        self._min: int | None = None
        self._max = 0
        self._sum = 0
        self.total = 0

    def add(self, values: Sequence[int]) -> None:
        """Add values of 0 or more."""
        self.total += len(values)
        self._pending.update(values)
        if len(self._pending) > _MAX_PENDING_VALUES:
            self._merge_pending()

    def merge(self, other: Histogram) -> None:
        if other.total:
            self._add_counts(other.counts)
            self._min = other.min if self._min is None else min(self._min, other.min)
            self._max = max(self._max, other.max)
            self._sum += other.sum
            self.total += other.total

    @property
    def counts(self) -> dict[int, int]:
        """The number of values in each bucket that is not empty, in ascending order."""
        self._merge_pending()
        return dict(zip(self._buckets, self._counts, strict=True))

    @property
    def min(self) -> int:
        """The exact smallest value; 0 if there is none."""
        self._merge_pending()
        return self._min or 0

    @property
    def max(self) -> int:
        """The exact largest value; 0 if there is none."""
        self._merge_pending()
        return self._max

    @property
    def sum(self) -> int:
        self._merge_pending()
        return self._sum

    def _merge_pending(self) -> None:
        if not self._pending:
            return
        counts: Counter[int] = Counter()
        for value, times in self._pending.items():
            counts[bucket_of(value)] += times
            self._sum += value * times
        self._add_counts(counts)
        smallest = max(0, min(self._pending))
        self._min = smallest if self._min is None else min(self._min, smallest)
        largest = max(self._pending)
        self._max = max(self._max, largest)
        self._pending.clear()

    def _add_counts(self, counts: Mapping[int, int]) -> None:
        sums = Counter(dict(zip(self._buckets, self._counts, strict=True)))
        sums.update(counts)
        self._buckets = array("H", sorted(sums))
        self._counts = array("Q", map(sums.__getitem__, self._buckets))

    def percentiles(self, shares: Iterable[float]) -> list[int]:
        """Return the percentile of each share (0 to 1, ascending); an empty list if there are no values."""
        if not self.total:
            return []
        values: list[int] = []
        buckets = iter(self.counts.items())
        bucket, rank = 0, 0
        for share in shares:
            while rank < share * self.total:
                bucket, times = next(buckets)
                rank += times
            middle = (lower_edge(bucket) + lower_edge(bucket + 1)) // 2
            values.append(min(max(middle, self.min), self.max))
        return values

    def latency(self) -> Latency | None:
        """Return the summary, or None without values. p99 is None below 100 values, and p99_9 below 1 000."""
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
        """Return (upper edge in ns, count) of each cell of a drawn distribution. Cells below 128 ns are 16 ns wide."""
        cells: dict[int, int] = {}
        for bucket, times in self.counts.items():
            cells[bucket >> _CELL_BITS] = cells.get(bucket >> _CELL_BITS, 0) + times
        return tuple((lower_edge((cell + 1) << _CELL_BITS), times) for cell, times in sorted(cells.items()))

    def table(self) -> tuple[tuple[int, int], ...]:
        """Return (upper edge in ns, count) of each bucket that is not empty, in ascending order."""
        return tuple((lower_edge(bucket + 1), times) for bucket, times in self.counts.items())

    def stalls(self) -> StallSummary:
        """Return the number of stalls, and the time by which all stalls together exceeded p50."""
        if self.max < STALL_NS:
            return StallSummary()
        (p50,) = self.percentiles((0.5,))
        limit_ns = stall_limit_ns(p50)
        durations = [(lower_edge(bucket), times) for bucket, times in self.counts.items()]
        stalls = [(value, times) for value, times in durations if value >= limit_ns]
        return StallSummary(
            count=sum(times for _, times in stalls),
            lost_s=round(sum((value - p50) * times for value, times in stalls) / 1e9, 3),
        )


class Timeline:
    """Latencies over time, in at most ``2 × points`` intervals of equal width. If more are needed, the width is doubled
    and each pair of neighbours is merged."""

    def __init__(self, length_s: float | None, points: int = 60) -> None:
        # if the length of the step is unknown, begin with short intervals
        self.width_ns = int(length_s * 1e9 / points) if length_s else 250_000_000
        self.max_intervals = 2 * points
        self.total = 0
        self._histogram = Histogram()
        self._pending: dict[int, Histogram] = {}
        self._intervals: dict[int, Histogram] = {}
        self._counters: dict[int, dict[str, int | None]] = {}
        self._points: dict[int, TimelinePoint] = {}
        """The points of the intervals that have not changed since ``points`` was called: usually all but the newest."""

    @property
    def histogram(self) -> Histogram:
        self._merge_pending()
        return self._histogram

    def add(self, ends_ns: Sequence[int], values: Sequence[int], start_ns: int = 0) -> None:
        """Add end times (ascending) and durations of one writer. ``start_ns``: start of the step, on the same clock."""
        self.total += len(values)
        first = 0
        while first < len(ends_ns):
            interval = self._interval_at(ends_ns[first] - start_ns)
            next_interval_ns = start_ns + (interval + 1) * self.width_ns
            end = len(ends_ns) if ends_ns[-1] < next_interval_ns else bisect_left(ends_ns, next_interval_ns, first + 1)
            self._pending_histogram(interval).add(values[first:end])
            first = end

    def _pending_histogram(self, interval: int) -> Histogram:
        if interval not in self._pending:
            if len(self._pending) == _MAX_PENDING_INTERVALS:
                self._merge_pending()
            self._pending[interval] = Histogram()
        return self._pending[interval]

    def _merge_pending(self) -> None:
        for interval, histogram in self._pending.items():
            self._histogram.merge(histogram)
            self._intervals.setdefault(interval, Histogram()).merge(histogram)
            self._points.pop(interval, None)
        self._pending.clear()

    def add_counters(self, time_ns: int, **counters: int | None) -> None:
        interval = self._interval_at(time_ns)
        _add_counters(self._counters.setdefault(interval, {}), counters)
        self._points.pop(interval, None)

    def points(self) -> tuple[TimelinePoint, ...]:
        self._merge_pending()
        intervals = sorted(self._intervals.keys() | self._counters.keys())
        for interval in intervals:
            if interval not in self._points:
                self._points[interval] = self._point(interval)
        return tuple(self._points[interval] for interval in intervals)

    def _point(self, interval: int) -> TimelinePoint:
        histogram = self._intervals.get(interval, Histogram())
        p50, p99 = histogram.percentiles((0.5, 0.99)) or (None, None)
        return TimelinePoint(
            t_s=round(interval * self.width_ns / 1e9, 3),
            ops=histogram.total,
            p50_ns=p50,
            p99_ns=p99 if histogram.total >= 100 else None,
            max_ns=histogram.max if histogram.total else None,
            spread=histogram.spread(),
            **self._counters.get(interval, {}),
        )

    def _interval_at(self, time_ns: int) -> int:
        """Return the number of the interval that contains a time, after doubling the width as often as necessary."""
        while time_ns // self.width_ns >= self.max_intervals:
            self._merge_neighbours()
        return max(0, time_ns // self.width_ns)

    def _merge_neighbours(self) -> None:
        self._merge_pending()
        self.width_ns *= 2
        intervals, counters = self._intervals, self._counters
        self._intervals, self._counters, self._points = {}, {}, {}
        for interval, histogram in intervals.items():
            self._intervals.setdefault(interval // 2, Histogram()).merge(histogram)
        for interval, counters_of_interval in counters.items():
            _add_counters(self._counters.setdefault(interval // 2, {}), counters_of_interval)


def _add_counters(totals: dict[str, int | None], added: dict[str, int | None]) -> None:
    """Add counters by name. A counter that is None could not be read, and adds nothing."""
    for name, value in added.items():
        total = totals.get(name)
        totals[name] = value if total is None else total + (value or 0)
