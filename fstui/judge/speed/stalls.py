"""Operations that took so long that everything waited for them, and whether a lack of CPU explains it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.measure.kinds.sysbench import SysbenchFigures
from fstui.measure.latency import STALL_NS, stall_limit_ns
from fstui.model.quantities import duration_ns
from fstui.model.steps import STARVED_SHARE, Step

LONGEST_PAUSE = "the longest pause of a healthy device"
CPU_EXPLAINS = 0.5
"""If this share of a stall was spent without a CPU, the storage may have answered long before."""
STOLEN_SHARE = 0.05
"""Time that the hypervisor took counts only if it is at least this share of the step. Less is spread over many
operations and explains no single one."""


class StalledStep(NamedTuple):
    step: Step
    ns: int
    call: str = ""
    """The system call that had not returned when fstui stopped waiting. Empty if the operation returned."""

    @property
    def line(self) -> str:
        if self.call:
            return f"{self.step.name}: {self.call} had not returned after {duration_ns(self.ns)}"
        typical = f", p50 {duration_ns(self.step.latency_ns.p50)}" if self.step.latency_ns else ""
        return f"{self.step.name}: {duration_ns(self.ns)} at worst{typical}"

    @property
    def without_cpu_ns(self) -> int:
        """The longest part of the operation that may have been spent without a CPU."""
        stolen = self.step.stolen_ns or 0
        longest_wait = self.step.longest_cpu_wait_ns or 0
        return max(longest_wait, stolen if stolen >= STOLEN_SHARE * self.step.elapsed_s * 1e9 else 0)

    @property
    def by_cpu(self) -> bool:
        return not self.call and self.without_cpu_ns >= CPU_EXPLAINS * self.ns


def stalled_steps(case: Case) -> tuple[StalledStep, ...]:
    return tuple(sorted(chain(_stalled_steps(case), _silent_servers(case)), key=lambda stalled: -stalled.ns))


def _stalled_steps(case: Case) -> Iterator[StalledStep]:
    for done in case.steps.of_sync_writes:
        step = done.step
        if step.unanswered and step.unanswered.elapsed_s * 1e9 >= STALL_NS:
            yield StalledStep(step, round(step.unanswered.elapsed_s * 1e9), step.unanswered.call)
        elif (
            step.latency_ns
            and not step.changed
            and (done.call or done.direct)  # else it waits for the page cache, which may be writing other files
            and step.latency_ns.max >= stall_limit_ns(step.latency_ns.p50)
        ):
            yield StalledStep(step, step.latency_ns.max)


def _silent_servers(case: Case) -> Iterator[StalledStep]:
    """Yield steps in which fstui's own server completed nothing for a while, but not because it waited for a CPU."""
    for step in case.steps.all:
        figures = step.figures
        if not isinstance(figures, SysbenchFigures) or not step.stalls.count or step.changed:
            continue
        commits, never = step.settings.commit_settings(figures), step.unanswered
        by_cpu = not never and (figures.limited_by_processor or figures.crowded)
        if commits and commits.counted and not (commits.existing or by_cpu):
            times_ns = [(one.until_s - one.since_s) * 1e9 for one in figures.silences()]
            times_ns += [never.elapsed_s * 1e9] if never else []
            times_ns += [step.latency_ns.max] if step.latency_ns else []
            yield StalledStep(step, round(max(times_ns, default=0)), never.call if never else "")


def slowest_device(step: Step) -> tuple[str, int] | None:
    """Return the device with the longest request in the trace, and the time of that request in ns."""
    times = (
        (seen.device, part.max)
        for seen in step.trace or ()
        for part in (seen.device_flush_ns, seen.device_write_ns)
        if part is not None
    )
    return max(times, key=lambda time: time[1], default=None)


def without_cpu_ns(step: Step) -> int:
    """Return the time in which the writer had no CPU: it waited for one, or the hypervisor took it away."""
    return max(step.cpu_wait_ns or 0, step.stolen_ns or 0)


def starved(step: Step) -> bool:
    return without_cpu_ns(step) >= STARVED_SHARE * step.elapsed_s * 1e9
