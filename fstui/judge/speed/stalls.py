"""Operations that held everybody up, and whether the want of a CPU did it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.facts.steps import SyncStep
from fstui.model.quantities import duration_ns
from fstui.model.steps import STARVED_SHARE, Step

STALL_NS = 250_000_000
"""No sound storage keeps one writer waiting so long, of whatever class."""
OWN_TIMES = 10
"""Of its p50, where several writers wait in turn."""
_FLASH = frozenset({"ssd", "ssd-plp", "optane", "raid-cache", "memory"})
"""Known to be no rotating disk: a tenth of a second, and ten times the p50, is no pause of theirs."""
CPU_EXPLAINS = 0.5
"""Of a stall: so much of it was spent without a CPU, and the storage may have answered long before."""
STOLEN_SHARE = 0.05
"""Of a step's time: less than that, spread over a long one, is no stall."""


class Held(NamedTuple):
    """The longest operation of a step that stalled."""

    step: Step
    ns: int
    call: str = ""
    """It never returned while somebody waited."""

    @property
    def line(self) -> str:
        if self.call:
            return f"{self.step.name}: {self.call} had not returned after {duration_ns(self.ns)}"
        typical = f", p50 {duration_ns(self.step.latency_ns.p50)}" if self.step.latency_ns else ""
        return f"{self.step.name}: {duration_ns(self.ns)} at worst{typical}"

    @property
    def cpu_ns(self) -> int:
        """Of that, at the most so much without a CPU."""
        step = self.step
        stolen = step.stolen_ns or 0
        at_once = step.longest_cpu_wait_ns or 0
        return max(at_once, stolen if stolen >= STOLEN_SHARE * step.elapsed_s * 1e9 else 0)

    @property
    def by_cpu(self) -> bool:
        return not self.call and self.cpu_ns >= CPU_EXPLAINS * self.ns


def slowest_device(step: Step) -> tuple[str, int] | None:
    """The device whose own answer took longest, by the kernel's trace, and how long; None where nobody timed them."""
    times = (
        (seen.device, part.max)
        for seen in step.trace or ()
        for part in (seen.device_flush_ns, seen.device_write_ns)
        if part is not None
    )
    return max(times, key=lambda time: time[1], default=None)


def stalled(case: Case) -> tuple[Held, ...]:
    """The steps in which an operation stalled, the longest first."""
    return tuple(sorted(_stalled(case), key=lambda held: -held.ns))


def _stalled(case: Case) -> Iterator[Held]:
    flash = bool(case.commit_media) and case.commit_media <= _FLASH
    for done in case.steps.of_sync_writes:
        step = done.step
        if step.unanswered and step.unanswered.elapsed_s * 1e9 >= STALL_NS:
            yield Held(step, round(step.unanswered.elapsed_s * 1e9), step.unanswered.call)
        elif step.latency_ns and not step.changed and _waits_for_storage(done) and _too_long(done, flash):
            yield Held(step, step.latency_ns.max)


def _waits_for_storage(done: SyncStep) -> bool:
    """What is not synced waits for the page cache, which may make it wait for other files."""
    return done.call is not None or done.direct


def _too_long(done: SyncStep, flash: bool) -> bool:
    whole = done.step.latency_ns
    if whole is None:
        return False
    if done.settings.writers > 1:
        return whole.max >= max(STALL_NS, OWN_TIMES * whole.p50)
    return whole.max >= STALL_NS or (flash and done.step.stalls.count > 0)


def without_cpu_ns(step: Step) -> int:
    """The time in which its writer had no CPU: it waited for one, or the hypervisor took it away."""
    return max(step.cpu_wait_ns or 0, step.stolen_ns or 0)


def starved(step: Step) -> bool:
    """The want of a CPU is a part of its times."""
    return without_cpu_ns(step) >= STARVED_SHARE * step.elapsed_s * 1e9
