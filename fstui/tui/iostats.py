"""I/O statistics: what devices and programs did in each second, now and in the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from math import ceil, floor
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import msgspec

from fstui.model.counters import Counters, difference

if TYPE_CHECKING:
    from fstui.model.watch import WatchCounts

Sample = TypeVar("Sample")
Number = TypeVar("Number", int, float)
_COUNTER_FIELDS = ("reads", "writes", "written_bytes", "write_ms", "flushes", "flush_ms", "busy_ms", "in_flight")
_SUMMED_FIELDS = ("reads", "writes", "written_bytes", "write_ms", "flushes", "flush_ms", "syncs", "sync_ns")
_MAX_SAMPLES = 600
"""Ten minutes, with a sample per second."""
_GROWTH_S = 2
"""Seconds by which a chart grows until it is full for the first time."""
_FIRST_CHARTS_S = (10, 20, 30, 60)
"""The periods that a chart with few samples covers. It fills from the right; once full, it covers the next one."""
_MIN_SAMPLES, _MAX_DEVICE_SAMPLES = 60, 30_000
"""The second number limits the samples multiplied by the devices, so that a thousand devices take no more memory."""


class IoStats(msgspec.Struct, frozen=True, kw_only=True):
    """What devices or programs did in a period of time. None: not counted."""

    elapsed_s: float
    reads: int | None = None
    writes: int | None = None
    written_bytes: int | None = None
    write_ms: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    busy_ms: int | None = None
    in_flight: int | None = None
    """Operations in flight at the end."""
    syncs: int | None = None
    sync_ns: int | None = None
    longest_sync_ns: int | None = None

    def per_s(self, counter: Literal["reads", "writes", "written_bytes", "flushes", "syncs"]) -> float | None:
        return _ratio(getattr(self, counter), self.elapsed_s)

    @property
    def ms_per_write(self) -> float | None:
        # the kernel counts whole milliseconds, so 0 does not mean that a few operations took no time
        return _ratio(self.write_ms or None, self.writes)

    @property
    def ms_per_flush(self) -> float | None:
        return _ratio(self.flush_ms or None, self.flushes)

    @property
    def ns_per_sync(self) -> float | None:
        return _ratio(self.sync_ns, self.syncs)

    @property
    def busy(self) -> float | None:
        """The share of the time in which a device had something to do."""
        return None if self.busy_ms is None else self.busy_ms / 1000 / self.elapsed_s


class DeviceActivity:
    """What each device does now, and did in the last minutes, from one reading of the counters to the next."""

    def __init__(self) -> None:
        self.stats: dict[str, IoStats] = {}
        """By device; empty until the counters have been read twice."""
        self.recent = RecentSamples[Mapping[str, IoStats]]()
        self._last_counters: Counters | None = None

    def copy(self) -> DeviceActivity:
        """Return a copy to which samples can be added, without the original."""
        copied = copy(self)
        copied.recent = copy(self.recent)
        copied.recent._samples = self.recent._samples.copy()
        return copied

    @property
    def busy(self) -> dict[str, float]:
        """The busy share of each device that counts it."""
        return {device: stats.busy for device, stats in self.stats.items() if stats.busy is not None}

    def add(self, counters: Counters, *, after_pause: bool = False) -> None:
        """Add a reading. A pause before it is a gap in the charts, because its average would hide every peak."""
        if self._last_counters and (stats := stats_between(self._last_counters, counters)):
            self.stats = self.stats if after_pause else stats
            elapsed_s = max(stat.elapsed_s for stat in stats.values())
            self.recent.add(elapsed_s, {} if after_pause else stats, len(stats))
        self._last_counters = counters


class RecentSamples(Generic[Sample]):
    """The samples of the last minutes."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float, Sample]] = deque(maxlen=_MAX_SAMPLES)
        self.end_s = 0.0

    def add(self, elapsed_s: float, sample: Sample, devices: int = 1) -> None:
        """Add a sample that covers the last ``elapsed_s`` seconds. ``devices``: the number of devices in it."""
        self._samples.append((self.end_s, self.end_s + elapsed_s, sample))
        self.end_s += elapsed_s
        while len(self._samples) > max(_MIN_SAMPLES, _MAX_DEVICE_SAMPLES // max(devices, 1)):
            self._samples.popleft()

    def time_range_s(self, cell_s: int, half_cells: int) -> tuple[float, float]:
        """Return the first and the last second of a chart with this many half cells.

        The chart ends with the last complete cell, or at 0 if none is complete. It begins with the first sample, or
        later if not all samples fit. With few samples and enough cells, it begins earlier and covers one of
        _FIRST_CHARTS_S.
        """
        start_s = self._samples[0][0] if self._samples else 0.0
        grown_s = self.end_s // _GROWTH_S * _GROWTH_S or self.end_s // 1
        end_s = grown_s if self.end_s < _FIRST_CHARTS_S[0] else self.end_s // cell_s * cell_s or grown_s
        start_s = ceil(start_s / cell_s) * cell_s
        start_s = next((end_s - length for length in _FIRST_CHARTS_S if end_s - start_s <= length), start_s)
        return max(end_s - cell_s * half_cells / 2, start_s), end_s

    def series(self, cell_s: int, half_cells: int) -> list[list[Sample]]:
        """Return the samples of each half cell.

        A sample belongs to the half cell that contains its middle. Samples may be long after a pause or at the start of
        a chart. A long sample is also returned for the empty half cells that it covers.
        """
        first_s, last_s = self.time_range_s(cell_s, half_cells)
        half_cell_s = (last_s - first_s) / half_cells or 1.0
        centred: list[list[Sample]] = [[] for _ in range(half_cells)]
        covering: list[list[Sample]] = [[] for _ in range(half_cells)]
        for start_s, end_s, sample in self._samples:
            begin, end = (start_s - first_s) / half_cell_s, (end_s - first_s) / half_cell_s
            if 0 <= (middle := floor((begin + end) / 2)) < half_cells:
                centred[middle].append(sample)
            # the half cells whose middles the sample covers
            for index in range(max(round(begin), 0), min(round(end), half_cells)):
                covering[index].append(sample)
        return [own or other for own, other in zip(centred, covering, strict=True)]


def stats_between(before: Counters, after: Counters) -> dict[str, IoStats]:
    """Return what each device did between two readings; empty if no time has passed."""
    elapsed_s = (after.monotonic_ns - before.monotonic_ns) / 1e9
    if elapsed_s <= 0:
        return {}
    return {
        change.device: IoStats(elapsed_s=elapsed_s, **{field: getattr(change, field) for field in _COUNTER_FIELDS})
        for change in difference(before, after)
    }


def stats_of_second(second: WatchCounts, *, traced: bool) -> IoStats:
    """Return the statistics of one second of a watch. Without the kernel's trace, syncs are not counted."""
    waits, devices = second.waits, second.devices
    return IoStats(
        elapsed_s=second.elapsed_s,
        # a second has no row for a device that did nothing
        writes=_sum(device.writes for device in devices) if devices else 0,
        flushes=_sum(device.flushes for device in devices) if devices else 0,
        flush_ms=_sum(device.flush_ms for device in devices),
        syncs=sum(row.syncs for row in waits) if traced else None,
        sync_ns=sum(row.ended_ns for row in waits) if traced else None,
        longest_sync_ns=max(filter(None, (row.longest_ns for row in waits)), default=None),
    )


def sum_devices(devices: Iterable[IoStats]) -> IoStats:
    """Add up what several devices did in the same seconds. The busy time is that of the busiest device."""
    parts = list(devices)
    if len(parts) == 1:
        return parts[0]
    return IoStats(
        elapsed_s=max((part.elapsed_s for part in parts), default=0.0),
        busy_ms=maximum(part.busy_ms for part in parts),
        in_flight=_sum(part.in_flight for part in parts),
        **_sums(parts),
    )


def total(periods: Iterable[IoStats]) -> IoStats:
    """Add up consecutive periods of time."""
    parts = list(periods)
    return IoStats(
        elapsed_s=sum(part.elapsed_s for part in parts),
        busy_ms=_sum(part.busy_ms for part in parts),
        longest_sync_ns=maximum(part.longest_sync_ns for part in parts),
        **_sums(parts),
    )


def _sums(parts: Sequence[IoStats]) -> dict[str, int | None]:
    return {field: _sum(getattr(part, field) for part in parts) for field in _SUMMED_FIELDS}


def _sum(counts: Iterable[int | None]) -> int | None:
    values = [count for count in counts if count is not None]
    return sum(values) if values else None


def maximum(counts: Iterable[Number | None]) -> Number | None:
    """Return the largest of the known values; None if no value is known."""
    return max((count for count in counts if count is not None), default=None)


def _ratio(part: float | None, total: float | None) -> float | None:
    return None if part is None or not total else part / total
