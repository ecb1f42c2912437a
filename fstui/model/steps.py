"""A measured step, and a snapshot of a running one."""

from typing import Literal

import msgspec

from fstui.model.base import Amount, Base, Count
from fstui.model.counters import DeviceCounters, DeviceTrace
from fstui.model.settings import Figures, Settings

StepStatus = Literal["finished", "failed", "skipped", "stopped", "disturbed"]


STARVED_SHARE = 0.1
"""If a step waited for a CPU for at least this share of its time, its rate says little about the storage. The kernel
threads that do its I/O had to wait, too."""


class Failure(Base, frozen=True, kw_only=True):
    call: str
    errno: int | None
    message: str

    @property
    def text(self) -> str:
        return f"{self.call}: {self.message.removeprefix(f'[Errno {self.errno}] ')}"


class Latency(Base, frozen=True, kw_only=True):
    """Percentiles in ns. p99 is None for fewer than 100 samples, p99_9 for fewer than 1 000."""

    min: Count
    mean: Count
    p50: Count
    p90: Count
    p95: Count
    p99: Count | None
    p99_9: Count | None
    max: Count


class StallSummary(Base, frozen=True, kw_only=True):
    """Operations much slower than the rest, and the time lost in them."""

    count: Count = 0
    lost_s: Amount = 0.0


class PendingOperation(Base, frozen=True, kw_only=True):
    call: str
    elapsed_s: float
    writer: int = 0


class TimelinePoint(Base, frozen=True, kw_only=True):
    """One interval of a step. The counters are those of the lowest devices, if they were read in the interval."""

    t_s: Amount
    ops: Count
    p50_ns: Count | None = None
    p99_ns: Count | None = None
    max_ns: Count | None = None
    spread: tuple[tuple[Count, Count], ...] = ()
    """(upper bound in ns, count), four buckets per power of two; empty in old documents."""
    writes: Count | None = None
    written_bytes: Count | None = None
    flushes: Count | None = None


class CounterInterval(Base, frozen=True, kw_only=True):
    """A short interval of a step, between two readings of the counters."""

    elapsed_s: Amount
    ops: Count
    """Operations that started after the first reading and returned before the second, so the counters include them."""
    flushes: dict[str, Count] = {}
    """By layer. Layers that do not count flushes are missing."""
    written_bytes: dict[str, Count] = {}

    @property
    def counters(self) -> tuple[DeviceCounters, ...]:
        """The same numbers, in the form of ``Step.counters``."""
        return tuple(
            DeviceCounters(device=device, flushes=flushes, written_bytes=self.written_bytes.get(device))
            for device, flushes in self.flushes.items()
        )


class TracedPart(Base, frozen=True, kw_only=True):
    """The first part of a step, during which the kernel's trace ran."""

    elapsed_s: Amount
    ops: Count
    """Operations that returned in this part."""
    syncs: Count


class Step(Base, frozen=True, kw_only=True):
    name: str
    settings: Settings
    status: StepStatus = "finished"
    error: Failure | None = None
    changed: tuple[str, ...] = ()
    """One line for each setting that differed, at the start or end of the step, from the start of the run."""
    reason: str | None = None
    """Why it was skipped, or why it ran shorter or longer than planned."""
    ops: Count = 0
    syncs: Count = 0
    bytes: Count = 0
    writers: Count = 1
    prepare_s: Amount = 0.0
    elapsed_s: Amount = 0.0
    delayed_ns: Count = msgspec.field(default=0, name="held_ns")
    """How long the probe was blocked while it sent its samples to fstui."""
    cpu_wait_ns: Count | None = None
    """How long a writer was ready to run and had no CPU, or was stopped by a signal. With several writers: the longest
    of these times."""
    longest_cpu_wait_ns: Count | None = None
    """The longest such wait within one operation, or between two readings of the wait time (125 ms apart)."""
    cpu_pressure_ns: Count | None = None
    """How long at least one process of the host waited for a CPU (/proc/pressure/cpu); None if the kernel does not
    report it."""
    longest_cpu_pressure_ns: Count | None = None
    """The longest such time within one operation, or between two readings (125 ms apart)."""
    stolen_ns: Count | None = None
    """How long the hypervisor took a CPU away (steal time). With several CPUs: the longest of these times."""
    frozen_ns: Count | None = None
    """How long writes waited for the end of a freeze (fsfreeze, a snapshot); None if fstui saw no freeze."""
    rate_per_s: Amount = 0.0
    latency_ns: Latency | None = None
    write_ns: Latency | None = None
    sync_ns: Latency | None = None
    histogram: tuple[tuple[Count, Count], ...] = ()
    """(upper bound in ns, count) of whole operations."""
    stalls: StallSummary = StallSummary()
    unanswered: PendingOperation | None = None
    """The operation that had not returned when fstui stopped waiting. Its time so far counts as a sample, but ``ops``
    does not include it."""
    timeline: tuple[TimelinePoint, ...] = ()
    counters: tuple[DeviceCounters, ...] = ()
    """The counters of each layer, as differences between the probe's messages ``ready`` and ``done``."""
    counter_intervals: tuple[CounterInterval, ...] = msgspec.field(default=(), name="turns")
    """The counters of a few short intervals of a step with one writer. They show a layer that drops flushes briefly."""
    trace: tuple[DeviceTrace, ...] | None = None
    """The traced flushes of each block device between ``ready`` and ``done``; None: not traced."""
    traced_part: TracedPart | None = None
    """The part that ``trace`` covers; None: the whole step. The rest of a fast step is not traced."""
    figures: Figures | None = None

    @property
    def observed_s(self) -> float:
        """The measured time; of a step that was stopped before it, the time of its preparation."""
        return self.elapsed_s or self.prepare_s

    def device(self, device: str) -> DeviceCounters | None:
        return next((counters for counters in self.counters if counters.device == device), None)

    def has_changed(self, layer: str, setting: str) -> bool:
        """Return whether a setting of a layer differed from its value before the run."""
        return any(line.startswith(f"{layer}: {setting} ") for line in self.changed)


class Snapshot(Base, frozen=True, kw_only=True):
    """A snapshot of a running step. ``counters`` are differences since the step started."""

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
    stall: PendingOperation | None = None
    figures: Figures | None = None
