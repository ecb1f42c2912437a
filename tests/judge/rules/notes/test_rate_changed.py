"""The note rate-changed: found where it is, not found in noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.model.rate_limit import RateLimit
from fstui.model.steps import Step, TimelinePoint
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step


def lasting(rates: Iterable[float], width_s: float = 10.0, **settings: Any) -> Step:
    """Ten seconds a stretch, unless said otherwise."""
    ops = [round(rate * width_s) for rate in rates]
    points = tuple(TimelinePoint(t_s=at * width_s, ops=done) for at, done in enumerate(ops) if done)
    total, elapsed_s = max(sum(ops), 20), len(ops) * width_s
    return step(ops=total, rate=total / elapsed_s, changes={"timeline": points}, **settings)


def test_the_point_of_change_and_what_was_written_until_then() -> None:
    judgement = verdict(None, lasting([7400.0] * 20 + [28.0] * 40))
    found = finding(judgement, "rate-changed")
    assert found.title == "fell from 7 400/s to 28.0/s after 22.6 GiB"
    assert (found.verdict, found.scope) == (None, "step")
    assert "3 m 20 s into the 10 m 0 s measured" in judgement.findings[-1].sentence


def test_what_gave_way_to_others_says_nothing_of_a_rate() -> None:
    fell = lasting([7400.0] * 20 + [28.0] * 40)
    assert "rate-changed" not in rules(verdict(None, fell, rate_limit=RateLimit(idle=True)))


def test_a_rate_that_rises_is_told_as_well() -> None:
    assert finding(verdict(None, lasting([100.0] * 15 + [900.0] * 30)), "rate-changed").title.startswith(
        "rose from 100/s"
    )


@pytest.mark.parametrize(("after", "hit"), [(490.0, True), (510.0, False)])
def test_it_takes_a_factor_of_two(after: float, hit: bool) -> None:
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
def test_what_does_not_last_is_no_change(rates: list[float]) -> None:
    assert "rate-changed" not in rules(verdict(None, lasting(rates)))


@given(st.integers(0, 1 << 30), st.sampled_from([0.1, 0.3, 0.6]))
def test_noise_around_one_rate_is_no_change(seed: int, spread: float) -> None:
    random = Random(seed)
    noisy = [1000.0 * random.lognormvariate(0, spread) for _ in range(60)]
    assert "rate-changed" not in rules(verdict(None, lasting(noisy)))


@given(st.integers(0, 1 << 30), st.integers(12, 48))
def test_a_change_within_noise_is_found_near_its_place(seed: int, at: int) -> None:
    random = Random(seed)
    rates = [(7400 if point < at else 280) * random.lognormvariate(0, 0.2) for point in range(60)]
    found = finding(verdict(None, lasting(rates)), "rate-changed")
    assert f"first {at * 10 // 60} m {at * 10 % 60} s" in found.because[0]


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
def test_only_one_writer_at_full_speed_for_long_enough(made: Callable[[list[float]], Step]) -> None:
    rates = [7400.0] * 22 + [28.0] * 38
    assert "rate-changed" in rules(verdict(None, lasting(rates)))
    assert "rate-changed" not in rules(verdict(None, made(rates)))
