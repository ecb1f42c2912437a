"""The steps that a rule may rest on."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec

from fstui.judge.facts.stack import Stack
from fstui.measure.kinds import StepSettings
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.run import Evidence
from fstui.model.settings import Figures, Settings
from fstui.model.steps import Step, Turn
from fstui.storage.layers.flushes import Call, Sync, every_write_synced

SYNC_CALLS = frozenset({"fsync", "fdatasync", "msync"})
WRITE_CALLS = frozenset({"write", "pwrite", "pwritev", "pwritev2"})
"""As named in a failure."""
MIN_SYNCS = 20
"""Fewer syncs say nothing about a rate or a ratio."""
MIN_IN_TURN = 8
"""Fewer operations in a turn do not show whether their flushes were sent."""


class SyncStep(NamedTuple):
    """A step of synced writes, with its settings as the mount options change them."""

    step: Step
    settings: SyncWrites

    @property
    def call(self) -> Call | None:
        """The call that makes each write durable; None without a sync, and if two methods are combined."""
        return _call(self.settings)

    @property
    def sync(self) -> Sync | None:
        if self.call is None:
            return None
        overwrites = self.settings.offsets != "append" and self.settings.prefill == "written"
        return Sync(self.call, direct=self.direct, overwrites=overwrites, every=self.settings.sync_every)

    @property
    def direct(self) -> bool:
        return "direct" in self.settings.open_flags

    @property
    def writes_fua(self) -> bool:
        """Whether each write is marked FUA if the device supports it."""
        return writes_fua(self.settings)

    @property
    def direct_alone(self) -> bool:
        """Whether it writes with O_DIRECT and never syncs."""
        return self.settings.open_flags == ("direct",) and self.settings.sync == "none"

    @property
    def syncs(self) -> int:
        """The number of syncs; with ``-o sync`` every write is one."""
        return self.settings.syncs(self.step.ops, self.step.syncs, Figures())

    @property
    def turns(self) -> tuple[SyncStep, ...]:
        """Its short turns as steps of their own, if every operation is one sync."""
        if self.settings.sync_every != 1:
            return ()
        return tuple(self._during(turn) for turn in self.step.turns if turn.ops >= MIN_IN_TURN)

    def _during(self, turn: Turn) -> SyncStep:
        part = msgspec.structs.replace(
            self.step,
            ops=turn.ops,
            syncs=turn.ops,
            bytes=turn.ops * self.settings.block_bytes,
            elapsed_s=turn.elapsed_s,
            counters=turn.counters,
            turns=(),
            trace=None,
        )
        return self._replace(step=part)

    @property
    def overwrites_alone(self) -> bool:
        """Whether it overwrites and syncs one block at a time, as fast as possible, so that the disk alone decides."""
        overwrites = self.settings.offsets in {"random", "same"} and self.settings.prefill == "written"
        return overwrites and self.synced_alone

    @property
    def synced_alone(self) -> bool:
        """Whether each write is complete before the next one, as fast as possible."""
        return self.settings.sync_every == 1 and self.settings.ops_per_s == 0 and has_rate(self.step)


class Steps:
    """The steps of the evidence, sorted by what they can show."""

    def __init__(self, evidence: Evidence, stack: Stack) -> None:
        self.all = evidence.steps
        self._stack = stack

    @cached_property
    def mounted_sync(self) -> bool:
        """Whether the topmost filesystem was mounted with ``-o sync``."""
        levels = self._stack.levels
        return bool(levels) and every_write_synced(levels[0].filesystem)

    @cached_property
    def of_sync_writes(self) -> tuple[SyncStep, ...]:
        """Including failed and skipped ones."""
        return tuple(SyncStep(step, settings) for step in self.all if (settings := self.in_effect(step.settings)))

    @cached_property
    def measured(self) -> tuple[SyncStep, ...]:
        """The steps with one writer that were not skipped and did not fail, on a stack that did not change."""
        return tuple(
            done
            for done in self.of_sync_writes
            if done.settings.writers == 1 == done.step.writers and _counts(done.step)
        )

    @cached_property
    def synced(self) -> tuple[SyncStep, ...]:
        """Those of them that made their writes durable by one call, at least 20 times."""
        return tuple(done for done in self.measured if done.call and done.syncs >= MIN_SYNCS)

    @cached_property
    def synced_by_several(self) -> tuple[SyncStep, ...]:
        """The steps in which several writers made every write durable, 20 times each on average or more."""
        return tuple(
            done
            for done in self.of_sync_writes
            if done.settings.writers == done.step.writers > 1
            and done.settings.sync_every == 1
            and _counts(done.step)
            and done.call
            and done.syncs >= MIN_SYNCS * done.settings.writers
        )

    @cached_property
    def direct_alone(self) -> tuple[SyncStep, ...]:
        """The measured steps that wrote with O_DIRECT at least 20 times and never synced."""
        return tuple(done for done in self.measured if done.direct_alone and done.step.ops >= MIN_SYNCS)

    def of(self, step: Step) -> SyncStep | None:
        """Return that step if it writes with syncs."""
        return next((done for done in self.of_sync_writes if done.step is step), None)

    def in_effect(self, settings: Settings) -> SyncWrites | None:
        """Return the settings as the mount options change them; None if the step has no writes.

        With ``-o sync``, a write without a sync behaves as with O_DSYNC.
        """
        writes = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
        if writes and writes.sync == "none" and _call(writes) is None and self.mounted_sync:
            return msgspec.structs.replace(writes, open_flags=(*writes.open_flags, "dsync"))
        return writes


def _counts(step: Step) -> bool:
    """Return whether it was run on a stack that did not change."""
    return step.status not in {"failed", "skipped"} and not step.changed


def has_rate(step: Step) -> bool:
    """Return whether its rate is that of the storage. If the probe was held up, only its counters are valid."""
    return step.status != "disturbed"


def writes_fua(settings: SyncWrites) -> bool:
    """Return whether each write is marked FUA: with O_DIRECT, and synced by a flag."""
    return "direct" in settings.open_flags and _call(settings) in {"O_DSYNC", "O_SYNC"}


def _call(settings: SyncWrites) -> Call | None:
    flags = settings.open_flags
    flag: Call | None = "O_SYNC" if "sync" in flags else "O_DSYNC" if "dsync" in flags else None
    if settings.sync == "none":
        return flag
    return None if flag else settings.sync
