"""Find out whether flushes have an effect, and on which of the lowest devices that was observed.

If flushes take equally long for any amount of unsynced data, they have nothing to write back or do not write it back.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import has_rate
from fstui.judge.facts.traced import TRACE
from fstui.measure.kinds.dirty_flush import DirtyFlushFigures, GrowthPoint, growth_ns_per_mib
from fstui.model.host import Host
from fstui.model.quantities import duration_ns, ratio, size
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.devices import platforms
from fstui.storage.layers.devices.caches import is_safe_drive
from fstui.storage.layers.devices.disk import is_attached_directly, is_virtual

MIN_ARRIVED_SHARE = 0.95
"""If less of the data had reached the device before the flush, a cache above the device may explain longer flushes."""
FASTEST_BYTES_PER_NS = 10.0
"""10 GB/s. A faster flush only copied memory: a loop device with its file in tmpfs took 46 to 82 µs for 256 MiB."""
GROWTH_FACTOR = 1.5
"""Flush time grows if each of the two largest amounts takes this many times as long as every smaller amount. A write of
another process may slow down one flush, but hardly both."""
MIN_DEVICE_SHARE, MIN_DEVICE_MS = 0.25, 2
"""A device acts on flushes if its own flushes account for this share of the growth, and for at least this many ms (its
counters have whole ms). Growth alone proves nothing: btrfs always takes longer for more extents."""
_LARGEST_POINTS, _MIN_POINTS = 2, 3
"""How many of the largest amounts must take longer, and how many amounts a pattern needs."""


class FlushGrowth(NamedTuple):
    """The flush times of one pattern of one step, the smallest amount of unsynced data first."""

    step: Step
    pattern: str
    points: tuple[GrowthPoint, ...]

    @property
    def appears_to_grow(self) -> bool:
        """Whether the largest amount took GROWTH_FACTOR times as long as ``_smaller``. Ignores the devices' times."""
        return self.points[-1].sync_ns >= GROWTH_FACTOR * max(point.sync_ns for point in self._smaller)

    @property
    def shows_work(self) -> bool:
        """Whether the flushes of both largest amounts took longer, and the devices' own times do not contradict it."""
        return not self.device_times_are_flat and all(map(self._has_grown, self._largest))

    @property
    def device_times_are_flat(self) -> bool:
        """Whether the counters or the trace show that the devices' own flushes do not take longer."""
        if self.has_device_times and not self.flushing_devices:
            return True
        first, *_, last = self.points
        longest_ns = self._longest_traced_ns
        return longest_ns is not None and longest_ns < MIN_DEVICE_SHARE * (last.sync_ns - first.sync_ns)

    @property
    def has_device_times(self) -> bool:
        """Whether the lowest devices counted the time of their own flushes. The paths below dm-multipath do not."""
        flushes_counted = any(counters.flushes for counters in self.step.counters)
        counted_only_above = flushes_counted and not any(point.flush_ms for point in self.points)
        return not counted_only_above and any(point.flush_ms is not None for point in self.points)

    @property
    def flushing_devices(self) -> set[str]:
        flushed_devices = {device for point in self._largest for device in point.flush_ms or {}}
        return {device for device in flushed_devices if self._acts_on_flushes(device)}

    @property
    def per_mib_ns(self) -> float:
        return growth_ns_per_mib(self.points[0], self.points[-1])

    @property
    def summary(self) -> str:
        """The smallest and the largest amount: ``300 µs with none, 12.9 ms with 32.0 MiB``. If the largest one does not
        take longer than all smaller amounts, the slowest of these: ``40 ms with 64.0 KiB, 41 ms with 32.0 MiB``."""
        smaller = self.points[0] if self.appears_to_grow else max(self._smaller, key=lambda point: point.sync_ns)
        compared = (smaller, self.points[-1])
        return ", ".join(f"{duration_ns(point.sync_ns)} with {_amount_text(point)}" for point in compared)

    @property
    def evidence(self) -> str:
        times = ", ".join(f"{_amount_text(point)} {duration_ns(point.sync_ns)}" for point in self.points)
        shares = [point.arrived_share for point in self._largest if point.arrived_share is not None]
        arrived = f"; {ratio(min(shares))} had reached the device before the flush" if shares else ""
        last_times = sorted((self.points[-1].flush_ms or {}).items())
        device_times = ", ".join(f"{device} {ms:g} ms" for device, ms in last_times)
        by_counters = f"; last flush, by device: {device_times}" if device_times else ""
        longest_ns = self._longest_traced_ns
        by_trace = "" if longest_ns is None else f"; longest flush of a device: {duration_ns(longest_ns)} ({TRACE})"
        return f"{self.pattern}: {times}{arrived}{by_counters}{by_trace}"

    @property
    def _largest(self) -> tuple[GrowthPoint, ...]:
        return self.points[-_LARGEST_POINTS:]

    @property
    def _smaller(self) -> tuple[GrowthPoint, ...]:
        return self.points[:-_LARGEST_POINTS]

    @property
    def _longest_traced_ns(self) -> int | None:
        latencies = (trace.device_flush_ns for trace in self.step.trace or ())
        return max((latency.max for latency in latencies if latency), default=None)

    def _acts_on_flushes(self, device: str) -> bool:
        smaller_ms = [(point.flush_ms or {}).get(device, 0.0) for point in self._smaller]
        for point in self._largest:
            own_ms = (point.flush_ms or {}).get(device, 0.0)
            extra_ms = max(MIN_DEVICE_MS, MIN_DEVICE_SHARE * (point.sync_ns - self.points[0].sync_ns) / 1e6)
            if own_ms < GROWTH_FACTOR * max(smaller_ms) or own_ms - smaller_ms[0] < extra_ms:
                return False
        return True

    def _has_grown(self, point: GrowthPoint) -> bool:
        first = self.points[0]
        extra_ns = point.sync_ns - first.sync_ns
        has_arrived = point.arrived_share is not None and point.arrived_share >= MIN_ARRIVED_SHARE
        took_longer = point.sync_ns >= GROWTH_FACTOR * max(other.sync_ns for other in self._smaller)
        return has_arrived and took_longer and point.bytes - first.bytes <= FASTEST_BYTES_PER_NS * extra_ns


def flush_growth(step: Step) -> Iterator[FlushGrowth]:
    """Yield each pattern that a step measured with enough amounts of data. Other kinds of steps have no patterns."""
    if not isinstance(step.figures, DirtyFlushFigures) or step.status in {"failed", "skipped"} or not has_rate(step):
        return
    for pattern, timing in step.figures.patterns.items():
        points = {point.bytes: point for point in timing.points}
        if len(points) >= _MIN_POINTS:
            yield FlushGrowth(step, pattern, tuple(points[amount] for amount in sorted(points)))


def _amount_text(point: GrowthPoint) -> str:
    return size(point.bytes) if point.bytes else "none"


class LowestDevices:
    """The devices that hold the data, and which of them are verified.

    A device is verified if the time of its own work shows that it does not ignore flushes. A drive is also verified if
    it loses nothing in a power cut, according to its model or the user's declaration.
    """

    def __init__(self, host: Host, stack: Stack, working_ids: frozenset[str]) -> None:
        """``working_ids``: ids of the devices whose own times show that they act on flushes."""
        self._host, self._stack, self._working_ids = host, stack, working_ids
        self.all = stack.holding_devices

    @cached_property
    def unverified(self) -> tuple[Node, ...]:
        """The devices that may have ignored every flush, according to this evidence."""
        return tuple(node for node in self.all if not self._is_verified(node))

    @property
    def verified(self) -> bool:
        """Whether all devices are verified, as required for more than low confidence in durability."""
        return bool(self.all) and not self.unverified

    def doubt(self, excluded: Iterable[Node] = ()) -> str:
        """Return a sentence about the unverified devices, except memory and ``excluded``. It starts with a space.

        If there is no such device, the sentence says what the hypervisor of an unverified virtual disk usually does.
        """
        excluded_ids = {node.id for node in (*excluded, *self._stack.in_memory)}
        doubtful = [node for node in self.unverified if node.id not in excluded_ids]
        if not doubtful:
            platform = platforms.find(self._host.virtualization) if any(map(is_virtual, self.unverified)) else None
            return f" {platform.flush_default}." if platform else ""
        if self._host.virtualization:
            return f" fstui cannot see what the host does with data for {words.devices(doubtful)}."
        return f" Nothing in this run shows that flushes have an effect on {words.devices(doubtful)}."

    def _is_verified(self, node: Node) -> bool:
        """Return whether the device acts on flushes or is known to be safe. In a guest, neither can be verified: the
        time may come from the host's memory instead of the drive, and the reported medium may be wrong."""
        works = node.id in self._working_ids and is_attached_directly(node)
        return self._host.virtualization is None and (works or is_safe_drive(node))
