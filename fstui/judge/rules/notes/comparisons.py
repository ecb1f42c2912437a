"""Comparisons with etcd's requirements, with another sync call, and with another program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import SyncStep, has_rate
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench_fileio import SysbenchFileioFigures
from fstui.model.quantities import count, duration_ns, rate, ratio
from fstui.model.steps import Latency, Step

ETCD_SCENARIO = "wal-etcd"
ETCD_P99_NS = 10_000_000
ETCD_LEAST_PER_S, ETCD_RECOMMENDED_PER_S = 50, 500
ETCD_SOURCE = (
    "etcd.io: FAQ (wal_fsync_duration_seconds, p99 below 10 ms), Hardware recommendations (50, better 500 a second)"
)
DEARER = 1.5
MORE_FLUSHES = 1.2
"""How many times the flushes of fdatasync fsync must send. Other processes add at most 5 % where anything is proven."""


@rule(place=100)
def etcd_fit(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    Whether the disk is fast enough for etcd, according to etcd's own documentation.

    ## How it was measured
    Scenario `wal-etcd`: one writer appends 2 300 bytes at a time to space allocated before, with fdatasync after each.

    - 99 % of the fdatasync calls must take less than 10 ms
    - at least 50 appends per second are required, and 500 are recommended

    ## What it proves, and what it does not
    It is about speed only. A disk that answers before it has written anything passes: read the verdict first.

    ## What to do next
    If it is not fit, put the log on a disk of its own. If it is, run `sustained` to see whether the rate lasts.

    ## Details
    Source: etcd.io, FAQ (`wal_fsync_duration_seconds`) and "Hardware recommendations".
    """
    scenario = case.evidence.scenario
    held_back = bool(case.evidence.rate_limit)
    if scenario is None or scenario.name != ETCD_SCENARIO or case.configuration.stub_signs or held_back:
        return
    for step, settings in case.steps.synced:
        p99 = step.sync_ns.p99 if step.sync_ns else None
        if settings.prefill != "written" and settings.sync == "fdatasync" and p99 is not None and has_rate(step):
            yield _for_etcd(step, p99)


def _for_etcd(step: Step, p99_ns: int) -> Conclusion:
    p99, per_s = duration_ns(p99_ns), rate(step.rate_per_s)
    fit = p99_ns < ETCD_P99_NS and step.rate_per_s >= ETCD_LEAST_PER_S
    word = "not fit" if not fit else "fit" if step.rate_per_s >= ETCD_RECOMMENDED_PER_S else "fit for a light load"
    return Conclusion(
        title=f"{word} for etcd: p99 {p99}, {per_s}/s",
        sentence=f"By etcd's own criteria this is {word}. 99 % of the fdatasync calls took less than {p99} (required: "
        f"10 ms), at {per_s} appends per second (required: {ETCD_LEAST_PER_S}, recommended: {ETCD_RECOMMENDED_PER_S}) "
        f"in {words.time_measured([step])}. This is about speed only.",
        scope="step",
        steps=[step],
        because=(f"{step.name}: p99 of fdatasync {p99}, {per_s}/s", f"criterion: {ETCD_SOURCE}"),
        next=() if fit else ("Put the log on a disk of its own, or a faster one. Run sustained to see what lasts.",),
    )


@rule()
def fsync_dearer(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    A write with fsync took at least 1.5 times as long as the same write with fdatasync. Calling fsync
    also makes the file's timestamps durable, which costs another commit of the filesystem's journal.

    ## How it was measured
    Two steps overwrite the same blocks with one writer and differ only in the call.

    - fdatasync did at least 1.5 times as many writes per second
    - fsync sent at least 1.2 times as many flushes (field 16 of `/sys/block/X/stat`)

    ## What it proves, and what it does not
    It says nothing against the disk. For overwrites, fdatasync is as durable as fsync: only the timestamps may be older
    after a power cut.

    ## What to do next
    Make the database call fdatasync: PostgreSQL `wal_sync_method = fdatasync` (its default on Linux), MySQL 8.0.26 or
    later `innodb_use_fdatasync = ON`.

    ## Details
    Timestamps change once per tick of the kernel's clock, every 1 to 4 ms. A fast disk therefore pays for few of its
    syncs, and a slow disk for every one.
    """
    if case.configuration.breaks_sync:
        return
    overwrites = [done for done in case.steps.synced if done.overwrites_alone and done.step.rate_per_s]
    for whole in overwrites:
        data = next((done for done in overwrites if _differ_only_in_call(whole, done)), None)
        if data and data.step.rate_per_s >= DEARER * whole.step.rate_per_s and _sends_more(case, whole, data):
            yield _dearer(case, whole, data)


def _differ_only_in_call(whole: SyncStep, data: SyncStep) -> bool:
    one, other = whole.settings, data.settings
    return (
        (whole.call, data.call) == ("fsync", "fdatasync")
        and (one.open_flags, one.offsets, one.block_bytes) == (other.open_flags, other.offsets, other.block_bytes)
    )  # fmt: skip


def _sends_more(case: Case, whole: SyncStep, data: SyncStep) -> bool:
    flushes, fewer = case.flushes.per_sync(whole), case.flushes.per_sync(data)
    return flushes is not None and fewer is not None and flushes >= MORE_FLUSHES * fewer > 0


def _dearer(case: Case, whole: SyncStep, data: SyncStep) -> Conclusion:
    times = data.step.rate_per_s / whole.step.rate_per_s
    steps = [whole.step, data.step]
    slow, quick = (f"{rate(step.rate_per_s)}/s" for step in steps)
    return Conclusion(
        title=f"fsync {slow}, fdatasync {quick}",
        sentence=f"fdatasync did {quick} and fsync of the same writes {slow}, in {words.time_measured(steps)}. "
        f"fdatasync is {times:.1f} × as fast, since fsync also commits the timestamps. For overwrites both are "
        "equally durable.",
        scope="step",
        steps=steps,
        because=(
            f"{done.step.name}: {speed}, {ratio(case.flushes.per_sync(done) or 0)} flushes each"
            for done, speed in ((whole, slow), (data, quick))
        ),
        next=("PostgreSQL: wal_sync_method = fdatasync. MySQL 8.0.26 or later: innodb_use_fdatasync = ON.",),
    )


@rule(place=140)
def sysbench_latency(case: Case) -> Iterator[Conclusion]:
    """*a note about the same work done by sysbench fileio and by fstui*

    ## What it means
    sysbench and fstui time different things. Compare their rates, not their latencies.

    ## How it was measured
    `sysbench fileio` writes randomly to one file, with an fsync after each write or after every 100. Then fstui does
    the same to a file of the same size.

    - sysbench 1.x counts each write and each fsync as an event of its own, in one histogram
    - sysbench 0.4 timed only the writes, so it reported 0.04 ms at 22 writes per second
    - fstui times a write together with its sync, and both parts

    ## What it proves, and what it does not
    It says nothing about durability. On a shared disk, other processes may cause a difference: repeat the run before
    you trust one.

    ## What to do next
    Quote rates when you compare with old reports. With a latency, name the program and its version.
    """
    for before, step in pairwise(case.steps.all):
        figures = before.figures
        if not isinstance(figures, SysbenchFileioFigures) or not isinstance(step.settings, SyncWrites):
            continue
        if before.rate_per_s and step.latency_ns:
            yield _timed_differently(before, figures, step, step.latency_ns)


def _timed_differently(sysbench: Step, figures: SysbenchFileioFigures, own: Step, latency: Latency) -> Conclusion:
    average, p50 = duration_ns((figures.latency_ms.avg or 0) * 1e6), duration_ns(latency.p50)
    sysbench_rate, own_rate = rate(sysbench.rate_per_s), rate(own.rate_per_s)
    sync = f", the sync alone {duration_ns(own.sync_ns.p50)}" if own.sync_ns else ""
    steps = [sysbench, own]
    return Conclusion(
        title=f"sysbench {sysbench_rate}/s, fstui {own_rate}/s",
        sentence=f"For the same work, sysbench did {sysbench_rate} writes per second and fstui {own_rate} "
        f"({ratio(own.rate_per_s / sysbench.rate_per_s)} ×) in {words.time_measured(steps)}. sysbench's average of "
        f"{average} covers {count(figures.events)} events, each write and each fsync by itself. fstui's p50 of {p50} "
        f"is a write with its sync{sync}.",
        scope="step",
        steps=steps,
        because=(
            f"{sysbench.name}: avg {average}, {rate(figures.fsyncs_per_s)} fsyncs/s",
            f"{own.name}: p50 {p50}{sync}",
        ),
    )
