"""Yardsticks for the rates of a run: references, earlier runs, and physical limits of its disks."""

from collections.abc import Callable, Iterable
from functools import partial
from statistics import median, quantiles
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.facts.rotation import rpm
from fstui.judge.facts.steps import MIN_SYNCS, WriteStep, has_rate
from fstui.judge.references import NEVER_SYNCED, PublishedClass, operation_of, published_class
from fstui.judge.speed.stalls import without_cpu_ns
from fstui.measure.latency import STALL_NS
from fstui.model.quantities import count, counted, duration_ns, rate, rotation
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind

SLOW_FACTOR = 2
"""A step is slow if it is this many times slower than the slowest reference."""
ETCD_MIN_PER_S = 50
"""Even etcd, which writes little, requires this many commits per second."""
MIN_EARLIER_RUNS = 3
"""Earlier runs are a yardstick only if there are at least this many."""
MAX_BLOCK_BYTES = 65536
"""Published rates are for blocks of 512 bytes to 16 KiB. A much larger block takes longer to transfer than to sync."""
MAX_REVOLUTIONS = 10
"""A durable write of data and of a journal record, each with a flush, takes at most this many revolutions."""
MIN_SYNCS_OF_LONG_STEP, LONG_STEP_S = 5, 0.5
"""A step of at least this length has a rate even with few syncs, as on a disk that does 10 per second. A shorter step
needs more syncs, because a brief disturbance may have slowed it down."""
CPU_LOSS_FACTOR = 4
"""Kernel threads wait for a CPU, too. All waits together are assumed to be up to this many times the writer's wait."""


class StepComparison(NamedTuple):
    write_step: WriteStep
    slow_below_per_s: float
    """0 if the comparison cannot show that the step is slow."""
    min_normal_per_s: float
    evidence: str
    """The reference with its number: ``slow is below 42/s, half of the slowest published rate (83/s with fsync)``."""
    median_per_s: float | None = None
    """The median of the user's own runs, if the step is compared with these."""

    @property
    def step(self) -> Step:
        return self.write_step.step

    @property
    def per_s(self) -> float:
        return step_per_s(self.write_step)

    @property
    def is_slow(self) -> bool:
        return self.per_s < self.slow_below_per_s

    @property
    def is_normal(self) -> bool:
        return self.per_s >= self.min_normal_per_s

    @property
    def is_slow_without_cpu_waits(self) -> bool:
        """Whether the step would be slow without the time in which it or the kernel's threads had no CPU."""
        left_s = self.step.elapsed_s - CPU_LOSS_FACTOR * without_cpu_ns(self.step) / 1e9
        return left_s > 0 and not self.write_step.settings.ops_per_s and self.step.ops / left_s < self.slow_below_per_s

    @property
    def measured_rate(self) -> str:
        return rate_text(self.per_s, self.write_step)

    @property
    def line(self) -> str:
        return f"{self.step.name}: {self.measured_rate}; {self.evidence}"


def rate_text(per_s: float, write_step: WriteStep) -> str:
    """Return ``840/s``, or ``1.2 ms each`` for a step with a fixed rate."""
    return f"{duration_ns(1e9 / per_s)} each" if write_step.settings.ops_per_s else f"{rate(per_s)}/s"


class Yardstick(NamedTuple):
    name: str
    """``53 published rates for SSDs``"""
    comparisons: tuple[StepComparison, ...]

    @property
    def is_slow(self) -> bool:
        """Whether at least half of the steps are slow. Other processes may have slowed down a single step."""
        slow = sum(comparison.is_slow for comparison in self.comparisons)
        return slow > 0 and 2 * slow >= len(self.comparisons)

    @property
    def is_normal(self) -> bool:
        return 2 * sum(comparison.is_normal for comparison in self.comparisons) > len(self.comparisons)

    @property
    def worst(self) -> StepComparison:
        return min(self.comparisons, key=lambda comparison: comparison.per_s / comparison.min_normal_per_s)


def rated_steps(case: Case) -> Iterable[WriteStep]:
    """Return the steps whose rate depends only on the storage: those with one writer and one sync method."""
    return filter(_is_rated, case.steps.measured)


def fastest_small_step(case: Case) -> WriteStep | None:
    """Return the fastest step with blocks so small that the sync, not the transfer, decides its time."""
    small = [write_step for write_step in rated_steps(case) if write_step.settings.block_bytes <= MAX_BLOCK_BYTES]
    return max(
        (write_step for write_step in small if write_step.settings.sync_every == 1), key=step_per_s, default=None
    )


def step_per_s(write_step: WriteStep) -> float:
    """Return operations per second; for a step with a fixed rate, how many of its operations fit into one second."""
    latency = write_step.step.latency_ns if write_step.settings.ops_per_s else None
    return 1e9 / max(1, latency.mean) if latency else write_step.step.rate_per_s


def _is_rated(write_step: WriteStep) -> bool:
    if not write_step.sync_method or not has_rate(write_step.step) or not step_per_s(write_step):
        return False
    latency, few = write_step.step.latency_ns, MIN_SYNCS_OF_LONG_STEP
    if latency and latency.p50 >= STALL_NS:  # each sync takes so long that a step of check does not reach ``few``
        few = 1
    return write_step.syncs >= MIN_SYNCS or (write_step.syncs >= few and _is_long(write_step))


def find_yardsticks(case: Case) -> tuple[Yardstick, ...]:
    """Return the yardsticks that apply, the most specific first. That of etcd applies only to a slow run."""
    steps = tuple(rated_steps(case))
    at_full_speed = [write_step for write_step in steps if not write_step.settings.ops_per_s]
    own_names = ", ".join(dict.fromkeys(reference.name for reference in case.evidence.own_references))
    yardsticks = [
        _yardstick(f"your own {own_names}", at_full_speed, partial(_compare_to_own, case)),
        _yardstick(counted(len(case.evidence.earlier_runs), "earlier run"), steps, partial(_compare_to_earlier, case)),
    ]
    if known_class := published_class(case.commit_media):
        yardsticks.append(_yardstick(known_class.name, at_full_speed, partial(_compare_to_class, case, known_class)))
    if slowest_rpm := _slowest_rpm(case):
        compare = partial(_compare_to_revolutions, case, slowest_rpm)
        yardsticks.append(_yardstick(rotation(slowest_rpm), at_full_speed, compare))
    fastest_step = None if known_class else fastest_small_step(case)
    if fastest_step and _is_long(fastest_step):
        least_per_s = float(ETCD_MIN_PER_S)
        required = StepComparison(fastest_step, least_per_s, least_per_s, "etcd.io, hardware: at least 50/s")
        etcd = Yardstick(f"the {ETCD_MIN_PER_S}/s that etcd requires", (required,))
        yardsticks += [etcd] if etcd.is_slow else []
    return tuple(yardstick for yardstick in yardsticks if yardstick.comparisons)


def _yardstick(
    name: str, steps: Iterable[WriteStep], compare: Callable[[WriteStep], StepComparison | None]
) -> Yardstick:
    return Yardstick(name, tuple(comparison for write_step in steps if (comparison := compare(write_step))))


def _compare_to_own(case: Case, write_step: WriteStep) -> StepComparison | None:
    """Compare with the user's own runs: slow is below half of the slowest."""
    operation = operation_of(write_step.settings)
    references = [reference for reference in case.evidence.own_references if reference.operation == operation]
    if not references:
        return None
    floor = min(reference.slowest_per_s for reference in references) / SLOW_FACTOR
    return _compare_to_median(write_step, floor, median(reference.per_s for reference in references))


def _compare_to_earlier(case: Case, write_step: WriteStep) -> StepComparison | None:
    """Compare with earlier runs: slow is below half of the lower quartile."""
    means = [mean for run in case.evidence.earlier_runs if (mean := run.mean_ns.get(write_step.step.name))]
    if len(means) < MIN_EARLIER_RUNS:
        return None
    # the upper quartile of the times is the lower quartile of the rates
    floor = 1e9 / quantiles(means, n=4, method="inclusive")[2] / SLOW_FACTOR
    return _compare_to_median(write_step, floor, 1e9 / median(means))


def _compare_to_median(write_step: WriteStep, floor: float, median_per_s: float) -> StepComparison:
    evidence = f"the median is {rate_text(median_per_s, write_step)}"
    return StepComparison(write_step, floor if _is_long(write_step) else 0.0, floor, evidence, median_per_s)


def _compare_to_class(case: Case, known_class: PublishedClass, write_step: WriteStep) -> StepComparison | None:
    """Compare with the class: slow is below half of the slowest published rate of durable writes. That limit is divided
    by the work per sync of this stack."""
    operation = operation_of(write_step.settings)
    if operation is None or operation in NEVER_SYNCED or write_step.settings.block_bytes > MAX_BLOCK_BYTES:
        return None
    slowest, work = known_class.slowest_per_s, _work_per_sync(case, write_step)
    slow_below = slowest / SLOW_FACTOR / work
    half = f"half of the slowest published rate ({rate(slowest)}/s with {known_class.slowest_operation})"
    divisor = f", divided by {count(work)} for the extra writes of this stack" if work > 1 else ""
    evidence = f"slow is below {rate(slow_below)}/s, {half}{divisor}"
    return StepComparison(write_step, slow_below, slowest / work, evidence)


def _compare_to_revolutions(case: Case, slowest_rpm: int, write_step: WriteStep) -> StepComparison:
    revolutions = MAX_REVOLUTIONS * _work_per_sync(case, write_step)
    floor = slowest_rpm / 60 / revolutions
    evidence = f"slow is below {rate(floor)}/s: {count(revolutions)} revolutions per sync"
    return StepComparison(write_step, floor, floor, evidence)


def _is_long(write_step: WriteStep) -> bool:
    return write_step.step.elapsed_s >= LONG_STEP_S


def _slowest_rpm(case: Case) -> int | None:
    speeds = [speed for device in case.stack.commit_devices if device.medium and (speed := rpm(device.medium))]
    return min(speeds) if speeds and len(speeds) == len(case.stack.commit_devices) else None


def _work_per_sync(case: Case, write_step: WriteStep) -> float:
    """Return the work per sync, as a multiple of one overwrite in place: flushes, copy-on-write, parity, levels."""
    accounts = case.flushes.accounts(write_step)
    flushes = accounts[0].expected.low if accounts and accounts[0].expected else 1
    copies = any(kind(level.filesystem.kind).copies_on_write for level in case.stack.levels)
    parity = any(_may_write_parity(node) for node in case.stack.nodes)
    return max(1.0, flushes) * (2 if copies else 1) * (3 if parity else 1) * max(1, len(case.stack.levels))


def _may_write_parity(node: Node) -> bool:
    """Return whether the layer adds bytes, and has several devices other than logs, caches and spares."""
    data = [name for name in node.below if node.below_roles.get(name) not in {"slog", "l2arc", "spare"}]
    return len(data) > 1 and kind(node.kind).may_add_bytes(node)
