"""Latencies in constant memory."""

from collections import Counter
from itertools import accumulate, pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.measure.latency import Histogram, Timeline, bucket_of, lower_edge
from fstui.model.steps import StallSummary, TimelinePoint

SECOND = 10**9
NS = st.integers(min_value=0, max_value=3600 * 10**9)
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)


def histogram(values: list[int]) -> Histogram:
    counted = Histogram()
    counted.add(values)
    return counted


@given(NS)
def test_middle_of_a_bucket_is_within_one_percent(value: int) -> None:
    bucket = bucket_of(value)
    assert lower_edge(bucket) <= value < lower_edge(bucket + 1)
    middle = (lower_edge(bucket) + lower_edge(bucket + 1)) // 2
    assert abs(middle - value) <= 0.01 * value


@given(st.integers(min_value=0, max_value=3000))
def test_buckets_have_no_gaps(bucket: int) -> None:
    assert bucket_of(lower_edge(bucket)) == bucket
    assert bucket_of(lower_edge(bucket + 1) - 1) == bucket


def test_negative_difference_counts_as_zero() -> None:
    assert bucket_of(-5) == 0


@given(st.lists(NS, min_size=1, max_size=500))
def test_percentiles_are_within_one_percent(values: list[int]) -> None:
    ordered = sorted(values)
    for share, found in zip(SHARES, histogram(values).percentiles(SHARES), strict=True):
        exact = ordered[max(1, ceil(share * len(ordered))) - 1]
        assert abs(found - exact) <= 0.01 * exact


@given(st.lists(NS, min_size=1, max_size=300))
def test_minimum_maximum_and_mean_are_exact(values: list[int]) -> None:
    latency = histogram(values).latency()
    assert latency is not None
    assert (latency.min, latency.max, latency.mean) == (min(values), max(values), sum(values) // len(values))
    assert latency.min <= latency.p50 <= latency.p90 <= latency.p95 <= latency.max


@given(st.lists(st.integers(min_value=0, max_value=20_000), min_size=64, max_size=300), st.lists(NS, max_size=3))
def test_short_and_long_values_are_all_counted(values: list[int], more: list[int]) -> None:
    counted = histogram(values)
    counted.add(more)
    assert counted.counts == Counter(map(bucket_of, values + more))
    assert (counted.min, counted.max, counted.sum) == (min(values + more), max(values + more), sum(values + more))


@pytest.mark.parametrize(
    ("samples", "has_p99", "has_p99_9"), [(99, False, False), (100, True, False), (1000, True, True)]
)
def test_percentile_needs_enough_samples(samples: int, has_p99: bool, has_p99_9: bool) -> None:
    latency = histogram(list(range(1, samples + 1))).latency()
    assert latency is not None
    assert (latency.p99 is not None, latency.p99_9 is not None) == (has_p99, has_p99_9)


def test_empty_histogram_has_no_latency() -> None:
    assert Histogram().latency() is None
    assert Histogram().percentiles(SHARES) == []
    assert Histogram().table() == ()
    assert Histogram().stalls() == StallSummary()


@given(st.lists(st.lists(NS, max_size=50), max_size=6))
def test_merging_is_the_same_as_counting_together(parts: list[list[int]]) -> None:
    merged = Histogram()
    for part in parts:
        merged.merge(histogram(part))
    together = histogram([value for part in parts for value in part])
    assert (merged.counts, merged.latency(), merged.total, merged.sum) == (
        together.counts,
        together.latency(),
        together.total,
        together.sum,
    )


def test_memory_is_constant_for_many_different_values() -> None:
    counted = Histogram()
    counted.add(range(0, 2_000_000_000, 10_000))
    assert counted.total == 200_000
    assert len(counted.counts) < 64 * 64


@given(st.lists(NS, min_size=1, max_size=200))
def test_table_contains_every_sample_below_its_upper_edge(values: list[int]) -> None:
    table = histogram(values).table()
    assert sum(times for _, times in table) == len(values)
    assert all(first[0] < second[0] for first, second in pairwise(table))
    assert max(values) < table[-1][0]


def test_stall_is_above_250_ms_and_10_times_the_median() -> None:
    usual = [1_000_000] * 98
    assert histogram([*usual, 2 * 10**9, 10**9]).stalls().count == 2
    assert histogram([*usual, 2 * 10**9, 10**9]).stalls().lost_s == pytest.approx(2.998, rel=0.02)
    assert histogram([*usual, 240_000_000]).stalls() == StallSummary()
    assert (
        histogram([75_000_000] * 50 + [700_000_000]).stalls() == StallSummary()
    )  # a slow disk is slow, it does not stall


@given(st.lists(st.integers(min_value=1, max_value=10**9), min_size=1, max_size=300), st.sampled_from([0.1, 1.0, None]))
def test_merging_intervals_keeps_every_operation(durations: list[int], length_s: float | None) -> None:
    timeline = Timeline(length_s)
    ends = list(accumulate(durations))
    for first in range(0, len(ends), 7):  # hand-overs
        timeline.add(ends[first : first + 7], durations[first : first + 7])
        timeline.add_counters(ends[first], flushes=1, writes=None)
    points = timeline.points()
    assert len(points) <= timeline.max_intervals
    assert sum(point.ops for point in points) == timeline.histogram.total == len(durations)
    assert (timeline.histogram.sum, timeline.histogram.max) == (sum(durations), max(durations))
    assert sum(point.flushes or 0 for point in points) == len(range(0, len(ends), 7))
    assert {point.writes for point in points} == {None}
    assert max(point.max_ns or 0 for point in points) == max(durations)
    assert all(first.t_s < second.t_s for first, second in pairwise(points))


def test_operation_belongs_to_the_interval_of_its_end() -> None:
    timeline = Timeline(length_s=0.6, points=6)
    timeline.add([50_000_000, 99_999_999, 100_000_000, 350_000_000], [5, 6, 7, 8])
    assert [(point.t_s, point.ops, point.max_ns) for point in timeline.points()] == [
        (0.0, 2, 6),
        (0.1, 1, 7),
        (0.3, 1, 8),
    ]


def test_counters_alone_make_a_interval() -> None:
    timeline = Timeline(length_s=None)
    timeline.add_counters(300_000_000, writes=2, flushes=1)
    timeline.add_counters(400_000_000, writes=3, flushes=None)
    assert timeline.points() == (TimelinePoint(t_s=0.25, ops=0, writes=5, flushes=1),)


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=40 * SECOND), NS, st.booleans()), max_size=60))
def test_points_do_not_depend_on_earlier_requests(counts: list[tuple[int, int, bool]]) -> None:
    asked, at_last = Timeline(length_s=1), Timeline(length_s=1)
    for at_ns, value, counted in counts:
        for timeline in (asked, at_last):
            if counted:
                timeline.add_counters(at_ns, writes=value)
            else:
                timeline.add([at_ns], [value])
        asked.points()
    assert asked.points() == at_last.points()


def test_unchanged_interval_is_not_computed_again() -> None:
    timeline = Timeline(length_s=60)
    timeline.add([SECOND // 2, 3 * SECOND // 2], [1000, 2000])
    first, second = timeline.points()
    timeline.add([3 * SECOND // 2], [9000])
    assert timeline.points()[0] is first
    assert timeline.points()[1].ops == second.ops + 1


@given(st.lists(NS, min_size=1, max_size=300))
def test_spread_contains_every_sample(values: list[int]) -> None:
    cells = histogram(values).spread()
    assert sum(times for _, times in cells) == len(values)
    assert max(values) < cells[-1][0]
    assert all(
        upper <= max(1.26 * max(v for v in values if v < upper), 16 + max(v for v in values if v < upper))
        for upper, _ in cells
    )
