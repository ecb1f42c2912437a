"""Counters read twice → what a device did per second meanwhile."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from fstui.model.counters import Counters, DeviceCounters


class Rate(msgspec.Struct, frozen=True):
    """Per second; None where the device does not count it. Times in ms per operation, None without operations."""

    reads: float | None = None
    writes: float | None = None
    written_bytes: float | None = None
    ms_per_write: float | None = None
    flushes: float | None = None
    ms_per_flush: float | None = None
    in_flight: int | None = None
    busy: float | None = None
    """The share of the time in which it had anything to do."""


class Activity:
    """What devices do now, from one reading of their counters to the next."""

    def __init__(self) -> None:
        self.rates: dict[str, Rate] = {}
        """By device; empty until they were read twice."""
        self._before: Counters | None = None

    @property
    def busy(self) -> dict[str, float]:
        """The share of the time in which each device had anything to do, where that is counted."""
        return {device: rate.busy for device, rate in self.rates.items() if rate.busy is not None}

    def add(self, now: Counters) -> None:
        if self._before:
            self.rates = rates(self._before, now) or self.rates
        self._before = now


def rates(before: Counters, after: Counters) -> dict[str, Rate]:
    """Per device; empty where no time has passed between the two."""
    elapsed_s = (after.monotonic_ns - before.monotonic_ns) / 1e9
    if elapsed_s <= 0:
        return {}
    earlier = {then.device: then for then in before.devices}
    return {
        now.device: _rate(then, now, elapsed_s)
        for now in after.devices
        if (then := earlier.get(now.device)) is not None
    }


def total(parts: Iterable[Rate]) -> Rate:
    """Several devices as one: what counts is added, times are averaged over the operations."""
    known = list(parts)
    if len(known) == 1:
        return known[0]
    return Rate(
        reads=_sum(rate.reads for rate in known),
        writes=_sum(rate.writes for rate in known),
        written_bytes=_sum(rate.written_bytes for rate in known),
        ms_per_write=_mean((rate.ms_per_write, rate.writes) for rate in known),
        flushes=_sum(rate.flushes for rate in known),
        ms_per_flush=_mean((rate.ms_per_flush, rate.flushes) for rate in known),
        in_flight=None if not known else sum(rate.in_flight or 0 for rate in known),
        busy=max((rate.busy for rate in known if rate.busy is not None), default=None),
    )


def _rate(then: DeviceCounters, now: DeviceCounters, elapsed_s: float) -> Rate:
    def gained(field: str) -> int | None:
        first, last = getattr(then, field), getattr(now, field)
        # a device that was taken away and came back starts at 0
        return None if first is None or last is None else max(last - first, 0)

    def per_s(field: str) -> float | None:
        return None if (more := gained(field)) is None else more / elapsed_s

    busy_ms = gained("busy_ms")
    writes, flushes = gained("writes"), gained("flushes")
    write_ms, flush_ms = gained("write_ms"), gained("flush_ms")  # whole ones: 0 tells nothing of a few operations
    return Rate(
        reads=per_s("reads"),
        writes=per_s("writes"),
        written_bytes=per_s("written_bytes"),
        ms_per_write=write_ms / writes if writes and write_ms else None,
        flushes=per_s("flushes"),
        ms_per_flush=flush_ms / flushes if flushes and flush_ms else None,
        in_flight=now.in_flight,
        busy=None if busy_ms is None else busy_ms / 1000 / elapsed_s,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(weighted: Iterable[tuple[float | None, float | None]]) -> float | None:
    known = [(value, weight) for value, weight in weighted if value is not None and weight]
    weight = sum(share for _, share in known)
    return sum(value * share for value, share in known) / weight if weight else None


KEPT_NS = 2_000_000_000
"""No two kept readings are nearer to each other."""
_MOST, _FEWEST, _MOST_OF_DEVICES = 600, 60, 30_000
"""Readings; so many only that a box of a thousand devices takes no more memory than this."""


class Recent:
    """Readings of the last minutes, the oldest forgotten."""

    def __init__(self) -> None:
        self._kept: deque[Counters] = deque()

    @property
    def newest_ns(self) -> int | None:
        """When the last of them was made, on the monotonic clock; None before the first."""
        return self._kept[-1].monotonic_ns if self._kept else None

    def add(self, now: Counters) -> None:
        last = self._kept[-1] if self._kept else None
        if last and now.monotonic_ns - last.monotonic_ns < KEPT_NS:
            return
        if last:
            now = replace(now, devices=tuple(_shared(last.devices, now.devices)))
        self._kept.append(now)
        most = max(_FEWEST, min(_MOST, _MOST_OF_DEVICES // max(len(now.devices), 1)))
        while len(self._kept) > most:
            self._kept.popleft()

    def series(self, devices: Collection[str], until_ns: int, each_ns: int, number: int) -> list[Rate | None]:
        """What these devices did together in so many stretches of that length, the last one ending at ``until_ns``.

        None where nothing was read. A stretch in which nobody looked has the mean between the looks about it.
        """
        times = [kept.monotonic_ns for kept in self._kept]
        borders = [until_ns - each_ns * back for back in range(number, -1, -1)]
        return [self._between(devices, times, *stretch) for stretch in pairwise(borders)]

    def _between(self, devices: Collection[str], times: list[int], from_ns: int, until_ns: int) -> Rate | None:
        middle_ns = (from_ns + until_ns) // 2
        if len(times) < 2 or not times[0] <= middle_ns <= times[-1]:
            return None
        first, last = _nearest(times, from_ns), _nearest(times, until_ns)
        if first == last:
            last = min(max(bisect_left(times, middle_ns), 1), len(times) - 1)
            first = last - 1
        return self._rate(devices, first, last)

    def _rate(self, devices: Collection[str], first: int, last: int) -> Rate:
        before, after = (
            replace(self._kept[at], devices=tuple(one for one in self._kept[at].devices if one.device in devices))
            for at in (first, last)
        )
        return total(rates(before, after).values())


def _nearest(times: list[int], at_ns: int) -> int:
    right = bisect_left(times, at_ns)
    if right == 0 or right == len(times):
        return max(right - 1, 0)
    return right if times[right] - at_ns < at_ns - times[right - 1] else right - 1


def _shared(before: tuple[DeviceCounters, ...], now: tuple[DeviceCounters, ...]) -> Iterator[DeviceCounters]:
    """A device that did nothing is kept once."""
    known = {one.device: one for one in before}
    for one in now:
        same = known.get(one.device)
        yield same if same == one and same is not None else one
