"""What a write costs here and what a flush adds to it: Tw, Ts and Td, each the typical time of one operation.

Tw: an O_DIRECT write. Ts: a write and fdatasync. Td: an O_DIRECT+O_DSYNC write. A neighbour only adds to a time, so of
two measurements of the same thing the shorter one stands.
"""

from __future__ import annotations

from typing import NamedTuple

from fstui.judge.descents import counted, undirected
from fstui.judge.override import explained
from fstui.judge.owed import call
from fstui.judge.steps import direct_alone, has_rate, synced, synced_by_mount
from fstui.model import Evidence, Latency, Step, SyncWrites
from fstui.quantities import duration_ns, plain

MEAN_TO_MEDIAN = 3
"""Beyond this a few slow operations carry the time: on a throttled disk p50 was 245 µs at 50 a second."""


class Cost(NamedTuple):
    """The typical time of one operation, and the step that showed it."""

    ns: int
    step: Step
    part: str = ""

    @property
    def because(self) -> str:
        return plain(f"{self.step.name}{self.part}: {duration_ns(self.ns)}")


def typical_ns(latency: Latency) -> int:
    """p50, or the mean where it is far beyond."""
    return latency.mean if latency.mean > MEAN_TO_MEDIAN * latency.p50 else latency.p50


def write_cost(evidence: Evidence) -> Cost | None:
    """Tw. None where O_DIRECT was not measured, met a cache in memory, or was synced by the mount."""
    if not evidence.steps or explained(evidence) or undirected(evidence) or synced_by_mount(evidence):
        return None
    alone = [_whole(step) for step, settings in direct_alone(evidence) if _comparable(step, settings)]
    parts = [
        Cost(typical_ns(step.write_ns), step, ", its write")
        for step, settings in _fdatasynced(evidence)
        if "direct" in settings.open_flags and step.write_ns
    ]
    return _shortest([*alone, *parts])


def synced_cost(evidence: Evidence) -> Cost | None:
    """Ts."""
    return _shortest([_whole(step) for step, _ in _fdatasynced(evidence)])


def dsync_cost(evidence: Evidence) -> Cost | None:
    """Td."""
    return _shortest(
        [
            _whole(step)
            for step, settings in synced(evidence)
            if call(settings) == "O_DSYNC" and "direct" in settings.open_flags and _comparable(step, settings)
        ]
    )


def as_owed(evidence: Evidence, step: Step) -> bool:
    """Its syncs were counted, and arrived as the flushes that the filesystem owes."""
    down = counted(evidence, step)
    return bool(down) and not any(arrival.lacks_flushes for arrival in down)


def fastest_synced(evidence: Evidence) -> Step | None:
    """The quickest of the overwrites that one writer synced one by one, as fast as it could."""
    paces = [step for step, settings in synced(evidence) if _comparable(step, settings)]
    return max(paces, key=lambda step: step.rate_per_s, default=None)


def slowest_fdatasync(evidence: Evidence) -> Step | None:
    """The slowest of those with fdatasync."""
    return min((step for step, _ in _fdatasynced(evidence)), key=lambda step: step.rate_per_s, default=None)


def _fdatasynced(evidence: Evidence) -> list[tuple[Step, SyncWrites]]:
    return [
        (step, settings)
        for step, settings in synced(evidence)
        if call(settings) == "fdatasync" and _comparable(step, settings)
    ]


def _comparable(step: Step, settings: SyncWrites) -> bool:
    """Overwrites, each on its own, as fast as they go: their times differ by what the disk does alone."""
    overwrites = settings.offsets in {"random", "same"} and settings.prefill == "written"
    return overwrites and settings.sync_every == 1 and settings.ops_per_s == 0 and has_rate(step)


def _whole(step: Step) -> Cost | None:
    return Cost(typical_ns(step.latency_ns), step) if step.latency_ns else None


def _shortest(costs: list[Cost | None]) -> Cost | None:
    return min((cost for cost in costs if cost), key=lambda cost: cost.ns, default=None)
