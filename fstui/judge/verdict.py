"""What the findings come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fstui.judge import (
    arrival,
    bounds,
    caches,
    classes,
    classic,
    context,
    database,
    device,
    fitness,
    growth,
    odsync,
    override,
    paced,
    physics,
    powercut,
    process,
    remote,
    timeline,
    zfs,
)
from fstui.judge.shortfall import shortfall
from fstui.model import VERDICTS, Confidence, Evidence, Finding, Judgement, Verdict

Rule = Callable[[Evidence], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    powercut.power_cut,
    process.sync_stubbed,
    override.in_memory,
    override.overlay_volatile,
    zfs.zfs_sync_off,
    override.barriers_off,
    override.write_through_override,
    arrival.flushes_missing,
    arrival.bytes_missing,
    arrival.flushes_arrive,
    growth.flush_flat,
    physics.same_block_rotation,
    physics.odirect_no_cache,
    physics.odirect_before_platter,
    device.virtio_no_flush,
    device.usb_bridge,
    device.fua_ignored,
    caches.consumer_nand_too_fast,
    caches.protected_cache,
    caches.raid_cache,
    bounds.network_too_fast,
    bounds.link_exceeded,
    remote.remote_filesystem,
    database.commits_without_flushes,
    odsync.odsync_cheaper,
    classes.slower_than_class,
    context.sync_error,
    context.stack_state,
    context.odirect_alone,
    context.mounted_sync,
    context.other_writers,
    context.ephemeral,
    context.stalls,
    timeline.rate_changed,
    fitness.etcd_fit,
    context.disturbed,
    process.in_its_shoes,
    paced.sync_latency,
    classic.two_clocks,
)
"""Every rule. A rule is a pure function named like its public name and yields findings of that name only."""

SAID_FIRST = ("stack-state", "sync-latency")
"""Notes whose sentence comes before the verdict's: what makes a measurement worthless, and what a watch was asked."""

_CONFIDENCE: tuple[Confidence, ...] = ("high", "medium", "low")
_BEFORE_SOFT: tuple[Verdict, ...] = ("lost", "not-durable", "kept", "suspicious")
"""``kept`` beats all but ``lost`` and ``not-durable``; the other three weigh their confidence first."""


def judge(evidence: Evidence) -> Judgement:
    """The findings, worst first, and what they come to. Without steps: what the configuration alone decides."""
    found = sorted((finding for rule in RULES for finding in rule(evidence)), key=_order)
    first = " ".join(finding.sentence for finding in found if finding.rule in SAID_FIRST)
    ground = decisive(found)
    verdict: Verdict = (ground and ground.verdict) or "cannot-tell"
    return Judgement(
        verdict=verdict,
        confidence=ground.confidence if ground else "low",
        sentence=f"{first} {ground.sentence if ground else shortfall(evidence)}".strip(),
        findings=tuple(found),
    )


def decisive(findings: Sequence[Finding]) -> Finding | None:
    """The finding that the verdict rests on; None where none of storage or process has a verdict."""
    judging = [finding for finding in findings if finding.verdict is not None and finding.scope != "step"]
    return min(judging, key=_weight, default=None)


def _weight(finding: Finding) -> tuple[int, int, int]:
    verdict = finding.verdict or "cannot-tell"
    sure, rank = _CONFIDENCE.index(finding.confidence), VERDICTS.index(verdict)
    return (_BEFORE_SOFT.index(verdict) if verdict in _BEFORE_SOFT else len(_BEFORE_SOFT), sure, rank)


def _order(finding: Finding) -> tuple[bool, bool, int, int]:
    """Worst first, the more confident first; what speaks of one step only after the disk; notes last."""
    rank = VERDICTS.index(finding.verdict) if finding.verdict else len(VERDICTS)
    of_state = finding.rule == "stack-state"
    return (
        finding.verdict is None,
        finding.scope == "step" or (finding.verdict is None and not of_state),
        rank,
        _CONFIDENCE.index(finding.confidence),
    )
