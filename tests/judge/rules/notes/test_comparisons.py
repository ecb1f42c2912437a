"""Comparisons with etcd's requirements, another sync call and another program."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.judge import judge
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import ReportedLatency
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio, SysbenchFileioFigures
from fstui.model.host import Process
from fstui.model.judgement import Finding
from fstui.model.rate_limit import RateLimit
from fstui.model.run import Evidence, ScenarioRef
from fstui.model.steps import Latency, Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import disk, filesystem, on_disk

ETCD = ScenarioRef(name="wal-etcd", title="etcd")


def appends(p99_ms: float = 2.0, rate: float = 900, **changes: Any) -> Step:
    sync = latency(1e6 * p99_ms / 4, p99_ns=1e6 * p99_ms)
    settings: dict[str, Any] = {"offsets": "sequential", "prefill": "fallocate", "flushes": 2, **changes}
    return step("log, 2 300 B, fdatasync", rate=rate, changes={"sync_ns": sync}, **settings)


@pytest.mark.parametrize(
    ("p99_ms", "rate", "word"),
    [
        (9.99, 500, "fit for etcd"),
        (10.0, 900, "not fit for etcd"),
        (9.0, 499, "fit for a light load for etcd"),
        (9.0, 50, "fit for a light load for etcd"),
        (9.0, 49, "not fit for etcd"),
    ],
)
def test_etcd_criteria(p99_ms: float, rate: float, word: str) -> None:
    found = finding(verdict(None, appends(p99_ms, rate), scenario=ETCD), "etcd-fit")
    assert found.title.startswith(word)
    assert any("etcd.io" in line for line in found.because)


def test_etcd_needs_full_speed_and_real_syncs() -> None:
    held_back = verdict(None, appends(), scenario=ETCD, rate_limit=RateLimit(idle=True))
    stubbed = verdict(None, appends(), scenario=ETCD, process=Process(pipe_fsync_fails=False))
    assert "etcd-fit" not in rules(held_back) | rules(stubbed)


def test_etcd_fit_is_never_the_verdict() -> None:
    judgement = verdict(None, appends(50.0, 20), scenario=ETCD)
    assert finding(judgement, "etcd-fit").verdict is None
    assert judgement.verdict == "consistent"


def test_etcd_uses_the_percentile_of_the_sync_alone() -> None:
    slow_writes = appends(2.0)
    assert "p99 2.0 ms" in finding(verdict(None, slow_writes, scenario=ETCD), "etcd-fit").title


@pytest.mark.parametrize(
    ("scenario", "steps"),
    [
        (ScenarioRef(name="fsync-rate", title=""), appends()),
        (ETCD, step(changes={"sync_ns": latency(1e6)})),
        (ETCD, appends(status="disturbed")),
        (ETCD, step(offsets="append", prefill="none", flushes=2)),
        (ETCD, appends(sync="fsync")),
    ],
    ids=["another scenario", "overwrites", "disturbed", "no percentile", "another call"],
)
def test_etcd_fit_needs_its_own_steps(scenario: ScenarioRef, steps: Step) -> None:
    assert "etcd-fit" not in rules(verdict(None, steps, scenario=scenario))


def by_fsync(rate: float = 42, flushes: float | None = 2.0, **settings: Any) -> Step:
    return step("fsync", rate=rate, ops=round(rate), sync="fsync", flushes=flushes, **settings)


def by_fdatasync(rate: float = 84, flushes: float | None = 1.0, **settings: Any) -> Step:
    return step("fdatasync", rate=rate, ops=round(rate), flushes=flushes, **settings)


def test_expensive_fsync_is_a_note_with_both_rates() -> None:
    judgement = verdict(None, by_fsync(), by_fdatasync())
    found = finding(judgement, "fsync-dearer")
    assert (found.verdict, found.scope, found.steps) == (None, "step", ("fsync", "fdatasync"))
    assert found.title == "fsync 42.0/s, fdatasync 84.0/s"
    assert "2.0 × as fast, since fsync also commits the timestamps" in found.sentence
    assert found.because == ("fsync: 42.0/s, 2.00 flushes each", "fdatasync: 84.0/s, 1.00 flushes each")
    assert judgement.verdict == "consistent"


@pytest.mark.parametrize(("rate", "hit"), [(63, True), (62, False)])
def test_fsync_must_take_one_and_a_half_times_as_long(rate: float, hit: bool) -> None:
    assert ("fsync-dearer" in rules(verdict(None, by_fsync(), by_fdatasync(rate)))) is hit


@pytest.mark.parametrize("flushes", [1.0, 1.19, None])
def test_fsync_must_send_more_flushes(flushes: float | None) -> None:
    assert "fsync-dearer" not in rules(verdict(None, by_fsync(flushes=flushes), by_fdatasync()))


def test_fsync_note_needs_counted_flushes() -> None:
    through = on_disk(filesystem(), disk(write_cache="write through"))
    assert "fsync-dearer" not in rules(verdict(through, by_fsync(flushes=0), by_fdatasync(flushes=0)))
    uncounted = on_disk(filesystem(), disk(counted=False))
    assert "fsync-dearer" not in rules(verdict(uncounted, by_fsync(flushes=None), by_fdatasync(flushes=None)))
    assert "fsync-dearer" not in rules(verdict(None, by_fsync(), by_fdatasync(flushes=None)))


def test_fsync_note_needs_a_rate() -> None:
    assert "fsync-dearer" not in rules(verdict(None, by_fsync(changes={"rate_per_s": 0.0}), by_fdatasync()))


@pytest.mark.parametrize(
    "settings",
    [{"open_flags": ("direct",)}, {"offsets": "same"}, {"writers": 4}, {"sync_every": 10}, {"status": "disturbed"}],
    ids=str,
)
def test_compared_steps_differ_only_in_the_call(settings: dict[str, Any]) -> None:
    assert "fsync-dearer" not in rules(verdict(None, by_fsync(), by_fdatasync(**settings)))
    both = {name: value for name, value in settings.items() if name in {"open_flags", "offsets"}}
    assert not both or "fsync-dearer" in rules(verdict(None, by_fsync(**both), by_fdatasync(**both)))


def test_stubbed_fsync_is_not_compared() -> None:
    stubbed = Process(pipe_fsync_fails=False)
    assert "fsync-dearer" not in rules(verdict(None, by_fsync(), by_fdatasync(), process=stubbed))


OWN = Latency(min=1, mean=500_000, p50=480_000, p90=1, p95=1, p99=None, p99_9=None, max=1)
FSTUI = Step(
    name="fstui", settings=SyncWrites(), elapsed_s=2.0, ops=2000, rate_per_s=1000.0, latency_ns=OWN, sync_ns=OWN
)
SYSBENCH = Step(
    name="sysbench",
    settings=SysbenchFileio(),
    elapsed_s=2.0,
    rate_per_s=500.0,
    figures=SysbenchFileioFigures(events=2000, fsyncs_per_s=500.0, latency_ms=ReportedLatency(avg=0.23)),
)


def notes(*steps: Step) -> list[Finding]:
    return [finding for finding in judge(Evidence(steps=steps)).findings if finding.rule == "sysbench-latency"]


def test_sysbench_note_has_both_rates_and_what_is_timed() -> None:
    (note,) = notes(SYSBENCH, FSTUI)
    assert note.verdict is None
    assert note.title == "sysbench 500/s, fstui 1 000/s"
    assert "230 µs covers 2 000 events, each write and each fsync by itself" in note.sentence
    assert "p50 of 480 µs is a write with its sync" in note.sentence


def test_sysbench_note_needs_a_pair_of_steps() -> None:
    assert notes(FSTUI, SYSBENCH) == []
    assert notes(SYSBENCH) == []
