"""Whether flushes grow, and whose work that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from fstui.judge.facts.flush_growth import FlushGrowth
from fstui.measure.kinds.dirty_flush import GrowthPoint
from fstui.model.counters import DeviceTimes
from fstui.model.quantities import duration_ns
from tests.factories.steps import step, traced

MIB = 1 << 20


def growth(us: Sequence[float], arrived: float | None = 1.0, own: Mapping[str, float] | None = None) -> FlushGrowth:
    """``own``: the share of each flush that a device's own took."""
    points = tuple(
        GrowthPoint(
            bytes=amount * MIB,
            sync_ns=round(time * 1000),
            arrived_share=arrived if amount else None,
            flush_ms=None if own is None else {name: time * share // 1000 for name, share in own.items()},
        )
        for amount, time in zip((0, 1, 4, 16, 32), us, strict=True)
    )
    return FlushGrowth(step(), "sequential", points)


GROWN = (300, 700, 1900, 6600, 12900)


@pytest.mark.parametrize(
    ("us", "flat"),
    [
        (GROWN, False),
        ((117, 121, 115, 119, 118), True),
        ((117, 400, 118, 900, 119), True),
        ((46, 52, 60, 71, 82), True),
    ],
    ids=["grown", "flat", "one slow point", "copies memory"],
)
def test_the_two_largest_have_to_take_longer_than_every_smaller_one(us: Sequence[float], flat: bool) -> None:
    assert growth(us).flat is flat


@pytest.mark.parametrize(("arrived", "flat"), [(0.95, False), (0.94, True), (None, True)])
def test_it_counts_only_where_the_bytes_had_arrived_before(arrived: float | None, flat: bool) -> None:
    found = growth(GROWN, arrived)
    assert found.flat is flat and found.unarrived is flat and found.rises


def test_it_is_the_device_that_has_to_take_longer() -> None:
    both = growth(GROWN, own={"sda": 0.0, "sdb": 1.0})
    assert (both.flushed, both.working, both.flat) == ({"sda", "sdb"}, {"sdb"}, False)
    filesystems = growth(GROWN, own={"sda": 0.0})
    assert filesystems.flat and filesystems.own_times and filesystems.rises


@pytest.mark.parametrize(("longest_us", "flat"), [(12_000, False), (3_200, False), (3_000, True)])
def test_where_the_device_counts_no_time_the_trace_tells_whose_it_was(longest_us: int, flat: bool) -> None:
    own = DeviceTimes(p50=50_000, p99=None, max=longest_us * 1000)
    measured = msgspec.structs.replace(step(), trace=(traced(device_flush_ns=own), traced("dm-0")))
    found = growth(GROWN)._replace(step=measured)
    assert (found.flat, found.not_the_device_s) == (flat, flat)
    assert found.because.endswith(f"; a device's longest: {duration_ns(longest_us * 1000)} (the kernel's trace)")
    assert growth(GROWN, own={"sda": 0.0})._replace(step=measured).flat


@pytest.mark.parametrize(("longest_us", "flat"), [(12_000, False), (3_000, True)])
def test_lowest_devices_that_count_no_flush_tell_no_time_and_the_trace_does(longest_us: int, flat: bool) -> None:
    """The paths below dm-multipath: dm itself counts what it sends down them."""
    own = DeviceTimes(p50=50_000, p99=None, max=longest_us * 1000)
    uncounted = growth(GROWN, own={})
    assert (uncounted.own_times, uncounted.flat) == (False, False)
    assert uncounted._replace(step=msgspec.structs.replace(step(), trace=(traced(device_flush_ns=own),))).flat is flat


def test_it_is_told_per_mib_and_in_words() -> None:
    assert growth(GROWN).per_mib_ns == (12_900_000 - 300_000) / 32
    assert growth(GROWN).words == "300 µs after nothing, 12.9 ms after 32.0 MiB"
    assert growth(GROWN, own={"sda": 1.0}).because.endswith(
        "1.00 had arrived before; the last at the device: sda 12 ms"
    )


def test_a_device_that_was_as_slow_before_does_not_work_longer() -> None:
    """Its flush of less had taken as long: what grew is somebody else's."""
    us = (300, 700, 12_000, 12_500, 12_900)
    assert growth(us, own={"sda": 1.0}).working == set()
    assert growth(GROWN, own={"sda": 1.0}).working == {"sda"}
