"""Yardsticks for the rates of a run: references, earlier runs, and physical limits of its disks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median, quantiles
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.facts.rotation import SLOWEST_RPM, rewrites_per_s, rpm
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep, has_rate
from fstui.judge.references import NEVER_SYNCED, any_class, class_of, comparable, operation_of, published
from fstui.judge.speed.reasons import limits_met
from fstui.model.quantities import counted, duration_ns, rate
from fstui.model.steps import Step
from fstui.storage.layers import kind

FAR = 2
"""How many times slower than the slowest reference a step must be to be called slow."""
ENOUGH_BEFORE = 3
MOST_BLOCK_BYTES = 65536
"""Published blocks have 512 bytes to 16 KiB. In much larger ones the bytes take the time, not the sync."""
MOST_REVOLUTIONS = 10
"""A durable write waits for a few revolutions and seeks: its data and a journal record, each with a flush."""
FEW_SYNCS, LONG_ENOUGH_S = 5, 0.5
"""This few syncs are a rate if they took this long: a check of two seconds sees 14 syncs of a disk that does 10 per
second. The cause of a shorter slow step may be over by now."""
CPU_BELOW = 4
"""Kernel threads that complete a write wait for a CPU, too: up to this many times the writer's waiting time is lost."""


class StepComparison(NamedTuple):
    """One step compared with one yardstick."""

    step: Step
    slow_below_per_s: float
    normal_from_per_s: float
    evidence: str
    """The reference with its number: ``the slowest of them did 83/s``."""
    paced: bool = False
    """The step's rate is only its pace, so the time of each operation counts."""

    @property
    def per_s(self) -> float:
        """Operations per second, or how many of a paced step would fit into one."""
        whole = self.step.latency_ns
        return 1e9 / max(1, whole.mean) if self.paced and whole else self.step.rate_per_s

    @property
    def slow(self) -> bool:
        return self.per_s < self.slow_below_per_s

    @property
    def normal(self) -> bool:
        return self.per_s >= self.normal_from_per_s

    def slow_without(self, lost_ns: int) -> bool:
        """Return whether the step would be slow without the time that it, and kernel threads, had no CPU."""
        left_s = self.step.elapsed_s - CPU_BELOW * lost_ns / 1e9
        return left_s > 0 and not self.paced and self.step.ops / left_s < self.slow_below_per_s

    @property
    def did(self) -> str:
        """``840/s``, or ``1.2 ms each``."""
        return f"{duration_ns(1e9 / self.per_s)} each" if self.paced else f"{rate(self.per_s)}/s"

    @property
    def line(self) -> str:
        return f"{self.step.name}: {self.did}; {self.evidence}"


class Yardstick(NamedTuple):
    """All steps compared with one yardstick."""

    name: str
    """``53 published on ssd``"""
    comparisons: tuple[StepComparison, ...]

    @property
    def slow(self) -> bool:
        """Half of the steps or more: other processes may have slowed a single step."""
        return bool(self.comparisons) and 2 * sum(one.slow for one in self.comparisons) >= len(self.comparisons)

    @property
    def normal(self) -> bool:
        return bool(self.comparisons) and 2 * sum(one.normal for one in self.comparisons) > len(self.comparisons)

    @property
    def worst(self) -> StepComparison:
        """The step that is furthest below."""
        return min(self.comparisons, key=lambda one: one.per_s / one.normal_from_per_s)


def rated(case: Case) -> Iterable[SyncStep]:
    """Return the steps with a rate of the storage: one writer synced each operation."""
    return (done for done in case.steps.measured if done.call and has_rate(done.step) and _is_rate(done))


def _is_rate(done: SyncStep) -> bool:
    return done.syncs >= MIN_SYNCS or (done.syncs >= FEW_SYNCS and done.step.elapsed_s >= LONG_ENOUGH_S)


def yardsticks(case: Case) -> tuple[Yardstick, ...]:
    """Return the yardsticks that apply, the most specific first. The last two can only show that a run is slow."""
    steps = tuple(rated(case))
    unpaced = tuple(done for done in steps if not done.settings.ops_per_s)
    found = (_own(case, unpaced), _before(case, steps), _of_class(case, unpaced), _revolutions(case, unpaced))
    only_slow = (_limited(case, steps), _of_any_class(case, steps))
    return tuple(one for one in found if one.comparisons) + tuple(one for one in only_slow if one.slow)


def _own(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    names = dict.fromkeys(one.name for one in case.evidence.own)
    return Yardstick(f"your own {', '.join(names)}", tuple(_with_own(case, steps)))


def _with_own(case: Case, steps: tuple[SyncStep, ...]) -> Iterator[StepComparison]:
    """Slow is below half of the slowest of the user's own runs."""
    for done in steps:
        same = [one for one in case.evidence.own if one.operation == operation_of(done.settings)]
        if same:
            floor = min(one.slowest_per_s for one in same) / FAR
            long_enough = done.step.elapsed_s >= LONG_ENOUGH_S
            evidence = f"their median is {rate(median(one.per_s for one in same))}/s"
            yield StepComparison(done.step, floor if long_enough else 0.0, floor, evidence)


def _before(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    return Yardstick(f"{counted(len(case.evidence.before), 'earlier run')}", tuple(_with_before(case, steps)))


def _with_before(case: Case, steps: tuple[SyncStep, ...]) -> Iterator[StepComparison]:
    """Slow is below half of the lower quartile, which is low for storage whose rate goes up and down."""
    for done in steps:
        means = [mean for run in case.evidence.before if (mean := run.mean_ns.get(done.step.name))]
        if len(means) >= ENOUGH_BEFORE:
            floor = 1e9 / quantiles(means, n=4, method="inclusive")[2] / FAR
            slow_below = floor if done.step.elapsed_s >= LONG_ENOUGH_S else 0.0
            paced, typical = done.settings.ops_per_s > 0, median(means)
            did = f"{duration_ns(typical)} each" if paced else f"{rate(1e9 / typical)}/s"
            yield StepComparison(done.step, slow_below, floor, f"their median is {did}", paced)


def _of_class(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    """Slow is below half of the slowest published durable write, divided by the work that the filesystem adds."""
    known = class_of(case.commit_media)
    if known is None:
        return Yardstick("", ())
    found = (_with_class(case, done, known.slowest_per_s) for done in steps if _is_published(done))
    return Yardstick(known.name, tuple(found))


def _with_class(case: Case, done: SyncStep, slowest: float) -> StepComparison:
    same = published(operation_of(done.settings), comparable(case.commit_media))
    normal_from = max(slowest, same[0].per_s / FAR if same else 0.0)
    work = _work(case, done)
    return StepComparison(done.step, slowest / FAR / work, normal_from / work, _slowest(slowest))


def _slowest(per_s: float) -> str:
    return f"the slowest of them did {rate(per_s)}/s"


def _is_published(done: SyncStep) -> bool:
    operation = operation_of(done.settings)
    return operation is not None and operation not in NEVER_SYNCED and done.settings.block_bytes <= MOST_BLOCK_BYTES


def _work(case: Case, done: SyncStep) -> float:
    """Return how many times the work of an overwrite in place this stack needs.

    More flushes, copy-on-write, parity, and filesystems in files each add work.
    """
    way = case.flushes.accounts(done)
    flushes = way[0].expected.low if way and way[0].expected else 1
    copies = any(kind(level.filesystem.kind).copies_on_write for level in case.stack.levels)
    parity = any(len(node.below) > 1 and kind(node.kind).may_add_bytes(node) for node in case.stack.nodes)
    return max(1.0, flushes) * (2 if copies else 1) * (3 if parity else 1) * max(1, len(case.stack.levels))


def _revolutions(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    found = [rpm(device.medium) for device in case.commit_devices if device.medium]
    known = [each for each in found if each]
    if not known or len(known) < len(case.commit_devices):
        return Yardstick("", ())
    slowest = min(known)
    evidence = f"{MOST_REVOLUTIONS} revolutions take {duration_ns(MOST_REVOLUTIONS * 60e9 / slowest)}"
    floors = ((done, slowest / 60 / MOST_REVOLUTIONS / _work(case, done)) for done in steps)
    return Yardstick(
        f"{slowest} rpm", tuple(StepComparison(done.step, floor, floor, evidence) for done, floor in floors)
    )


def _limited(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    """A limit that applies and allows fewer writes than the slowest disk does is slow on any storage."""
    per_s = rewrites_per_s(SLOWEST_RPM)
    found = (
        (done, any("iops" in limit.what and int(limit.value) < per_s for limit in limits_met(case, done.step)))
        for done in steps
        if done.step.elapsed_s >= LONG_ENOUGH_S
    )
    evidence = f"{per_s:.0f} revolutions per second"
    return Yardstick(
        f"a disk of {SLOWEST_RPM} rpm",
        tuple(
            StepComparison(done.step, per_s if applies else 0.0, per_s, evidence, done.settings.ops_per_s > 0)
            for done, applies in found
        ),
    )


def _of_any_class(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    """If the class is not known, half of the slowest durable write that was ever published is slow on anything."""
    if class_of(case.commit_media) is not None:
        return Yardstick("", ())
    name, slowest = any_class()
    found = (
        StepComparison(
            done.step,
            floor := slowest / FAR / _work(case, done),
            floor,
            _slowest(slowest),
            done.settings.ops_per_s > 0,
        )
        for done in steps
        if done.settings.sync_every == 1
        and done.settings.block_bytes <= MOST_BLOCK_BYTES
        and done.step.elapsed_s >= LONG_ENOUGH_S
    )
    return Yardstick(name, tuple(found))
