"""Counters read twice → what a device did per second meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

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
        """The newest reading."""
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
