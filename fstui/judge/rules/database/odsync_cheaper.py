"""*suspicious, medium confidence, where its flushes did not arrive; a note where they did, or where none are counted*

## What it means
Writes to a file opened with O_DSYNC ended at least three times as often as the same writes followed by fdatasync. Both
promise that the data is on stable storage when they return, so one of them does less than it says.

## How it was measured
The rates of two steps that rewrite the same blocks with one writer, one through O_DSYNC, one by write and fdatasync,
and the flushes that each came to, field 16 of `/sys/block/X/stat`.

## What it proves, and what not
Not who is at fault. Through the page cache the kernel treats both alike, so the difference is made above or beneath it.
With O_DIRECT, O_DSYNC may be one forced write (FUA) and honestly cheaper: see `fua-ignored`.

## What to do next
Run `odirect-truth` in the same place and compare what reached the device. Until then, run a database with
`innodb_flush_method = O_DIRECT` or `fsync`, PostgreSQL with `wal_sync_method = fdatasync`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.flushes import ENOUGH
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep
from fstui.model.judgement import Finding
from fstui.model.quantities import rate, ratio
from fstui.storage.layers.flushes import Call

CHEAPER = 3.0
"""At so many times the rate, it does less."""


@rule(place=20)
def odsync_cheaper(case: Case) -> Iterator[Finding]:
    """O_DSYNC promises what write + fdatasync does; far cheaper, it cannot be the same."""
    ways = _buffered_rewrites(case)
    by_flag, by_call = ways.get("O_DSYNC"), ways.get("fdatasync")
    if case.configuration.breaks_sync or by_flag is None or by_call is None:
        return
    if 0 < CHEAPER * by_call.step.rate_per_s <= by_flag.step.rate_per_s:
        yield _cheaper(case, by_flag, by_call)


def _buffered_rewrites(case: Case) -> dict[Call | None, SyncStep]:
    """The first step of each way to sync: rewrites of the same blocks by one writer, through the page cache."""
    found: dict[Call | None, SyncStep] = {}
    for done in case.steps.measured:
        in_place = done.settings.offsets != "append" and not done.direct and done.settings.sync_every == 1
        if in_place and done.syncs >= MIN_SYNCS:
            found.setdefault(done.call, done)
    return found


def _cheaper(case: Case, by_flag: SyncStep, by_call: SyncStep) -> Finding:
    flag_per_s, call_per_s = rate(by_flag.step.rate_per_s), rate(by_call.step.rate_per_s)
    times = ratio(by_flag.step.rate_per_s / by_call.step.rate_per_s)
    counted = case.flushes.flushes_each(by_flag)
    return Finding(
        rule="odsync-cheaper",
        verdict="suspicious" if counted is not None and counted < ENOUGH and _owes(case, by_flag) else None,
        confidence="medium",
        scope="storage",
        title=f"O_DSYNC {flag_per_s}/s, write + fdatasync {call_per_s}/s",
        sentence=f"Writes through O_DSYNC ended {times} times as often as write + fdatasync of the same blocks "
        f"({flag_per_s}/s and {call_per_s}/s). {_meaning(counted)}",
        steps=words.names([by_flag.step, by_call.step]),
        because=tuple(_line(done, case.flushes.flushes_each(done)) for done in (by_call, by_flag)),
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


def _owes(case: Case, done: SyncStep) -> bool:
    """A device that the kernel takes for "write through" is expected to get no flush by either way."""
    way = case.flushes.of(done)
    return any(account.counted and account.expected and account.expected.low > 0 for account in way)


def _line(done: SyncStep, flushes: float | None) -> str:
    counted = "flushes not counted" if flushes is None else f"{ratio(flushes)} flushes each"
    return f"{done.step.name}: {rate(done.step.rate_per_s)}/s, {counted}"
