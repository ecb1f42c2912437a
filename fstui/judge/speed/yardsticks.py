"""Yardsticks for the rates of a run: references, earlier runs, and physical limits of its disks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from statistics import median, quantiles
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.facts.rotation import SLOWEST_RPM, rewrites_per_s, rpm
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep, has_rate
from fstui.judge.references import NEVER_SYNCED, PublishedClass, class_of, comparable, operation_of, published
from fstui.judge.speed.reasons import limits_met
from fstui.model.quantities import count, counted, duration_ns, rate, rotation
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind

FAR = 2
"""How many times slower than the slowest reference a step must be to be called slow."""
MIN_PER_S = 50
"""Even etcd, which writes little, requires this many commits per second."""
MIN_EARLIER_RUNS = 3
MAX_BLOCK_BYTES = 65536
"""Published blocks have 512 bytes to 16 KiB. In much larger ones the bytes take the time, not the sync."""
MAX_REVOLUTIONS = 10
"""A durable write waits for a few revolutions and seeks: its data and a journal record, each with a flush."""
FEW_SYNCS, LONG_ENOUGH_S = 5, 0.5
"""Even few syncs are a rate if they took this long: a check of two seconds sees 14 syncs of a disk that does 10 per
second. The cause of a shorter slow step may be over by now."""
CPU_BELOW = 4
"""Kernel threads wait for a CPU, too. Together with the writer they lose up to this many times its waiting time."""


class StepComparison(NamedTuple):
    done: SyncStep
    slow_below_per_s: float
    """0 if the comparison cannot show that the step is slow."""
    normal_from_per_s: float
    evidence: str
    """The reference with its number: ``slow is below 42/s, half of the slowest published rate (83/s with fsync)``."""

    @property
    def step(self) -> Step:
        return self.done.step

    @property
    def per_s(self) -> float:
        return per_s(self.done)

    @property
    def slow(self) -> bool:
        return self.per_s < self.slow_below_per_s

    @property
    def normal(self) -> bool:
        return self.per_s >= self.normal_from_per_s

    def slow_without(self, lost_ns: int) -> bool:
        """Return whether the step would be slow without ``lost_ns``, in which it or the kernel's threads had no CPU."""
        left_s = self.step.elapsed_s - CPU_BELOW * lost_ns / 1e9
        return left_s > 0 and not self.done.settings.ops_per_s and self.step.ops / left_s < self.slow_below_per_s

    @property
    def did(self) -> str:
        return pace(self.per_s, self.done)

    @property
    def line(self) -> str:
        return f"{self.step.name}: {self.did}; {self.evidence}"


def pace(per_s: float, done: SyncStep) -> str:
    """Return ``840/s``, or ``1.2 ms each`` if the user limited the rate of the step."""
    return f"{duration_ns(1e9 / per_s)} each" if done.settings.ops_per_s else f"{rate(per_s)}/s"


class Yardstick(NamedTuple):
    name: str
    """``53 published rates for SSDs``"""
    comparisons: tuple[StepComparison, ...]

    @property
    def slow(self) -> bool:
        """Whether at least half of the steps are slow: other processes may have slowed down a single one."""
        return bool(self.comparisons) and 2 * sum(one.slow for one in self.comparisons) >= len(self.comparisons)

    @property
    def normal(self) -> bool:
        return bool(self.comparisons) and 2 * sum(one.normal for one in self.comparisons) > len(self.comparisons)

    @property
    def worst(self) -> StepComparison:
        return min(self.comparisons, key=lambda one: one.per_s / one.normal_from_per_s)


def rated(case: Case) -> Iterable[SyncStep]:
    """Return the steps with a rate of the storage: one writer, with one sync method."""
    return (done for done in case.steps.measured if done.call and has_rate(done.step) and _is_rate(done))


def best_small(case: Case) -> SyncStep | None:
    """Return the fastest step with blocks so small that the sync, not the transfer, decides its time."""
    small = [done for done in rated(case) if done.settings.block_bytes <= MAX_BLOCK_BYTES]
    return max((done for done in small if done.settings.sync_every == 1), key=per_s, default=None)


def per_s(done: SyncStep) -> float:
    """Return operations per second; for a paced step, how many would fit into one second."""
    latency = done.step.latency_ns if done.settings.ops_per_s else None
    return 1e9 / max(1, latency.mean) if latency else done.step.rate_per_s


def _is_rate(done: SyncStep) -> bool:
    return done.syncs >= MIN_SYNCS or (done.syncs >= FEW_SYNCS and _is_long(done))


def yardsticks(case: Case) -> tuple[Yardstick, ...]:
    """Return the yardsticks that apply, the most specific first. The last two can only show that a run is slow."""
    steps = tuple(rated(case))
    unpaced = [done for done in steps if not done.settings.ops_per_s]
    own = ", ".join(dict.fromkeys(one.name for one in case.evidence.own))
    found = [
        _yardstick(f"your own {own}", unpaced, partial(_with_own, case)),
        _yardstick(counted(len(case.evidence.before), "earlier run"), steps, partial(_with_earlier, case)),
    ]
    only_slow = [_yardstick(f"a {rotation(SLOWEST_RPM)} disk", filter(_is_long, steps), partial(_with_limits, case))]
    if known := class_of(case.commit_media):
        found.append(_yardstick(known.name, unpaced, partial(_with_class, case, known)))
    elif best := best_small(case):
        only_slow.append(_yardstick(f"the {MIN_PER_S}/s that etcd requires", filter(_is_long, [best]), _with_etcd))
    if slowest_rpm := _slowest_rpm(case):
        found.append(_yardstick(rotation(slowest_rpm), unpaced, partial(_with_revolutions, case, slowest_rpm)))
    return (*(one for one in found if one.comparisons), *(one for one in only_slow if one.slow))


def _yardstick(name: str, steps: Iterable[SyncStep], compare: Callable[[SyncStep], StepComparison | None]) -> Yardstick:
    return Yardstick(name, tuple(found for done in steps if (found := compare(done))))


def _with_own(case: Case, done: SyncStep) -> StepComparison | None:
    """Compare with the user's own runs: below half of the slowest is slow."""
    same = [one for one in case.evidence.own if one.operation == operation_of(done.settings)]
    if not same:
        return None
    floor = min(one.slowest_per_s for one in same) / FAR
    evidence = f"the median is {rate(median(one.per_s for one in same))}/s"
    return StepComparison(done, floor if _is_long(done) else 0.0, floor, evidence)


def _with_earlier(case: Case, done: SyncStep) -> StepComparison | None:
    """Compare with earlier runs: below half of the lower quartile is slow. If rates vary, that limit is low."""
    means = [mean for run in case.evidence.before if (mean := run.mean_ns.get(done.step.name))]
    if len(means) < MIN_EARLIER_RUNS:
        return None
    # the upper quartile of the times is the lower quartile of the rates
    floor = 1e9 / quantiles(means, n=4, method="inclusive")[2] / FAR
    return StepComparison(
        done, floor if _is_long(done) else 0.0, floor, f"the median is {pace(1e9 / median(means), done)}"
    )


def _with_class(case: Case, published_class: PublishedClass, done: SyncStep) -> StepComparison | None:
    """Compare with the class: slow is below half of the slowest published rate of durable writes, divided by the extra
    work of this filesystem."""
    operation = operation_of(done.settings)
    if operation is None or operation in NEVER_SYNCED or done.settings.block_bytes > MAX_BLOCK_BYTES:
        return None
    same, slowest = published(operation, comparable(case.commit_media)), published_class.slowest_per_s
    normal_from = max(slowest, same[0].per_s / FAR if same else 0.0)
    work = _work(case, done)
    slow_below = slowest / FAR / work
    known = f"half of the slowest published rate ({rate(slowest)}/s with {published_class.slowest_operation})"
    more = f", divided by {count(work)} for the extra writes of this stack" if work > 1 else ""
    return StepComparison(done, slow_below, normal_from / work, f"slow is below {rate(slow_below)}/s, {known}{more}")


def _with_etcd(done: SyncStep) -> StepComparison:
    """Compare with the least that etcd requires: a disk of any kind whose best step does less is slow."""
    floor = float(MIN_PER_S)
    return StepComparison(done, floor, floor, "etcd.io, hardware: at least 50/s")


def _with_revolutions(case: Case, slowest_rpm: int, done: SyncStep) -> StepComparison:
    revolutions = MAX_REVOLUTIONS * _work(case, done)
    floor = slowest_rpm / 60 / revolutions
    evidence = f"slow is below {rate(floor)}/s: {count(revolutions)} revolutions per sync"
    return StepComparison(done, floor, floor, evidence)


def _with_limits(case: Case, done: SyncStep) -> StepComparison:
    """Compare with a limit that applies: if it allows fewer writes than the slowest disk does, the storage is slow."""
    floor = rewrites_per_s(SLOWEST_RPM)
    applies = any("iops" in limit.what and int(limit.value) < floor for limit in limits_met(case, done.step))
    evidence = f"{floor:.0f} revolutions per second"
    return StepComparison(done, floor if applies else 0.0, floor, evidence)


def _is_long(done: SyncStep) -> bool:
    return done.step.elapsed_s >= LONG_ENOUGH_S


def _slowest_rpm(case: Case) -> int | None:
    known = [each for device in case.stack.commit_devices if device.medium and (each := rpm(device.medium))]
    return min(known) if known and len(known) == len(case.stack.commit_devices) else None


def _work(case: Case, done: SyncStep) -> float:
    """Return the work per sync, relative to one overwrite in place: flushes, copy-on-write, parity, files."""
    accounts = case.flushes.accounts(done)
    flushes = accounts[0].expected.low if accounts and accounts[0].expected else 1
    copies = any(kind(level.filesystem.kind).copies_on_write for level in case.stack.levels)
    parity = any(_may_write_parity(node) for node in case.stack.nodes)
    return max(1.0, flushes) * (2 if copies else 1) * (3 if parity else 1) * max(1, len(case.stack.levels))


def _may_write_parity(node: Node) -> bool:
    """Return whether the layer spreads data over several devices: a pool's log, cache and spare devices hold none."""
    data = [name for name in node.below if node.below_roles.get(name) not in {"slog", "l2arc", "spare"}]
    return len(data) > 1 and kind(node.kind).may_add_bytes(node)
