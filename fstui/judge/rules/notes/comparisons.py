"""Comparisons with another sync call, and with another program."""

from collections.abc import Iterator
from itertools import pairwise

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import WriteStep
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench_fileio import SysbenchFileioFigures
from fstui.model.quantities import count, duration_ns, rate, ratio, size

MIN_RATE_RATIO = 1.5
MIN_FLUSH_RATIO = 1.2
"""fsync must send this many times the flushes of fdatasync. Undetected other processes add at most 5 %."""


@rule()
def fsync_dearer(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    A write with fsync took at least 1.5 times as long as the same write with fdatasync. Unlike fdatasync, fsync also
    makes the timestamps of the file durable. For this, the filesystem makes an additional commit of its journal.

    ## How it was measured
    Two steps overwrote the same blocks with one writer. They differ only in the sync call, and all of these are true:

    - fdatasync completed at least 1.5 times as many writes per second as fsync
    - fsync sent at least 1.2 times as many flushes as fdatasync (field 16 of `/sys/block/X/stat`)
    - no other process wrote to the filesystem's device, so no flushes of other journal commits were counted

    ## What it proves, and what it does not
    This is not a fault of the disk. For overwrites, fdatasync is as durable as fsync; only the timestamps may be
    older after a power cut. The only known exception is a tiny file on ext4 with `inline_data` (see `bytes-missing`).

    ## What to do next
    Make the database call fdatasync: PostgreSQL `wal_sync_method = fdatasync` (its default on Linux), MySQL 8.0.26 or
    later `innodb_use_fdatasync = ON`.
    """
    if case.configuration.breaks_sync:
        return
    overwrites = [write_step for write_step in case.steps.synced_overwrites if write_step.step.rate_per_s]
    for by_fsync in overwrites:
        by_fdatasync = next(
            (write_step for write_step in overwrites if _differ_only_in_call(by_fsync, write_step)), None
        )
        if by_fdatasync is None:
            continue
        times = by_fdatasync.step.rate_per_s / by_fsync.step.rate_per_s
        if times >= MIN_RATE_RATIO and _sends_more_flushes(case, by_fsync, by_fdatasync):
            steps = [by_fsync.step, by_fdatasync.step]
            fsync_rate, fdatasync_rate = (f"{rate(step.rate_per_s)}/s" for step in steps)
            writes = size(by_fsync.settings.block_bytes) + (" O_DIRECT" if by_fsync.direct else "")
            yield Conclusion(
                title=f"{writes}: fsync {fsync_rate}, fdatasync {fdatasync_rate}",
                sentence=f"fdatasync did {fdatasync_rate} and fsync of the same writes {fsync_rate}, in "
                f"{words.time_measured(steps)}. fdatasync is {times:.1f} × as fast, since fsync also commits the "
                "timestamps. For overwrites both are equally durable.",
                scope="step",
                steps=steps,
                evidence=(
                    f"{write_step.step.name}: {step_rate}, {ratio(case.flushes.per_sync(write_step) or 0)} flushes each"
                    for write_step, step_rate in ((by_fsync, fsync_rate), (by_fdatasync, fdatasync_rate))
                ),
                next=("PostgreSQL: wal_sync_method = fdatasync. MySQL 8.0.26 or later: innodb_use_fdatasync = ON.",),
            )


def _differ_only_in_call(by_fsync: WriteStep, by_fdatasync: WriteStep) -> bool:
    other_settings = {
        (step.open_flags, step.offsets, step.block_bytes) for step in (by_fsync.settings, by_fdatasync.settings)
    }
    return (by_fsync.sync_method, by_fdatasync.sync_method) == ("fsync", "fdatasync") and len(other_settings) == 1


def _sends_more_flushes(case: Case, by_fsync: WriteStep, by_fdatasync: WriteStep) -> bool:
    """Return whether fsync sent more flushes, and no other process added any at the topmost level."""
    if any(account.others_wrote for step in (by_fsync, by_fdatasync) for account in case.flushes.accounts(step)[:1]):
        return False
    fsync_flushes, fdatasync_flushes = case.flushes.per_sync(by_fsync), case.flushes.per_sync(by_fdatasync)
    return bool(fsync_flushes and fdatasync_flushes and fsync_flushes >= MIN_FLUSH_RATIO * fdatasync_flushes)


@rule(order=140)
def sysbench_latency(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    sysbench and fstui time different things. Compare their rates, not their latencies.

    ## How it was measured
    `sysbench fileio` writes at random offsets of one file, with an fsync after each write or after every 100 writes.
    Then fstui does the same to a file of the same size.

    - sysbench 1.x counts each write and each fsync as an event of its own, in one histogram.
    - sysbench 0.4 timed only the writes. For example, it reported 0.04 ms per write on a disk that did 22 synced writes
      per second.
    - fstui reports three latencies: of the write, of the sync, and of both together.

    ## What it proves, and what it does not
    The note says nothing about durability. On a shared disk, other processes may cause a difference between the two
    rates: repeat the run before you rely on it.

    ## What to do next
    When you compare with old reports, quote rates. When you quote a latency, name the program and its version.
    """
    for sysbench, own in pairwise(case.steps.all):
        figures, latency = sysbench.figures, own.latency_ns
        if not isinstance(figures, SysbenchFileioFigures) or not isinstance(own.settings, SyncWrites):
            continue
        if not sysbench.rate_per_s or latency is None:
            continue
        average, p50 = duration_ns((figures.latency_ms.avg or 0) * 1e6), duration_ns(latency.p50)
        sysbench_rate, own_rate = rate(sysbench.rate_per_s), rate(own.rate_per_s)
        sync = f"; for the sync alone, it is {duration_ns(own.sync_ns.p50)}" if own.sync_ns else ""
        steps = [sysbench, own]
        yield Conclusion(
            title=f"sysbench {sysbench_rate}/s, fstui {own_rate}/s",
            sentence=f"For the same work, sysbench did {sysbench_rate} writes per second and fstui {own_rate} "
            f"({ratio(own.rate_per_s / sysbench.rate_per_s)} ×) in {words.time_measured(steps)}. sysbench's average of "
            f"{average} counts each write and each fsync as one event ({count(figures.events)} events). fstui's p50 of "
            f"{p50} is for a write with its sync{sync}.",
            scope="step",
            steps=steps,
            evidence=(
                f"{sysbench.name}: avg {average}, {rate(figures.fsyncs_per_s)} fsyncs/s",
                f"{own.name}: p50 {p50}{sync}",
            ),
        )
