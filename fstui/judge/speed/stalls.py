"""Operations that took so long that everything waited for them, and whether a lack of CPU explains them."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.measure.kinds.sysbench import SysbenchFigures
from fstui.measure.latency import STALL_NS, stall_limit_ns
from fstui.model.quantities import duration_ns
from fstui.model.steps import STARVED_SHARE, Step

LONGEST_PAUSE = "the longest pause of a healthy device"
"""The yardstick for stalls."""
DEVICE_SHARE = 0.5
"""A stall is attributed to the device if one of its requests took at least this share of the stall."""
CPU_SHARE = 0.5
"""If the program had no CPU for this share of a stall, the storage may have finished long before the stall ended."""
MAX_CPU_WAITS = 40
"""A longer operation than this many of the writer's longest waits for a CPU waited for something else. Measured on a
busy host: stalls due to a lack of CPU took 4 to 20 of these waits, and 7 of 8 stalls due to a freeze more than 90."""
PRESSURE_INTERVAL_NS = 125_000_000
"""A writer reads the CPU pressure this often, or after each operation that takes longer."""
MEASURE_WITH_CPU = "Measure again when the host has CPU time to spare, and without a CPU limit."
MAX_CROWDED_OUT_NS = 10_000_000_000
"""Even on a busy host, a server gets some CPU time within this time, so a longer pause has another cause."""
STOLEN_SHARE = 0.05
"""Steal time counts only if it is at least this share of the step. A shorter time is spread over many operations and
explains no single stall."""


class StalledStep(NamedTuple):
    step: Step
    longest_ns: int
    call: str = ""
    """The system call that had not returned when fstui stopped waiting. Empty if the operation returned."""

    @property
    def line(self) -> str:
        if self.call:
            return f"{self.step.name}: {self.call} had not finished after {duration_ns(self.longest_ns)}"
        typical = f", p50 {duration_ns(self.step.latency_ns.p50)}" if self.step.latency_ns else ""
        return f"{self.step.name}: {duration_ns(self.longest_ns)} at worst{typical}"

    @property
    def without_cpu_ns(self) -> int:
        """The longest part of the operation that may have been spent without a CPU."""
        stolen = self.step.stolen_ns or 0
        longest_wait = self.step.longest_cpu_wait_ns or 0
        return max(longest_wait, stolen if stolen >= STOLEN_SHARE * self.step.elapsed_s * 1e9 else 0)

    @property
    def lacked_cpu(self) -> bool:
        return not self.call and self.without_cpu_ns >= CPU_SHARE * self.longest_ns


def stalled_steps(case: Case) -> tuple[StalledStep, ...]:
    return tuple(sorted(chain(_stalled_steps(case), _stalled_servers(case)), key=lambda stalled: -stalled.longest_ns))


def longest_wait_ns(step: Step) -> int:
    """Return the longest time without a completed operation, or without a commit of a server."""
    figures = step.figures
    pauses = figures.pauses() if isinstance(figures, SysbenchFigures) else ()
    times_s = [pause.end_s - pause.start_s for pause in pauses]
    times_s += [step.unanswered.elapsed_s] if step.unanswered else []
    return max(round(max(times_s, default=0) * 1e9), step.latency_ns.max if step.latency_ns else 0)


def is_due_to_freeze(step: Step, longest_ns: int) -> bool:
    """Return whether the filesystem was frozen for at least half of the step's longest operation."""
    frozen_ns = step.frozen_ns or 0
    return frozen_ns > 0 and frozen_ns >= longest_ns / 2


def _stalled_steps(case: Case) -> Iterator[StalledStep]:
    for step in case.steps.all:
        if isinstance(step.figures, SysbenchFigures):
            continue
        write_step = case.steps.as_write_step(step)
        # another write waits for the page cache, which may be writing other files; SQLite may write a checkpoint
        waits_for_disk = write_step is not None and (write_step.sync_method or write_step.direct)
        if step.unanswered and step.unanswered.elapsed_s * 1e9 >= STALL_NS:
            yield StalledStep(step, round(step.unanswered.elapsed_s * 1e9), step.unanswered.call)
        elif (
            step.latency_ns
            and not step.changed
            and (waits_for_disk or is_due_to_freeze(step, step.latency_ns.max))
            and step.latency_ns.max >= stall_limit_ns(step.latency_ns.p50)
        ):
            yield StalledStep(step, step.latency_ns.max)


def _stalled_servers(case: Case) -> Iterator[StalledStep]:
    """Yield the steps in which fstui's own server completed no commit for a while, unless a lack of CPU explains it."""
    for step in case.steps.all:
        figures = step.figures
        if not isinstance(figures, SysbenchFigures) or not step.stalls.count or step.changed:
            continue
        commits, unanswered, longest_ns = step.settings.commit_settings(figures), step.unanswered, longest_wait_ns(step)
        crowded_out = figures.others_load_processor and longest_ns < MAX_CROWDED_OUT_NS
        has_other_cause = unanswered or is_due_to_freeze(step, longest_ns)
        by_cpu = not has_other_cause and (figures.limited_by_processor or crowded_out)
        if commits and commits.counted and not (commits.existing or by_cpu):
            yield StalledStep(step, longest_ns, unanswered.call if unanswered else "")


def slowest_device(step: Step) -> tuple[str, int] | None:
    """Return the device with the longest request and its time in ns; None if the whole step was not traced."""
    return max(_longest_requests(step), key=lambda request: request[1], default=None)


def host_pressure_ns(case: Case, step: Step) -> int:
    """Return how long the host was short of CPU: during a long operation, or during a step of short ones. 0 if that was
    less than half of this time, if a disk took the time, or if the operation was too long for the waits of the writer.
    Loop devices and the like wait for kernel threads, too.
    """
    time_ns, pressure_ns = step.latency_ns.max if step.latency_ns else 0, step.longest_cpu_pressure_ns or 0
    disks = {node.id for node in case.stack.lowest}
    request_ns = max((ns for device, ns in _longest_requests(step) if device in disks), default=0)
    longest_wait_ns = time_ns if step.longest_cpu_wait_ns is None else step.longest_cpu_wait_ns
    if request_ns >= DEVICE_SHARE * time_ns or time_ns > max(MAX_CPU_WAITS * longest_wait_ns, PRESSURE_INTERVAL_NS):
        return 0
    if time_ns < PRESSURE_INTERVAL_NS:
        time_ns, pressure_ns = round(step.elapsed_s * 1e9), step.cpu_pressure_ns or 0
    return min(pressure_ns, time_ns) if pressure_ns >= CPU_SHARE * time_ns else 0


def _longest_requests(step: Step) -> Iterator[tuple[str, int]]:
    for trace in step.trace or () if not step.traced_part else ():
        for times in (trace.device_flush_ns, trace.device_write_ns):
            if times is not None:
                yield trace.device, times.max


def without_cpu_ns(step: Step) -> int:
    """Return the time in which the writer had no CPU, because it waited or the hypervisor took the CPU away."""
    return max(step.cpu_wait_ns or 0, step.stolen_ns or 0)


def is_starved(step: Step) -> bool:
    return without_cpu_ns(step) >= STARVED_SHARE * step.elapsed_s * 1e9


def cpu_may_explain(step: Step, ns: int, operations: float = 1) -> bool:
    """Return whether waits for a CPU are long enough to explain that this number of operations took ``ns``."""
    return StalledStep(step, ns).lacked_cpu and without_cpu_ns(step) >= CPU_SHARE * ns * operations
