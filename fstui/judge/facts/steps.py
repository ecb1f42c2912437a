"""The steps of a run, selected for the rules by how they wrote and synced."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from fstui.measure.kinds import StepSettings
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.run import Evidence
from fstui.model.settings import Figures, Settings
from fstui.model.steps import CounterInterval, Step
from fstui.storage.layers.flushes import Call, Sync

SYNC_CALLS = frozenset({"fsync", "fdatasync", "msync"})
WRITE_CALLS = frozenset({"write", "pwrite", "pwritev", "pwritev2"})
"""The system calls for writing and syncing that the error of a failed step may name."""
MIN_SYNCS = 20
"""Minimum number of syncs for a statement about a rate or a ratio."""
MIN_INTERVAL_OPS = 8
"""Minimum number of operations to judge an interval, the part of a step between two readings of the counters."""


class WriteStep(NamedTuple):
    step: Step
    settings: SyncWrites

    @property
    def sync_method(self) -> Call | None:
        """The system call or the flag of open(2) that syncs; None if the step uses neither, or both."""
        return _sync_method(self.settings)

    @property
    def sync(self) -> Sync | None:
        method, settings = self.sync_method, self.settings
        if method is None:
            return None
        overwrites = settings.offsets != "append" and settings.prefill == "written"
        return Sync(method, direct=self.direct, overwrites=overwrites)

    @property
    def direct(self) -> bool:
        return "direct" in self.settings.open_flags

    @property
    def writes_fua(self) -> bool:
        return writes_fua(self.settings)

    @property
    def is_unsynced_direct(self) -> bool:
        return self.settings.open_flags == ("direct",) and self.settings.sync == "none"

    @property
    def syncs(self) -> int:
        return self.settings.syncs(self.step.ops, self.step.syncs, Figures())

    @property
    def traced_syncs(self) -> int:
        """The number of syncs in the part of the step that was traced."""
        part = self.step.traced_part
        return self.settings.syncs(part.ops, part.syncs, Figures()) if part else self.syncs

    @property
    def intervals(self) -> tuple[WriteStep, ...]:
        """The intervals of at least MIN_INTERVAL_OPS operations, as steps; empty unless every operation is one sync."""
        if self.settings.sync_every != 1:
            return ()
        return tuple(
            self._interval_step(interval)
            for interval in self.step.counter_intervals
            if interval.ops >= MIN_INTERVAL_OPS
        )

    def _interval_step(self, interval: CounterInterval) -> WriteStep:
        step = replace(
            self.step,
            ops=interval.ops,
            syncs=interval.ops,
            bytes=interval.ops * self.settings.block_bytes,
            elapsed_s=interval.elapsed_s,
            counters=interval.counters,
            counter_intervals=(),
            trace=None,
            traced_part=None,
        )
        return self._replace(step=step)

    @property
    def overwrites_at_full_speed(self) -> bool:
        """Whether the step overwrites written blocks at full speed, so that only the disk limits the rate."""
        overwrites = self.settings.offsets in {"random", "same"} and self.settings.prefill == "written"
        return overwrites and self.writes_at_full_speed

    @property
    def writes_at_full_speed(self) -> bool:
        """Whether the step writes without pauses and, if it syncs, syncs each write before the next one."""
        return self.settings.sync_every == 1 and self.settings.ops_per_s == 0 and has_rate(self.step)


class Steps:
    """The selections of steps. The steps of ``measured``, ``synced`` and ``unsynced_direct`` have one writer."""

    def __init__(self, evidence: Evidence) -> None:
        self.all = evidence.steps

    @cached_property
    def write_steps(self) -> tuple[WriteStep, ...]:
        """All steps that write, including failed and skipped ones."""
        steps = ((step, as_sync_writes(step.settings)) for step in self.all)
        return tuple(WriteStep(step, settings) for step, settings in steps if settings)

    @cached_property
    def measured(self) -> tuple[WriteStep, ...]:
        """The steps with one writer that were not skipped and did not fail, on a stack that did not change."""
        return tuple(
            write_step
            for write_step in self.write_steps
            if write_step.settings.writers == 1 == write_step.step.writers and _is_valid(write_step.step)
        )

    @cached_property
    def synced(self) -> tuple[WriteStep, ...]:
        """The measured steps that used one sync method and synced at least 20 times."""
        return tuple(step for step in self.measured if step.sync_method and step.syncs >= MIN_SYNCS)

    @cached_property
    def synced_overwrites(self) -> tuple[WriteStep, ...]:
        """The synced steps that overwrite written blocks at full speed."""
        return tuple(step for step in self.synced if step.overwrites_at_full_speed)

    @cached_property
    def synced_by_several_writers(self) -> tuple[WriteStep, ...]:
        """The steps with several writers that synced every write, on average at least 20 times per writer."""
        return tuple(
            write_step
            for write_step in self.write_steps
            if write_step.settings.writers == write_step.step.writers > 1
            and write_step.settings.sync_every == 1
            and _is_valid(write_step.step)
            and write_step.sync_method
            and write_step.syncs >= MIN_SYNCS * write_step.settings.writers
        )

    @cached_property
    def unsynced_direct(self) -> tuple[WriteStep, ...]:
        """The measured steps that wrote with O_DIRECT at least 20 times and never synced."""
        return tuple(step for step in self.measured if step.is_unsynced_direct and step.step.ops >= MIN_SYNCS)

    def as_write_step(self, step: Step) -> WriteStep | None:
        """Return the step as a WriteStep; None if it does not write and sync."""
        return next((write_step for write_step in self.write_steps if write_step.step is step), None)


def as_sync_writes(settings: Settings) -> SyncWrites | None:
    return settings.as_sync_writes() if isinstance(settings, StepSettings) else None


def _is_valid(step: Step) -> bool:
    return step.status not in {"failed", "skipped"} and not step.changed


def has_rate(step: Step) -> bool:
    """Return whether the rate of the step is valid. If the probe was delayed, the counters are still valid."""
    return step.status != "disturbed"


def writes_fua(settings: SyncWrites) -> bool:
    """Return whether each write is marked FUA: with O_DIRECT, and synced by a flag."""
    return "direct" in settings.open_flags and _sync_method(settings) in {"O_DSYNC", "O_SYNC"}


def _sync_method(settings: SyncWrites) -> Call | None:
    flags = settings.open_flags
    flag: Call | None = "O_SYNC" if "sync" in flags else "O_DSYNC" if "dsync" in flags else None
    if settings.sync == "none":
        return flag
    return None if flag else settings.sync
