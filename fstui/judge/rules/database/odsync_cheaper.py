"""*suspicious, medium confidence, if the flushes of O_DSYNC did not arrive; otherwise a note*

## What it means
Writes to a file opened with O_DSYNC completed at least three times as often as the same writes followed by fdatasync.
Both must return only when the data is on stable storage. Unless O_DSYNC uses FUA, one of them returns too early.

## How it was measured
Two steps rewrite the same blocks with one writer, one through O_DSYNC, one by write and fdatasync. Their rates and
their flushes (field 16 of `/sys/block/X/stat`) are compared.

## What it proves, and what it does not
It does not show which layer is at fault. Through the page cache the kernel treats both alike, so the difference comes
from another layer. With O_DIRECT, O_DSYNC may be a single FUA write, which is cheaper: see
`fua-ignored`.

Other processes that write to the same devices, or use the processors, can slow one step down and not the other. If
there are any, a difference alone is not reported, only missing flushes.

## What to do next
Run `odirect-truth` in the same directory and compare what reached the device. Until then, run MySQL or MariaDB
with `innodb_flush_method = O_DIRECT` or `fsync`, and PostgreSQL with `wal_sync_method = fdatasync`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import ENOUGH
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep
from fstui.judge.speed.stalls import starved
from fstui.measure.kinds.sysbench import SysbenchFigures
from fstui.model.quantities import rate, ratio
from fstui.model.steps import Step
from fstui.storage.layers.flushes import Call

CHEAPER = 3.0
"""At this many times the rate, O_DSYNC does less than fdatasync."""


@rule(order=20)
def odsync_cheaper(case: Case) -> Iterator[Conclusion]:
    rewrites = _buffered_rewrites(case)
    by_flag, by_call = rewrites.get("O_DSYNC"), rewrites.get("fdatasync")
    if case.configuration.breaks_sync or by_flag is None or by_call is None:
        return
    if not 0 < CHEAPER * by_call.step.rate_per_s <= by_flag.step.rate_per_s:
        return
    per_sync = case.flushes.per_sync(by_flag)
    missing = per_sync is not None and per_sync < ENOUGH and _expects_flushes(case, by_flag)
    if not missing and _disturbed(case, by_flag.step, by_call.step):
        return
    flag_per_s, call_per_s = rate(by_flag.step.rate_per_s), rate(by_call.step.rate_per_s)
    times = ratio(by_flag.step.rate_per_s / by_call.step.rate_per_s)
    yield Conclusion(
        title=f"O_DSYNC {flag_per_s}/s, write + fdatasync {call_per_s}/s",
        sentence=f"Writes through O_DSYNC completed {times} times as often as write + fdatasync of the same blocks "
        f"({flag_per_s}/s and {call_per_s}/s). {_meaning(case.flushes.per_sync(by_flag))}",
        verdict="suspicious" if missing else None,
        confidence="medium",
        steps=[by_flag.step, by_call.step],
        because=[_line(done, case.flushes.per_sync(done)) for done in (by_call, by_flag)],
        next=(
            "Run odirect-truth here: it counts what arrives of both. Until then, use fdatasync or fsync (InnoDB: "
            "innodb_flush_method = O_DIRECT or fsync).",
        ),
    )


def _disturbed(case: Case, *steps: Step) -> bool:
    """Return whether other processes may explain a difference: they wrote to the devices or used the processors."""
    if case.others.busy_while_idle or case.flushes.noisy or any(map(starved, steps)):
        return True
    figures = (step.figures for step in case.steps.all)
    return any(isinstance(found, SysbenchFigures) and found.crowded for found in figures)


def _buffered_rewrites(case: Case) -> dict[Call | None, SyncStep]:
    """Return the first step of each sync method in which one writer rewrote blocks through the page cache."""
    found: dict[Call | None, SyncStep] = {}
    for done in case.steps.measured:
        in_place = done.settings.offsets != "append" and not done.direct and done.settings.sync_every == 1
        if in_place and done.syncs >= MIN_SYNCS:
            found.setdefault(done.call, done)
    return found


def _meaning(per_sync: float | None) -> str:
    if per_sync is None:
        return "No layer counts flushes here, so it is not known whether each arrived."
    if per_sync >= ENOUGH:
        return (
            "Each reached the device as a flush all the same, so the flag works and the difference comes from another "
            "layer."
        )
    return (
        "Both must make the data durable, so something does less for the flag than for the call. A database with "
        "innodb_flush_method = O_DSYNC would look fast here."
    )


def _expects_flushes(case: Case, done: SyncStep) -> bool:
    accounts = case.flushes.accounts(done)
    return any(account.counted and account.expected and account.expected.low > 0 for account in accounts)


def _line(done: SyncStep, per_sync: float | None) -> str:
    counted = "flushes not counted" if per_sync is None else f"{ratio(per_sync)} flushes each"
    return f"{done.step.name}: {rate(done.step.rate_per_s)}/s, {counted}"
