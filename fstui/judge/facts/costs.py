"""What a write costs and what a flush adds to it: Tw, Ts and Td, each the typical time of one operation.

Tw is an O_DIRECT write, Ts a write and fdatasync, Td an O_DIRECT+O_DSYNC write. Other processes only add time, so of
two measurements of the same operation the shorter one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.steps import Steps, SyncStep
from fstui.model.quantities import duration_ns
from fstui.model.steps import Latency, Step

NETWORK_PER_S = 10_000
"""Most synced writes per second of a network volume.

A round trip within a zone takes 50 to 250 µs, and a cloud's volume writes several copies before it answers.
"""
NAND_PER_S = 10_000
"""Most flushed writes per second of one writer on a drive without power-loss protection, which must program NAND."""
CACHE_PER_S = 100_000
"""Most writes per second that a protected cache behind a bus completes for one writer."""
NAND_PROGRAM_NS = 200_000
"""The time that SLC takes to program a page; MLC and TLC take 600 µs and more."""
MEAN_TO_MEDIAN = 3
"""Above this ratio a few slow operations take most of the time, so the mean is typical (a median of 245 µs at 50/s)."""


class Cost(NamedTuple):
    ns: int
    step: Step
    part: str = ""

    @property
    def because(self) -> str:
        return f"{self.step.name}{self.part}: {duration_ns(self.ns)}"


class Costs:
    def __init__(self, steps: Steps, configuration: Configuration, flushes: RunFlushes) -> None:
        self._steps, self._configuration, self._flushes = steps, configuration, flushes

    @cached_property
    def write(self) -> Cost | None:
        """Tw; None if a cache in memory answered O_DIRECT, or the mount syncs each write."""
        if self._configuration.breaks_sync or self._flushes.not_direct or self._steps.mounted_sync:
            return None
        alone = [_whole(done) for done in self._steps.direct_alone if done.overwrites_alone]
        parts = [
            Cost(typical_ns(done.step.write_ns), done.step, ", its write")
            for done in self._fdatasynced
            if done.direct and done.step.write_ns
        ]
        return _shortest([*alone, *parts])

    @cached_property
    def synced(self) -> Cost | None:
        """Ts, of a write with fdatasync."""
        return _shortest(map(_whole, self._fdatasynced))

    @cached_property
    def dsync(self) -> Cost | None:
        """Td, of a write with O_DIRECT and O_DSYNC."""
        return _shortest(_whole(done) for done in self._overwrites if done.call == "O_DSYNC" and done.direct)

    @cached_property
    def fastest_synced(self) -> Step | None:
        return max((done.step for done in self._overwrites), key=lambda step: step.rate_per_s, default=None)

    @property
    def beyond_network(self) -> bool:
        fastest = self.fastest_synced
        return fastest is not None and fastest.rate_per_s >= NETWORK_PER_S

    @cached_property
    def _overwrites(self) -> tuple[SyncStep, ...]:
        return tuple(done for done in self._steps.synced if done.overwrites_alone)

    @cached_property
    def _fdatasynced(self) -> tuple[SyncStep, ...]:
        return tuple(done for done in self._overwrites if done.call == "fdatasync")


def typical_ns(latency: Latency) -> int:
    return latency.mean if latency.mean > MEAN_TO_MEDIAN * latency.p50 else latency.p50


def added(write: Cost, flushed: Cost) -> str:
    extra_ns = flushed.ns - write.ns
    return duration_ns(extra_ns) if extra_ns > 0 else "nothing"


def _whole(done: SyncStep) -> Cost | None:
    return Cost(typical_ns(done.step.latency_ns), done.step) if done.step.latency_ns else None


def _shortest(costs: Iterable[Cost | None]) -> Cost | None:
    return min((cost for cost in costs if cost), key=lambda cost: cost.ns, default=None)
