"""The note etcd-fit."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Process
from fstui.model.rate_limit import RateLimit
from fstui.model.run import ScenarioRef
from fstui.model.steps import Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import latency, step

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
def test_etcds_own_criterion(p99_ms: float, rate: float, word: str) -> None:
    found = finding(verdict(None, appends(p99_ms, rate), scenario=ETCD), "etcd-fit")
    assert found.title.startswith(word)
    assert any("etcd.io" in line for line in found.because)


def test_a_run_that_was_held_back_or_whose_syncs_are_stubbed_is_no_measure_of_speed() -> None:
    held_back = verdict(None, appends(), scenario=ETCD, rate_limit=RateLimit(idle=True))
    stubbed = verdict(None, appends(), scenario=ETCD, process=Process(pipe_fsync_fails=False))
    assert "etcd-fit" not in rules(held_back) | rules(stubbed)


def test_it_is_a_note_and_never_the_verdict() -> None:
    judgement = verdict(None, appends(50.0, 20), scenario=ETCD)
    assert finding(judgement, "etcd-fit").verdict is None
    assert judgement.verdict == "consistent"


def test_it_is_the_percentile_of_the_sync_alone() -> None:
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
def test_nothing_else_is_measured_by_it(scenario: ScenarioRef, steps: Step) -> None:
    assert "etcd-fit" not in rules(verdict(None, steps, scenario=scenario))
