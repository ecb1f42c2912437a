"""* suspicious, medium confidence: the flushes of the O_DSYNC writes did not arrive
* a note: in all other cases

## What it means
Writes to a file opened with O_DSYNC were at least three times as fast as the same writes followed by fdatasync. Neither
method may return before the data is on stable storage. If one of them is so much faster, it may return too early.

## How it was measured
In two steps, one writer rewrites blocks through the page cache: in one step with O_DSYNC, in the other with fdatasync
after each write. fstui compares the rates of the two steps, and their flushes (field 16 of `/sys/block/X/stat`). If the
O_DSYNC step caused fewer than 0.9 flushes per write, fstui concludes that its flushes did not arrive.

## What it proves, and what it does not
The finding does not show which layer is at fault. The kernel's common code handles both methods alike, so the
filesystem or a layer below it causes the difference.

Other processes that write to the same devices or use the processors may slow down only one of the two steps. If fstui
saw such processes, it ignores the difference between the rates, and reports only missing flushes.

Steps with O_DIRECT are not compared: O_DSYNC may then send a single FUA write, which takes less time (see
`fua-ignored`).

## What to do next
Run `odirect-truth` in the same directory, and compare what reached the device with each method. Until then, run MySQL
or MariaDB with `innodb_flush_method = O_DIRECT` or `fsync`, and PostgreSQL with `wal_sync_method = fdatasync`.
"""

from collections.abc import Iterator

from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import ENOUGH_SHARE
from fstui.judge.facts.steps import MIN_SYNCS, WriteStep
from fstui.judge.speed.stalls import is_starved
from fstui.measure.kinds.sysbench import SysbenchFigures
from fstui.model.quantities import rate, ratio
from fstui.model.steps import Step
from fstui.storage.layers.flushes import Call

SUSPICIOUS_RATIO = 3.0
"""If O_DSYNC is this many times as fast as fdatasync, O_DSYNC does not do the same work."""


@rule(order=20)
def odsync_cheaper(case: Case) -> Iterator[Conclusion]:
    rewrites = _buffered_rewrites(case)
    by_flag, by_call = rewrites.get("O_DSYNC"), rewrites.get("fdatasync")
    if case.configuration.breaks_sync or by_flag is None or by_call is None:
        return
    if not 0 < SUSPICIOUS_RATIO * by_call.step.rate_per_s <= by_flag.step.rate_per_s:
        return
    per_sync = case.flushes.per_sync(by_flag)
    lacks_flushes = per_sync is not None and per_sync < ENOUGH_SHARE and _expects_flushes(case, by_flag)
    if not lacks_flushes and _is_disturbed(case, by_flag.step, by_call.step):
        return
    flag_per_s, call_per_s = rate(by_flag.step.rate_per_s), rate(by_call.step.rate_per_s)
    times = ratio(by_flag.step.rate_per_s / by_call.step.rate_per_s)
    yield Conclusion(
        title=f"O_DSYNC {flag_per_s}/s, write + fdatasync {call_per_s}/s",
        sentence=f"Writes through O_DSYNC completed {times} times as often as write + fdatasync of the same blocks "
        f"({flag_per_s}/s and {call_per_s}/s). {_explanation(per_sync)}",
        verdict="suspicious" if lacks_flushes else None,
        confidence="medium",
        steps=[by_flag.step, by_call.step],
        evidence=[_evidence_line(write_step, case.flushes.per_sync(write_step)) for write_step in (by_call, by_flag)],
        next=(
            "Run odirect-truth here: it counts the flushes and bytes that reach the device with each method. Until "
            "then, use fdatasync or fsync (InnoDB: innodb_flush_method = O_DIRECT or fsync).",
        ),
    )


def _is_disturbed(case: Case, *steps: Step) -> bool:
    """Return whether other processes may explain a difference: they wrote to the devices or used the processors."""
    if case.other_writers.busy_devices or case.flushes.noisy_accounts or any(map(is_starved, steps)):
        return True
    figures_of_steps = (step.figures for step in case.steps.all)
    return any(isinstance(figures, SysbenchFigures) and figures.others_load_processor for figures in figures_of_steps)


def _buffered_rewrites(case: Case) -> dict[Call | None, WriteStep]:
    """Return the first step of each sync method in which one writer rewrote blocks through the page cache."""
    steps: dict[Call | None, WriteStep] = {}
    for write_step in case.steps.measured:
        settings = write_step.settings
        is_rewrite = settings.offsets != "append" and settings.sync_every == 1
        if is_rewrite and not write_step.direct and write_step.syncs >= MIN_SYNCS:
            steps.setdefault(write_step.sync_method, write_step)
    return steps


def _explanation(per_sync: float | None) -> str:
    if per_sync is None:
        return "No layer counts flushes here, so it is not known whether each O_DSYNC write caused one."
    if per_sync >= ENOUGH_SHARE:
        return (
            "Each O_DSYNC write still caused a flush at the device, so the flag works and the difference comes from "
            "another layer."
        )
    return (
        "Both must make the data durable, so some layer skips work for O_DSYNC that it does for fdatasync. A database "
        "with innodb_flush_method = O_DSYNC would look fast here."
    )


def _expects_flushes(case: Case, write_step: WriteStep) -> bool:
    accounts = case.flushes.accounts(write_step)
    return any(account.counted and account.expected and account.expected.low > 0 for account in accounts)


def _evidence_line(write_step: WriteStep, per_sync: float | None) -> str:
    counted = "flushes not counted" if per_sync is None else f"{ratio(per_sync)} flushes each"
    return f"{write_step.step.name}: {rate(write_step.step.rate_per_s)}/s, {counted}"
