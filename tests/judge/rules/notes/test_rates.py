"""Rates and latencies that are worth a note."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fstui.judge import judge
from fstui.judge.facts.steps import WriteStep
from fstui.judge.rules.notes.rates import RateChange, rate_change
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.host import Process
from fstui.model.rate_limit import RateLimit
from fstui.model.run import Evidence
from fstui.model.steps import Step, TimelinePoint
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import latency, step

TOOK = replace(latency(480_000, longest_ns=21e6), p99=None)


def watched(**changes: object) -> Step:
    settings = SyncWrites(**{"ops_per_s": 5.0, **changes})  # type: ignore[arg-type]
    return Step(name="fdatasync", settings=settings, ops=30, syncs=30, elapsed_s=6.0, latency_ns=TOOK)


def test_latency_comes_before_the_verdict() -> None:
    judgement = judge(Evidence(steps=(watched(),)))
    assert judgement.sentence.startswith("A write with its sync took 480 µs (p50), at worst 21.0 ms")
    assert [finding.verdict for finding in judgement.findings if finding.rule == "sync-latency"] == [None]


def test_stubbed_sync_has_no_latency_note() -> None:
    evidence = Evidence(process=Process(pipe_fsync_fails=False), steps=(watched(),))
    assert "sync-latency" not in {finding.rule for finding in judge(evidence).findings}


def lasting(rates: Iterable[float], width_s: float = 10.0, **settings: Any) -> Step:
    """Return a step with these rates in intervals of that width."""
    ops = [round(rate * width_s) for rate in rates]
    points = tuple(TimelinePoint(t_s=at * width_s, ops=done) for at, done in enumerate(ops) if done)
    total, elapsed_s = max(sum(ops), 20), len(ops) * width_s
    return step(ops=total, rate=total / elapsed_s, changes={"timeline": points}, **settings)


def test_rate_change_reports_when_and_after_how_much() -> None:
    judgement = verdict(None, lasting([7400.0] * 20 + [28.0] * 40))
    found = finding(judgement, "rate-changed")
    assert found.title == "fell from 7\xa0400/s to 28.0/s after 22.6 GiB"
    assert (found.verdict, found.scope) == (None, "step")
    assert "3 m 20 s into the 10 m 0 s measured" in judgement.findings[-1].sentence
    rose = finding(verdict(None, lasting([100.0] * 15 + [900.0] * 30)), "rate-changed")
    assert rose.title.startswith("rose from 100/s")


@pytest.mark.parametrize(("after", "hit"), [(490.0, True), (510.0, False)])
def test_rate_change_needs_a_factor_of_two(after: float, hit: bool) -> None:
    assert ("rate-changed" in rules(verdict(None, lasting([1000.0] * 30 + [after] * 30)))) is hit


@pytest.mark.parametrize(
    "rates",
    [
        [1000.0] * 30 + [0.0] * 4 + [1000.0] * 26,
        [1000.0, 200.0] * 30,
        [1000.0] * 55 + [100.0] * 5,
        ([1000.0] * 5 + [300.0] * 5) * 6,
    ],
    ids=["a stall", "up and down", "only its end", "garbage collection"],
)
def test_temporary_change_is_not_reported(rates: list[float]) -> None:
    assert "rate-changed" not in rules(verdict(None, lasting(rates)))


@given(st.integers(0, 1 << 30), st.sampled_from([0.1, 0.3, 0.6]))
def test_noise_is_no_rate_change(seed: int, spread: float) -> None:
    random = Random(seed)
    noisy = [1000.0 * random.lognormvariate(0, spread) for _ in range(60)]
    assert "rate-changed" not in rules(verdict(None, lasting(noisy)))


@given(st.integers(0, 1 << 30), st.integers(12, 48))
def test_rate_change_within_noise_is_found(seed: int, at: int) -> None:
    random = Random(seed)
    rates = [(7400 if point < at else 280) * random.lognormvariate(0, 0.2) for point in range(60)]
    found = finding(verdict(None, lasting(rates)), "rate-changed")
    assert f"first {at * 10 // 60} m {at * 10 % 60} s" in found.evidence[0]


@pytest.mark.parametrize(
    "made",
    [
        lambda rates: lasting(rates, 0.1),
        lambda rates: lasting(rates, ops_per_s=5.0),
        lambda rates: lasting(rates, status="disturbed"),
        lambda rates: lasting(rates, writers=4),
        lambda rates: lasting(rates[18:]),
        lambda rates: lasting(rates[:31]),
    ],
    ids=["a short step", "paced", "disturbed", "several writers", "few before", "few after"],
)
def test_rate_change_needs_one_writer_for_long_enough(made: Callable[[list[float]], Step]) -> None:
    rates = [7400.0] * 22 + [28.0] * 38
    assert "rate-changed" in rules(verdict(None, lasting(rates)))
    assert "rate-changed" not in rules(verdict(None, made(rates)))
    assert "rate-changed" not in rules(verdict(None, lasting(rates), rate_limit=RateLimit(idle=True)))


def change(step: Step) -> RateChange | None:
    assert isinstance(step.settings, SyncWrites)
    return rate_change(WriteStep(step, step.settings))


def test_change_has_both_medians_and_its_time_and_bytes() -> None:
    found = change(lasting([1000.0] * 20 + [100.0] * 40))
    assert found == RateChange(1000.0, 100.0, 200.0, 200_000 * 16384)


def test_idle_interval_has_a_rate_of_zero() -> None:
    found = change(lasting([1000.0] * 20 + [0.0] * 40))
    assert found is not None and found.after_per_s == 0.0


def test_damaged_timeline_has_no_change() -> None:
    assert change(lasting([1000.0, 10.0] * 600)) is None
