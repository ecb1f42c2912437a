"""The same work by two programs: rates compare, latencies of different things do not."""

from __future__ import annotations

from fstui.judge import judge
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import ReportedLatency
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio, SysbenchFileioFigures
from fstui.model.judgement import Finding
from fstui.model.run import Evidence
from fstui.model.steps import Latency, Step

OWN = Latency(min=1, mean=500_000, p50=480_000, p90=1, p95=1, p99=None, p99_9=None, max=1)
OURS = Step(
    name="fstui", settings=SyncWrites(), elapsed_s=2.0, ops=2000, rate_per_s=1000.0, latency_ns=OWN, sync_ns=OWN
)
THEIRS = Step(
    name="sysbench",
    settings=SysbenchFileio(),
    elapsed_s=2.0,
    rate_per_s=500.0,
    figures=SysbenchFileioFigures(events=2000, fsyncs_per_s=500.0, latency_ms=ReportedLatency(avg=0.23)),
)


def notes(*steps: Step) -> list[Finding]:
    return [finding for finding in judge(Evidence(steps=steps)).findings if finding.rule == "two-clocks"]


def test_both_rates_stand_side_by_side_and_each_latency_says_what_it_times() -> None:
    (note,) = notes(THEIRS, OURS)
    assert note.verdict is None
    assert note.title == "sysbench 500/s, fstui 1 000/s"
    assert "230 µs is over 2 000 events, each write and each fsync by itself" in note.sentence
    assert "p50 of 480 µs is a write with its sync" in note.sentence


def test_steps_that_are_no_pair_are_not_compared() -> None:
    assert notes(OURS, THEIRS) == []
    assert notes(THEIRS) == []
