"""*cannot-tell, low confidence, where it is flat in a guest; consistent where it really grows: medium on real hardware
where each lowest device was seen to work, else low*

## What it means
A flush that has work to do takes longer the more unsynced data waits. In a guest, one that adds almost nothing and
never takes longer means a protected cache on the host, or a host that ignores flushes.

## How it was measured
Growing amounts up to 32 MiB are written with O_DIRECT, in sequence and scattered, then fdatasync is timed. Growth
counts only where at least 0.95 of the bytes had reached the lowest device before the flush, the flushes of the two
largest amounts each take 1.5 times that of every smaller one, and the extra bytes per extra time are at most 10 GB/s:
what is faster is memory. It must be the device that takes longer, by its own counters (`/sys/block/*/stat`, field 17)
or the kernel's trace: a filesystem's own work grows as well. Of several lowest devices each must, else the confidence
is low: a liar beside a slow disk (a cache's SSD, a log or journal of its own, a pool's metadata, one leg of a mirror)
is hidden by it. So it is in a guest, behind a USB bridge, a RAID controller or a network: there the work may be that of
somebody's memory. Flat speaks only in a guest, with all flushes arriving and a flush that adds less than twice the time
of an O_DIRECT write, and not where the medium is known, or declared, to be protected.

## What it proves, and what not
Real growth shows that the flush does work; only a power cut proves more. Flat does not tell the honest host from the
other, and on real hardware it says nothing: protected drives are flat as well.

## What to do next
Ask whoever runs the host. Declare what you know (`--medium ssd-plp`). To know: cut the host's power with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost, added
from fstui.judge.facts.flush_work import FlushGrowth
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns

CHEAP = 2
"""A flush that adds less than this many times the write itself."""


@rule(place=40)
def flush_flat(case: Case) -> Iterator[Finding]:
    """Flush time against the amount of unsynced O_DIRECT data before it."""
    patterns = case.flush_growth
    if not patterns or case.steps.mounted_sync:  # then nothing waits for a flush
        return
    grown = [growth for growth in patterns if not growth.flat]
    proven = case.flushes.at_the_bottom
    if grown and proven:
        yield _works(case, grown, words.devices(proven.devices))
    elif not grown and case.host.virtualization and not (case.rotation.answers or case.commits_are_safe):
        write, flushed = case.costs.write, case.costs.synced
        if write and flushed and _is_cheap(write, flushed) and case.flushes.as_expected(flushed.step):
            yield _flat(case.host.virtualization, patterns, write, flushed)


def _is_cheap(write: Cost, flushed: Cost) -> bool:
    return flushed.ns - write.ns < CHEAP * write.ns


def _works(case: Case, grown: list[FlushGrowth], lowest: str) -> Finding:
    steepest = max(grown, key=lambda growth: growth.per_mib_ns)
    steps = [growth.step for growth in grown]
    known = all(growth.has_device_times for growth in grown)
    where = words.listed(sorted(set().union(*(growth.working for growth in grown)))) if known else lowest
    return Finding(
        rule="flush-flat",
        verdict="consistent",
        confidence="medium" if known and case.lowest_devices.verified else "low",
        scope="storage",
        title=f"a flush grows by {duration_ns(steepest.per_mib_ns)} per MiB",
        sentence=f"A flush at {where} takes longer the more unsynced data it finds: {steepest.summary}, in "
        f"{words.time_measured(steps)}. It does work; only a power cut proves more.{case.lowest_devices.doubt()}",
        steps=words.names(steps),
        because=tuple(growth.because for growth in grown),
        next=(words.CUT_THE_POWER,),
    )


def _flat(virtualization: str, patterns: tuple[FlushGrowth, ...], write: Cost, flushed: Cost) -> Finding:
    largest = max(patterns, key=lambda growth: growth.points[-1].bytes)
    extra = added(write, flushed)
    return Finding(
        rule="flush-flat",
        verdict="cannot-tell",
        confidence="low",
        scope="storage",
        title=f"a flush adds {extra}, and never more",
        sentence=f"A flush adds {extra} to a write of {duration_ns(write.ns)}, {_why(patterns)} ({largest.summary}), "
        f"in {words.time_measured([largest.step])}. The host's cache is protected, or the host ignores flushes.",
        steps=words.names([write.step, flushed.step, *(growth.step for growth in patterns)]),
        because=(write.because, flushed.because, *(growth.because for growth in patterns)),
        next=(_ask_the_host(virtualization), words.CUT_THE_POWER),
    )


def _why(patterns: tuple[FlushGrowth, ...]) -> str:
    if all(growth.unarrived for growth in patterns):
        return "and its growth is that of a cache above the device, not of the device's own"
    if all(growth.device_flat and growth.rises for growth in patterns):
        return "and its growth is the filesystem's own work: the device's part stays"
    return "flat however much unsynced data precedes it"


def _ask_the_host(virtualization: str) -> str:
    if virtualization == "firecracker":
        return "Ask whoever runs the host: Firecracker flushes only with cache_type=Writeback."
    if virtualization in {"oracle", "virtualbox"}:
        return words.VIRTUALBOX
    return "Ask whoever runs the host: the disk must not ignore flushes (not QEMU cache=unsafe)."
