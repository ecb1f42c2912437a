"""* consistent, medium or low confidence: more unsynced data makes a flush longer
* a note: in a virtual machine, more unsynced data does not make a flush longer

## What it means
More unsynced data makes a flush longer, unless the disk has power-loss protection. In a virtual machine, a flush may
always take the same time: the host's disk has power-loss protection, or the host ignores flushes.

## How it was measured
fstui wrote growing amounts of data, up to 32 MiB, with O_DIRECT, and timed fdatasync after each amount. The flush
time grows if all of these are true:

- Before the flush, at least 95 % of the bytes had reached the lowest device.
- Each of the two largest amounts took at least 1.5 times as long to flush as any of the other amounts.
- The extra data was flushed at 10 GB/s or less. Only memory is faster.
- If the kernel measures the device's flush time, this time grew, too.

The note appears only if flushes were sent and arrived, a flush takes less than twice as long as a write, and the
medium is not known to be protected.

## What it proves, and what it does not
If the flush time grows, a flush has an effect; only a power cut proves more. If it does not grow, fstui cannot tell
whether the host's disk is protected or the host ignores flushes.

Confidence is medium on real hardware if each lowest device meets one of these conditions. Otherwise, it is low.

- Its own flush time grows, and it is attached directly (no USB, RAID or network).
- It has power-loss protection, according to its model or your declaration.

## What to do next
Find out whether the host's disk has power-loss protection. If so, declare it (`--medium ssd-plp`). For stronger
evidence, use `fstui powercut`.
"""

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost, added_time
from fstui.judge.facts.flush_work import FlushGrowth
from fstui.model.quantities import duration_ns

CHEAP_BELOW = 2
"""A flush is cheap if it adds less time than this many writes take."""


@rule(order=40)
def flush_cost(case: Case) -> Iterator[Conclusion]:
    growths = case.flush_growth
    if not growths:
        return
    growing = [growth for growth in growths if growth.shows_work]
    lowest = case.flushes.complete_lowest_account
    if growing and lowest:
        yield _growing(case, growing, words.devices(lowest.devices))
    elif not growing and case.host.virtualization and not (case.rotation.syncs_reach_platters or case.commits_are_safe):
        write, flushed = case.costs.write, case.costs.synced
        is_cheap = write and flushed and flushed.ns - write.ns < CHEAP_BELOW * write.ns
        if write and flushed and is_cheap and _sends_flushes(case, flushed):
            yield _flat(case, growths, write, flushed)


def _sends_flushes(case: Case, flushed: Cost) -> bool:
    """Return whether flushes are expected and none is missing. To a "write through" disk, the kernel sends none."""
    accounts = case.flushes.counted_accounts(flushed.step)
    is_expected = any(account.expected and account.expected.low for account in accounts)
    return is_expected and case.flushes.has_expected_flushes(flushed.step)


def _growing(case: Case, growing: Sequence[FlushGrowth], lowest: str) -> Conclusion:
    steepest = max(growing, key=lambda growth: growth.per_mib_ns)
    steps = [growth.step for growth in growing]
    is_timed = all(growth.has_device_times for growth in growing)
    working = sorted(set().union(*(growth.flushing_devices for growth in growing)))
    where = words.join_words(working) if is_timed else lowest
    return Conclusion(
        title=f"each unsynced MiB adds {duration_ns(steepest.per_mib_ns)} to a flush",
        sentence=f"A flush at {where} takes longer the more unsynced data it finds: {steepest.summary}, in "
        f"{words.time_measured(steps)}. So the flush writes something; only a power cut proves "
        f"more.{case.lowest_devices.doubt()}",
        verdict="consistent",
        confidence="medium" if is_timed and case.lowest_devices.verified else "low",
        steps=steps,
        evidence=[growth.evidence for growth in growing],
        next=(words.CUT_THE_POWER,),
    )


def _flat(case: Case, growths: Sequence[FlushGrowth], write: Cost, flushed: Cost) -> Conclusion:
    flat = [growth for growth in growths if not growth.appears_to_grow]
    largest = max(flat or growths, key=lambda growth: growth.points[-1].bytes)
    extra = added_time(write, flushed)
    growth_text = "and takes hardly longer with more unsynced data"
    if not flat:
        growth_text = "and the extra time with unsynced data is not spent in the device"
    return Conclusion(
        title=f"a flush adds {'' if extra == 'nothing' else 'about '}{extra}, {growth_text}",
        sentence=f"A flush adds {extra} to a write of {duration_ns(write.ns)}, {growth_text} ({largest.summary}), "
        f"in {words.time_measured([largest.step])}. That is normal if the host's disk has power-loss protection. A "
        "host that ignores flushes looks the same.",
        confidence="low",
        steps=[write.step, flushed.step, *(growth.step for growth in growths)],
        evidence=(write.evidence, flushed.evidence, *(growth.evidence for growth in growths)),
        next=words.host_advice(case.host),
    )
