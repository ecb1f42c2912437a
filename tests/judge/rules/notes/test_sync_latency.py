"""A watch at a gentle pace answers with its latency."""

from __future__ import annotations

from fstui.judge import judge
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.steps import Latency, Step

TOOK = Latency(min=300_000, mean=520_000, p50=480_000, p90=900_000, p95=1_000_000, p99=None, p99_9=None, max=21_000_000)


def watched(**changes: object) -> Step:
    asked = SyncWrites(**{"ops_per_s": 5.0, **changes})  # type: ignore[arg-type]
    return Step(name="fdatasync", settings=asked, ops=30, syncs=30, elapsed_s=6.0, latency_ns=TOOK)


def test_the_latency_is_said_before_the_verdict() -> None:
    judgement = judge(Evidence(steps=(watched(),)))
    assert judgement.sentence.startswith("A write with its sync took 480 µs (p50), at worst 21.0 ms")
    assert [finding.verdict for finding in judgement.findings if finding.rule == "sync-latency"] == [None]


def test_a_step_that_goes_as_fast_as_it_can_has_a_rate_instead() -> None:
    assert "sync-latency" not in {finding.rule for finding in judge(Evidence(steps=(watched(ops_per_s=0.0),))).findings}


def test_a_stubbed_sync_has_no_latency() -> None:
    evidence = Evidence(process=Process(pipe_fsync_fails=False), steps=(watched(),))
    assert "sync-latency" not in {finding.rule for finding in judge(evidence).findings}
