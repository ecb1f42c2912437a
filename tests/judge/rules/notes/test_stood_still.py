"""A step in which nothing was written for most of its time."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.measure.kinds.dirty_flush import DirtyFlush
from fstui.model.steps import Latency, Stall, Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step

NEVER = Stall(call="fdatasync", elapsed_s=13.0)


def took(longest_s: float, p50_s: float = 0.002) -> Latency:
    longest, usual = round(longest_s * 1e9), round(p50_s * 1e9)
    return Latency(min=usual, mean=usual, p50=usual, p90=usual, p95=usual, p99=None, p99_9=None, max=longest)


def held(longest_s: float, elapsed_s: float, p50_s: float = 0.002, ops: int = 40, **changes: Any) -> Step:
    return step("commits", ops=ops, changes={"latency_ns": took(longest_s, p50_s), "elapsed_s": elapsed_s, **changes})


def test_what_never_returned_takes_the_praise_away() -> None:
    frozen = held(13.0, 15.0, unanswered=NEVER, status="stopped")
    assert verdict(None, step()).verdict == "consistent"
    judged = verdict(None, step(), frozen)
    found = finding(judged, "stood-still")
    assert (judged.verdict, judged.confidence, found.verdict) == ("cannot-tell", "high", "cannot-tell")
    assert judged.sentence == found.sentence
    assert found.sentence == (
        "Everything stood still for 13.0 s of the 15.0 s of commits: fdatasync had not returned when nobody waited any "
        "longer."
    )


def test_what_is_proven_stays_proven() -> None:
    frozen = held(13.0, 15.0, unanswered=NEVER, status="stopped")
    assert verdict(None, step(flushes=0.0), frozen).verdict == "not-durable"


def test_one_operation_that_took_most_of_a_step_is_said_first_and_decides_nothing() -> None:
    thawed = held(10.0, 13.0, ops=1, p50_s=10.0)
    judged = verdict(None, thawed)
    assert judged.verdict == "cannot-tell"
    assert judged.sentence.startswith("Everything stood still for 10.0 s of the 13.0 s of commits: one operation took")
    assert verdict(None, step(), thawed).verdict == "consistent"


def test_the_device_s_work_for_others_is_named() -> None:
    thawed = step("commits", ops=1, flushes=725.0, changes={"latency_ns": took(10.0), "elapsed_s": 13.0})
    assert (
        "sda counted 725 flushes meanwhile: it worked, for others"
        in finding(verdict(None, thawed), "stood-still").because
    )


@pytest.mark.parametrize(
    "fine",
    [
        held(0.9, 1.0),
        held(1.5, 10.0),
        held(2.1, 4.0, p50_s=2.0, ops=3),
        held(2.0, 3.0, stolen_ns=1_900_000_000),
        held(10.0, 13.0, writers=4),
        held(10.0, 13.0, settings=DirtyFlush()),
        held(0.02, 1.0, unanswered=Stall(call="fdatasync", elapsed_s=0.6), status="stopped"),
        held(2.5, 90.0, p50_s=2.0, unanswered=Stall(call="fdatasync", elapsed_s=1.9), status="stopped"),
    ],
    ids=["short", "a part", "slow", "without a cpu", "of several", "growing amounts", "a moment", "slow, and stopped"],
)
def test_what_is_slow_or_short_did_not_stand_still(fine: Step) -> None:
    assert "stood-still" not in rules(verdict(None, step(), fine))
