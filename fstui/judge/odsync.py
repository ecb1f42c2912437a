"""Rule ``odsync-cheaper``: O_DSYNC promises what write + fdatasync does; far cheaper, it cannot be the same."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.counting import ENOUGH, arrivals
from fstui.judge.override import explained
from fstui.judge.owed import Call, call
from fstui.judge.steps import MIN_SYNCS, measured, names, syncs
from fstui.model import Evidence, Finding, Step
from fstui.quantities import plain, rate, ratio

CHEAPER = 3.0
"""At so many times the rate, it does less."""


def odsync_cheaper(evidence: Evidence) -> Iterator[Finding]:
    """Buffered rewrites of the same blocks, by one writer, each way."""
    if explained(evidence):
        return
    rates: dict[Call | None, Step] = {}
    for step, settings in measured(evidence):
        in_place = settings.offsets != "append" and "direct" not in settings.open_flags and settings.sync_every == 1
        if in_place and settings.block_bytes and syncs(step, settings) >= MIN_SYNCS:
            rates.setdefault(call(settings), step)
    by_flag, by_call = rates.get("O_DSYNC"), rates.get("fdatasync")
    if by_flag is None or by_call is None or by_flag.rate_per_s < CHEAPER * by_call.rate_per_s:
        return
    times = by_flag.rate_per_s / by_call.rate_per_s
    flushes = {step.name: _flushes_each(evidence, step) for step in (by_call, by_flag)}
    counted = flushes[by_flag.name]
    dropped = counted is not None and counted < ENOUGH
    yield Finding(
        rule="odsync-cheaper",
        verdict="suspicious" if dropped else None,
        confidence="medium",
        scope="storage",
        title=f"O_DSYNC {rate(by_flag.rate_per_s)}/s, write + fdatasync {rate(by_call.rate_per_s)}/s",
        sentence=f"Writes through O_DSYNC ended {ratio(times)} times as often as write + fdatasync of the same blocks "
        f"({rate(by_flag.rate_per_s)}/s and {rate(by_call.rate_per_s)}/s). " + _meaning(counted),
        steps=names([by_flag, by_call]),
        because=tuple(
            plain(f"{step.name}: {rate(step.rate_per_s)}/s, {_told(flushes[step.name])}") for step in (by_call, by_flag)
        ),
        next=("Run odirect-truth here: it counts what arrives of both. Until then, prefer O_DIRECT or fsync.",),
    )


def _meaning(counted: float | None) -> str:
    if counted is None:
        return "No layer counts flushes here, so it is not known whether each arrived; run again without other load."
    if counted >= ENOUGH:
        return (
            "Each reached the device as a flush all the same: the flag is taken seriously, and the difference is made "
            "elsewhere; run again without other load."
        )
    return (
        "Both promise the same, so something takes the flag less seriously than the call. A database with "
        "innodb_flush_method = O_DSYNC would look fast here."
    )


def _flushes_each(evidence: Evidence, step: Step) -> float | None:
    """Flushes per sync at the topmost level that counts them."""
    for counted, settings in measured(evidence):
        if counted == step and evidence.target:
            found = (arrival.per_sync for arrival in arrivals(evidence.target, step, settings) if arrival.flushes)
            return next(found, None)
    return None


def _told(flushes: float | None) -> str:
    return "flushes not counted" if flushes is None else f"{ratio(flushes)} flushes each"
