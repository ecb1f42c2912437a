"""Which steps a rule may rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fstui.judge.layers import levels
from fstui.judge.owed import call, is_mounted_sync
from fstui.model import Evidence, Step, SyncWrites
from fstui.quantities import seconds

MIN_SYNCS = 20
"""Fewer than these say nothing about a rate or a ratio."""


def settings_of(step: Step) -> SyncWrites | None:
    """The settings of a ``sync_writes`` step; None for other probes and for settings that do not fit."""
    if step.probe != "sync_writes":
        return None
    try:
        return msgspec.convert(step.settings, SyncWrites)
    except msgspec.ValidationError:
        return None


def in_effect(evidence: Evidence, step: Step) -> SyncWrites | None:
    """The same as the mount makes them: with ``-o sync`` a write that nobody synced is one with O_DSYNC."""
    settings = settings_of(step)
    if settings and settings.sync == "none" and call(settings) is None and synced_by_mount(evidence):
        return msgspec.structs.replace(settings, open_flags=(*settings.open_flags, "dsync"))
    return settings


def synced_by_mount(evidence: Evidence) -> bool:
    """The filesystem that the files lie on was mounted with ``-o sync``."""
    stack = levels(evidence.target) if evidence.target else ()
    return bool(stack) and is_mounted_sync(stack[0].filesystem)


def measured(evidence: Evidence) -> Iterator[tuple[Step, SyncWrites]]:
    """The steps that one writer measured to their end or until they were stopped."""
    for step in evidence.steps:
        settings = in_effect(evidence, step)
        if settings and settings.writers == 1 == step.writers and step.status not in {"failed", "skipped"}:
            yield step, settings


def synced(evidence: Evidence) -> Iterator[tuple[Step, SyncWrites]]:
    """Those of them that made their writes durable by one call, at least 20 times."""
    for step, settings in measured(evidence):
        if call(settings) and syncs(step, settings) >= MIN_SYNCS:
            yield step, settings


def direct_alone(evidence: Evidence) -> Iterator[tuple[Step, SyncWrites]]:
    """Those of them that wrote with O_DIRECT and never synced, at least 20 times."""
    for step, settings in measured(evidence):
        if settings.open_flags == ("direct",) and settings.sync == "none" and step.ops >= MIN_SYNCS:
            yield step, settings


def has_rate(step: Step) -> bool:
    """Its rate is the storage's; where the probe was held up, only what it counted stands."""
    return step.status != "disturbed"


def syncs(step: Step, settings: SyncWrites) -> int:
    """A write through O_DSYNC or O_SYNC is a sync of its own."""
    return step.syncs if settings.sync != "none" else step.ops if call(settings) else 0


def names(steps: Iterable[Step]) -> tuple[str, ...]:
    """The steps' names, each once."""
    return tuple(dict.fromkeys(step.name for step in steps))


def time_measured(steps: Iterable[Step]) -> str:
    """What a sentence says of the time that it covers: ``the 3.0 s measured``. A step given twice counts once."""
    return f"the {seconds(sum({id(step): step.elapsed_s for step in list(steps)}.values()))} measured"
