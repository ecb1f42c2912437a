"""The note ``two-clocks``: what sysbench fileio times, beside fstui's own figures for the same work."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fstui.judge.steps import names, time_measured
from fstui.model import Evidence, Finding, Step
from fstui.quantities import count, duration_ns, plain, rate, ratio

PROBE = "sysbench_fileio"


def two_clocks(evidence: Evidence) -> Iterator[Finding]:
    """Rates of the same work compare; latencies that time different things do not. It says nothing of durability."""
    for theirs, ours in pairwise(evidence.steps):
        if theirs.probe == PROBE and ours.probe == "sync_writes" and theirs.rate_per_s and ours.latency_ns:
            yield _compared(theirs, ours)


def _compared(theirs: Step, ours: Step) -> Finding:
    stated = theirs.figures.get("latency_ms", {})
    average = duration_ns(stated.get("avg", 0) * 1e6)
    own = ours.latency_ns
    assert own is not None
    sync = f", the sync alone {duration_ns(ours.sync_ns.p50)}" if ours.sync_ns else ""
    return Finding(
        rule="two-clocks",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"sysbench {rate(theirs.rate_per_s)}/s, fstui {rate(ours.rate_per_s)}/s",
        sentence=f"For the same work sysbench counted {rate(theirs.rate_per_s)} writes a second and fstui "
        f"{rate(ours.rate_per_s)} ({ratio(ours.rate_per_s / theirs.rate_per_s)} ×) in {time_measured([theirs, ours])}. "
        f"sysbench's average of {average} is over {count(theirs.figures.get('events', 0))} events, each write and "
        f"each fsync by itself; fstui's p50 of {duration_ns(own.p50)} is a write with its sync{sync}.",
        steps=names([theirs, ours]),
        because=(
            plain(f"{theirs.name}: avg {average}, {rate(theirs.figures.get('fsyncs_per_s', 0))} fsyncs/s"),
            plain(f"{ours.name}: p50 {duration_ns(own.p50)}{sync}"),
        ),
        next=(),
    )
