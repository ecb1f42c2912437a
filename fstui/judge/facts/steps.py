"""Which steps a rule may rest on."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec

from fstui.judge.facts.stack import Stack
from fstui.measure.kinds.base import StepSettings
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.run import Evidence
from fstui.model.settings import Figures, Settings
from fstui.model.steps import Step, Turn
from fstui.storage.layers.flushes import Call, Sync, every_write_synced

SYNC_CALLS = frozenset({"fsync", "fdatasync", "msync"})
WRITE_CALLS = frozenset({"write", "pwrite", "pwritev", "pwritev2"})
"""As a failure names them."""
MIN_SYNCS = 20
"""Fewer than these say nothing about a rate or a ratio."""
MIN_IN_TURN = 8
"""As many in a short turn, each of which lies wholly within it, tell whether its flushes were sent."""


class SyncStep(NamedTuple):
    """A step of synced writes, with its settings as the mount makes them."""

    step: Step
    settings: SyncWrites

    @property
    def call(self) -> Call | None:
        """The one call that makes each write durable; None for no sync, and for two ways at once."""
        return _call(self.settings)

    @property
    def sync(self) -> Sync | None:
        """How each write is made durable."""
        if self.call is None:
            return None
        overwrites = self.settings.offsets != "append" and self.settings.prefill == "written"
        return Sync(self.call, direct=self.direct, overwrites=overwrites, every=self.settings.sync_every)

    @property
    def direct(self) -> bool:
        return "direct" in self.settings.open_flags

    @property
    def forced(self) -> bool:
        """Each write is marked FUA where the device takes that."""
        return forces(self.settings)

    @property
    def direct_alone(self) -> bool:
        """O_DIRECT, and nothing that makes it durable."""
        return self.settings.open_flags == ("direct",) and self.settings.sync == "none"

    @property
    def syncs(self) -> int:
        """As its kind of step counts them; with ``-o sync`` every write is one."""
        return self.settings.syncs(self.step.ops, self.step.syncs, Figures())

    @property
    def turns(self) -> tuple[SyncStep, ...]:
        """Its short turns, each as a step of its own, where every operation is one sync."""
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
        """Overwrites, each on its own, as fast as they go: their times differ by what the disk does alone."""
        overwrites = self.settings.offsets in {"random", "same"} and self.settings.prefill == "written"
        return overwrites and self.synced_alone

    @property
    def synced_alone(self) -> bool:
        """Each before the next one, as fast as they go; of O_DIRECT alone, each answered before it."""
        return self.settings.sync_every == 1 and self.settings.ops_per_s == 0 and has_rate(self.step)


class Steps:
    """The steps of the evidence, sorted by what may rest on them."""

    def __init__(self, evidence: Evidence, stack: Stack) -> None:
        self.all = evidence.steps
        self._stack = stack

    @cached_property
    def mounted_sync(self) -> bool:
        """The filesystem that the files lie on was mounted with ``-o sync``."""
        levels = self._stack.levels
        return bool(levels) and every_write_synced(levels[0].filesystem)

    @cached_property
    def of_sync_writes(self) -> tuple[SyncStep, ...]:
        """Whatever became of them."""
        return tuple(SyncStep(step, settings) for step in self.all if (settings := self.in_effect(step.settings)))

    @cached_property
    def measured(self) -> tuple[SyncStep, ...]:
        """Those that one writer measured to their end or until they were stopped, on a stack that stayed the same."""
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
        """Those of several writers, each of whom made every write durable by one call, at least 20 times on average."""
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
        """Those of them that wrote with O_DIRECT and never synced, at least 20 times."""
        return tuple(done for done in self.measured if done.direct_alone and done.step.ops >= MIN_SYNCS)

    def of(self, step: Step) -> SyncStep | None:
        """That step, where it is one of synced writes."""
        return next((done for done in self.of_sync_writes if done.step is step), None)

    def in_effect(self, settings: Settings) -> SyncWrites | None:
        """As the mount makes them: with ``-o sync`` a write that nobody synced is one with O_DSYNC.

        None of a step that syncs no writes.
        """
        asked = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
        if asked and asked.sync == "none" and _call(asked) is None and self.mounted_sync:
            return msgspec.structs.replace(asked, open_flags=(*asked.open_flags, "dsync"))
        return asked


def _counts(step: Step) -> bool:
    """It was run, on a stack that stayed what it was."""
    return step.status not in {"failed", "skipped"} and not step.changed


def has_rate(step: Step) -> bool:
    """Its rate is the storage's; where the probe was held up, only what it counted stands."""
    return step.status != "disturbed"


def forces(settings: SyncWrites) -> bool:
    """Such writes are each marked FUA: O_DIRECT, and synced by their flag."""
    return "direct" in settings.open_flags and _call(settings) in {"O_DSYNC", "O_SYNC"}


def _call(settings: SyncWrites) -> Call | None:
    flags = settings.open_flags
    flag: Call | None = "O_SYNC" if "sync" in flags else "O_DSYNC" if "dsync" in flags else None
    if settings.sync == "none":
        return flag
    return None if flag else settings.sync
