"""One measured step, and the view of one that runs."""

from __future__ import annotations

from typing import Literal

from fstui.model.base import Amount, Base, Count
from fstui.model.counters import DeviceCounters
from fstui.model.settings import Figures, Settings
from fstui.model.tracing import DeviceTrace

StepStatus = Literal["finished", "failed", "skipped", "stopped", "disturbed"]


STARVED_SHARE = 0.1
"""Of a step's time without a CPU: what works for it in the kernel had none either, and its rate tells little."""


class Failure(Base, frozen=True, kw_only=True):
    """The call that failed, its errno and what the kernel says about it."""

    call: str
    errno: int | None
    message: str

    @property
    def said(self) -> str:
        """In words: ``pwrite: No space left on device``."""
        return f"{self.call}: {self.message.removeprefix(f'[Errno {self.errno}] ')}"


class Latency(Base, frozen=True, kw_only=True):
    """Percentiles in ns. p99 is None below 100 samples, p99_9 below 1 000."""

    min: Count
    mean: Count
    p50: Count
    p90: Count
    p95: Count
    p99: Count | None
    p99_9: Count | None
    max: Count


class Stalls(Base, frozen=True, kw_only=True):
    """Operations much slower than the rest, and the time lost in them."""

    count: Count = 0
    lost_s: Amount = 0.0


class Stall(Base, frozen=True, kw_only=True):
    """An operation that has not returned yet."""

    call: str
    elapsed_s: float
    writer: int = 0


class TimelinePoint(Base, frozen=True, kw_only=True):
    """One stretch of a step. The counters are those of the lowest devices, where they were read in that stretch."""

    t_s: Amount
    ops: Count
    p50_ns: Count | None = None
    p99_ns: Count | None = None
    max_ns: Count | None = None
    spread: tuple[tuple[Count, Count], ...] = ()
    """(upper edge in ns, count), a quarter of an octave each; empty in a document that is older."""
    writes: Count | None = None
    written_bytes: Count | None = None
    flushes: Count | None = None


class Turn(Base, frozen=True, kw_only=True):
    """A short stretch of a step, between two readings of the counters."""

    elapsed_s: Amount
    ops: Count
    """Those that began after the first reading and had ended before the second: what they caused was counted."""
    flushes: dict[str, Count] = {}
    """By layer that counts them."""
    written_bytes: dict[str, Count] = {}

    @property
    def counters(self) -> tuple[DeviceCounters, ...]:
        """The same as a step has it."""
        return tuple(
            DeviceCounters(device=device, flushes=flushes, written_bytes=self.written_bytes.get(device))
            for device, flushes in self.flushes.items()
        )


class Step(Base, frozen=True, kw_only=True):
    """One measured step: what was asked, how long it took, what the kernel counted meanwhile."""

    name: str
    settings: Settings
    status: StepStatus = "finished"
    error: Failure | None = None
    changed: tuple[str, ...] = ()
    """How the stack differed before or after the step from what it was before the run: one line per setting."""
    reason: str | None = None
    """Why it was skipped, or why it ran shorter or longer than its time."""
    ops: Count = 0
    syncs: Count = 0
    bytes: Count = 0
    writers: Count = 1
    prepare_s: Amount = 0.0
    elapsed_s: Amount = 0.0
    held_ns: Count = 0
    cpu_wait_ns: Count | None = None
    """So long a writer was ready to run and had no CPU, of several the one that waited most; None: nobody counted."""
    longest_cpu_wait_ns: Count | None = None
    """Of that, at the most so much within one operation, or 50 ms of them."""
    stolen_ns: Count | None = None
    """So long the hypervisor ran something else in the place of a CPU, of several the one that lost most."""
    rate_per_s: Amount = 0.0
    latency_ns: Latency | None = None
    write_ns: Latency | None = None
    sync_ns: Latency | None = None
    histogram: tuple[tuple[Count, Count], ...] = ()
    """(upper edge in ns, count), whole operations."""
    stalls: Stalls = Stalls()
    unanswered: Stall | None = None
    """What had not returned when nobody waited any longer: a sample of the age it had, and none of ``ops``."""
    timeline: tuple[TimelinePoint, ...] = ()
    counters: tuple[DeviceCounters, ...] = ()
    """Differences between ``ready`` and ``done``, one entry per layer that counts anything, lowest included."""
    turns: tuple[Turn, ...] = ()
    """The same of a few short stretches, of a step with one writer: what lapses for a moment shows there."""
    trace: tuple[DeviceTrace, ...] | None = None
    """Whose flushes each block device of the stack was asked for between ``ready`` and ``done``; None: not traced."""
    figures: Figures | None = None

    def device(self, device: str) -> DeviceCounters | None:
        """That layer's counters of this step, or None."""
        return next((counters for counters in self.counters if counters.device == device), None)

    def changes(self, layer: str, setting: str) -> bool:
        """Return whether that setting of a layer differed from what it was before the run."""
        return any(line.startswith(f"{layer}: {setting} ") for line in self.changed)


class Snapshot(Base, frozen=True, kw_only=True):
    """An immutable view of a running step. ``counters`` are differences since the step's start."""

    index: int
    name: str
    elapsed_s: float
    length_s: float | None
    ops: int
    syncs: int
    bytes: int
    rate_per_s: float
    latency_ns: Latency | None = None
    sync_ns: Latency | None = None
    timeline: tuple[TimelinePoint, ...] = ()
    counters: tuple[DeviceCounters, ...] = ()
    stall: Stall | None = None
    figures: Figures | None = None
