"""What a write costs and what a flush adds to it: Tw, Ts and Td, each the typical time of one operation.

Tw is the time of an O_DIRECT write, Ts of a write with fdatasync, Td of an O_DIRECT+O_DSYNC write. Other processes only
add time, so if an operation was measured twice, the shorter time counts.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps, WriteStep
from fstui.model.quantities import duration_ns
from fstui.model.steps import Latency, Step

NETWORK_PER_S = 10_000
"""The maximum number of synced writes per second of a network volume.

A round trip within a zone takes 50 to 250 µs, and a cloud's volume writes several copies before it acknowledges.
"""
NAND_PER_S = 10_000
"""The maximum number of flushed writes per second of one writer on a drive that must program NAND for each flush."""
CACHE_PER_S = 100_000
"""The maximum number of writes per second that a protected cache behind a bus completes for one writer."""
NAND_PROGRAM_NS = 200_000
"""The time that SLC takes to program a page; MLC and TLC take 600 µs and more."""
MEAN_TO_MEDIAN = 3
"""Above this ratio of mean to median, a few slow operations take most of the time, so the mean is the typical time. For
example, the median was 245 µs at 50 operations per second."""


class Cost(NamedTuple):
    ns: int
    step: Step
    suffix: str = ""
    """Text after the name of the step, if the cost is only a part of the step's operations: ``, its write``."""

    @property
    def evidence(self) -> str:
        return f"{self.step.name}{self.suffix}: {duration_ns(self.ns)}"


class Costs:
    def __init__(self, stack: Stack, steps: Steps, configuration: Configuration, flushes: RunFlushes) -> None:
        self._stack, self._steps, self._configuration, self._flushes = stack, steps, configuration, flushes

    @cached_property
    def write(self) -> Cost | None:
        """Tw; None if it was not measured, syncs are broken, O_DIRECT was buffered, or a layer is unknown."""
        if self._configuration.breaks_sync or self._flushes.buffered_direct or self._stack.unknown_layers:
            return None
        unsynced = [_whole_cost(step) for step in self._steps.unsynced_direct if step.overwrites_at_full_speed]
        parts = [
            Cost(typical_ns(write_step.step.write_ns), write_step.step, ", its write")
            for write_step in self._fdatasynced
            if write_step.direct and write_step.step.write_ns
        ]
        return _shortest([*unsynced, *parts])

    @cached_property
    def synced(self) -> Cost | None:
        """Ts, of a write with fdatasync."""
        return _shortest(map(_whole_cost, self._fdatasynced))

    @cached_property
    def dsync(self) -> Cost | None:
        """Td, of a write with O_DIRECT and O_DSYNC."""
        return _shortest(
            _whole_cost(step) for step in self._steps.synced_overwrites if step.sync_method == "O_DSYNC" and step.direct
        )

    @cached_property
    def fastest_synced(self) -> Step | None:
        steps = (write_step.step for write_step in self._steps.synced_overwrites)
        return max(steps, key=lambda step: step.rate_per_s, default=None)

    @property
    def is_faster_than_network(self) -> bool:
        fastest = self.fastest_synced
        return fastest is not None and fastest.rate_per_s >= NETWORK_PER_S

    @cached_property
    def _fdatasynced(self) -> tuple[WriteStep, ...]:
        return tuple(
            write_step for write_step in self._steps.synced_overwrites if write_step.sync_method == "fdatasync"
        )


def typical_ns(latency: Latency) -> int:
    return latency.mean if latency.mean > MEAN_TO_MEDIAN * latency.p50 else latency.p50


def added_time(write: Cost, synced: Cost) -> str:
    extra_ns = synced.ns - write.ns
    return duration_ns(extra_ns) if extra_ns > 0 else "nothing"


def _whole_cost(write_step: WriteStep) -> Cost | None:
    step = write_step.step
    return Cost(typical_ns(step.latency_ns), step) if step.latency_ns else None


def _shortest(costs: Iterable[Cost | None]) -> Cost | None:
    return min((cost for cost in costs if cost), key=lambda cost: cost.ns, default=None)
