"""*a note: the same work by sysbench fileio and by fstui*

## What it means
The rates are of the same work and compare. The latencies are of different things and do not: sysbench 1.x takes each
fsync for an event of its own, in one histogram with the writes; version 0.4 timed the writes alone, so that its 0.04 ms
stood beside 22 writes a second. fstui times a write with its sync, and both parts.

## How it was measured
The real `sysbench fileio`, one file, random writes, an fsync after each or after every 100, then fstui's own writes of
the same size to a file of the same size, one after the other.

## What it proves, and what not
Two programs on a shared disk differ by what others do meanwhile: repeat before a difference means anything. It says
nothing about durability.

## What to do next
Quote rates when you compare with old reports, and say which version and which clock a latency comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench_fileio import SysbenchFileioFigures
from fstui.model.judgement import Finding
from fstui.model.quantities import count, duration_ns, rate, ratio
from fstui.model.steps import Latency, Step


@rule(place=140)
def two_clocks(case: Case) -> Iterator[Finding]:
    """Rates of the same work compare; latencies that time different things do not. It says nothing of durability."""
    for theirs, ours in pairwise(case.steps.all):
        told, alike = theirs.figures, isinstance(ours.settings, SyncWrites)
        if isinstance(told, SysbenchFileioFigures) and alike and theirs.rate_per_s and ours.latency_ns:
            yield _compared(theirs, told, ours, ours.latency_ns)


def _compared(theirs: Step, told: SysbenchFileioFigures, ours: Step, own: Latency) -> Finding:
    average = duration_ns((told.latency_ms.avg or 0) * 1e6)
    their_rate, our_rate, p50 = rate(theirs.rate_per_s), rate(ours.rate_per_s), duration_ns(own.p50)
    sync = f", the sync alone {duration_ns(ours.sync_ns.p50)}" if ours.sync_ns else ""
    return Finding(
        rule="two-clocks",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"sysbench {their_rate}/s, fstui {our_rate}/s",
        sentence=f"For the same work sysbench counted {their_rate} writes a second and fstui {our_rate} "
        f"({ratio(ours.rate_per_s / theirs.rate_per_s)} ×) in {words.time_measured([theirs, ours])}. sysbench's "
        f"average of {average} is over {count(told.events)} events, each write and each "
        f"fsync by itself; fstui's p50 of {p50} is a write with its sync{sync}.",
        steps=words.names([theirs, ours]),
        because=(
            f"{theirs.name}: avg {average}, {rate(told.fsyncs_per_s)} fsyncs/s",
            f"{ours.name}: p50 {p50}{sync}",
        ),
    )
