"""Does a flush take longer the more unsynced data it finds? One that never does has nothing to do, or does none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge.facts.steps import has_rate
from fstui.judge.facts.traced import TRACE
from fstui.measure.kinds.dirty_flush import DirtyFlushFigures, GrowthPoint
from fstui.model.quantities import duration_ns, ratio, size
from fstui.model.steps import Step

ARRIVED = 0.95
"""Less had reached the device before the flush: its growth may be that of a cache above."""
FASTEST_BYTES_PER_NS = 10.0
"""10 GB/s: a flush that writes faster copied memory. One of a loop in tmpfs took 46 to 82 µs over 256 MiB."""
GROWN = 1.5
"""The flushes of the two largest amounts each take so many times that of every smaller one. Two of them, since one may
have met somebody else's write."""
OWN_SHARE, OWN_MS = 0.25, 2
"""A device's own flushes, by its counters (whole ms), take so much of the time by which the flush grew, and so many
ms: btrfs works longer for more extents while a device that ignores flushes takes no longer."""
_LARGEST, _FEWEST = 2, 3


class FlushGrowth(NamedTuple):
    """One pattern of one step, the smallest amount first."""

    step: Step
    pattern: str
    points: tuple[GrowthPoint, ...]

    @property
    def rises(self) -> bool:
        """Whatever makes it so, the largest amounts are synced more slowly."""
        *smaller, last = self.points
        return last.sync_ns >= GROWN * max(point.sync_ns for point in smaller[: 1 - _LARGEST])

    @property
    def flat(self) -> bool:
        *smaller, _, _ = self.points
        grown = all(self._grown(point, smaller) for point in self.points[-_LARGEST:])
        return not grown or self.not_the_device_s

    @property
    def not_the_device_s(self) -> bool:
        """By its own times: those that it counts, or the longest flush that the kernel's trace saw any device make."""
        if self.own_times and not self.working:
            return True
        first, *_, last = self.points
        longest_ns = self._longest_traced_ns
        return longest_ns is not None and longest_ns < OWN_SHARE * (last.sync_ns - first.sync_ns)

    @property
    def _longest_traced_ns(self) -> int | None:
        """The longest flush that the trace saw any device make; None where it saw none."""
        return max((seen.device_flush_ns.max for seen in self.step.trace or () if seen.device_flush_ns), default=None)

    @property
    def own_times(self) -> bool:
        """What each device took for its own flushes is known; the paths below dm-multipath count none of theirs."""
        counted_above = not any(point.flush_ms for point in self.points) and any(
            counters.flushes for counters in self.step.counters
        )
        return not counted_above and any(point.flush_ms is not None for point in self.points)

    @property
    def flushed(self) -> set[str]:
        """The lowest devices that got a flush after the largest amounts."""
        return {device for point in self.points[-_LARGEST:] for device in point.flush_ms or {}}

    @property
    def working(self) -> set[str]:
        """Those of them whose own flushes took longer."""
        return {device for device in self.flushed if self._works(device)}

    def _works(self, device: str) -> bool:
        first, *_ = self.points
        *smaller, _, _ = ((point.flush_ms or {}).get(device, 0.0) for point in self.points)
        for point in self.points[-_LARGEST:]:
            own_ms = (point.flush_ms or {}).get(device, 0.0)
            extra_ms = max(OWN_MS, OWN_SHARE * (point.sync_ns - first.sync_ns) / 1e6)
            if own_ms < GROWN * max(smaller) or own_ms - smaller[0] < extra_ms:
                return False
        return True

    def _grown(self, point: GrowthPoint, smaller: list[GrowthPoint]) -> bool:
        first = self.points[0]
        extra_ns = point.sync_ns - first.sync_ns
        arrived = point.arrived_share is not None and point.arrived_share >= ARRIVED
        longer = point.sync_ns >= GROWN * max(other.sync_ns for other in smaller)
        return arrived and longer and point.bytes - first.bytes <= FASTEST_BYTES_PER_NS * extra_ns

    @property
    def unarrived(self) -> bool:
        """Its largest amounts were still above the device when the flush began."""
        return any((point.arrived_share or 0) < ARRIVED for point in self.points[-_LARGEST:])

    @property
    def per_mib_ns(self) -> float:
        first, last = self.points[0], self.points[-1]
        return (last.sync_ns - first.sync_ns) / ((last.bytes - first.bytes) / (1 << 20))

    @property
    def words(self) -> str:
        first, last = self.points[0], self.points[-1]
        return f"{duration_ns(first.sync_ns)} after {_amount(first)}, {duration_ns(last.sync_ns)} after {_amount(last)}"

    @property
    def because(self) -> str:
        steps = ", ".join(f"{_amount(point)} {duration_ns(point.sync_ns)}" for point in self.points)
        shares = [point.arrived_share for point in self.points[-_LARGEST:] if point.arrived_share is not None]
        arrived = f"; {ratio(min(shares))} had arrived before" if shares else ""
        own = ", ".join(f"{device} {ms:g} ms" for device, ms in sorted((self.points[-1].flush_ms or {}).items()))
        by_counters = f"; the last at the device: {own}" if own else ""
        longest_ns = self._longest_traced_ns
        by_trace = "" if longest_ns is None else f"; a device's longest: {duration_ns(longest_ns)} ({TRACE})"
        return f"{self.pattern}: {steps}{arrived}{by_counters}{by_trace}"


def flush_growth(step: Step) -> Iterator[FlushGrowth]:
    """Each pattern of a step that timed flushes after growing amounts, where it has points enough."""
    if not isinstance(step.figures, DirtyFlushFigures) or step.status in {"failed", "skipped"} or not has_rate(step):
        return
    for pattern, line in step.figures.patterns.items():
        points = {point.bytes: point for point in line.points}
        if len(points) >= _FEWEST:
            yield FlushGrowth(step, pattern, tuple(points[amount] for amount in sorted(points)))


def _amount(point: GrowthPoint) -> str:
    return size(point.bytes) if point.bytes else "nothing"
