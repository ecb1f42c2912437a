"""Rounds are held against each other one by one, and an interval says how far the answer can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fstui.model.judgement import Verdict
from fstui.model.run import Round, Run
from fstui.report import compare, formats, sides
from tests.factories import screens

STEP = "fdatasync"


def ran(side: int, number: int, times: float, *, series: str = "s", verdict: Verdict = "consistent") -> Run:
    steps = tuple(replace(step, rate_per_s=step.rate_per_s * times) for step in screens.STEPS)
    round_ = Round(series=series, side=side, number=number, of=3)
    return replace(screens.RUN, id=f"{series}{side}{number}", steps=steps, verdict=verdict, round=round_)


def printed(runs: Sequence[Run], width: int) -> list[str]:
    return str(formats.render_report(formats.PLAIN, compare.of_runs(runs, width - 2), width)).splitlines()


def test_rounds_are_one_side_and_the_middle_one_stands_for_all() -> None:
    slow, fast, middle = ran(0, 1, 1.0), ran(0, 2, 9.0), ran(0, 3, 2.0)
    (side,) = sides.of([fast, slow, middle])
    assert side.rounds == (slow, fast, middle) and side.name == "s01 ×3"
    found = side.step(STEP)
    assert found is not None and found.run is middle


def test_runs_without_rounds_are_a_side_each() -> None:
    assert [side.name for side in sides.of([screens.RUN, screens.RUN])] == [screens.RUN.id] * 2


def test_what_drifts_for_both_leaves_the_ratio_as_it_is() -> None:
    first, other = sides.of(
        [ran(side, at, drift * (1 + side)) for at, drift in ((1, 1.0), (2, 5.0)) for side in (0, 1)]
    )
    assert str(sides.ratio(first, other, STEP)) == "2.00 × (2.00–2.00)"


def test_rounds_of_two_series_did_not_alternate_and_are_held_each_against_each() -> None:
    runs = [ran(0, at, float(at), series=series) for series in "ab" for at in (1, 2)]
    first, other = sides.of(runs)
    found = sides.ratio(first, other, STEP)
    assert found is not None and (found.low, found.high) == (0.5, 2.0) and found.undecided


def test_a_round_that_is_missing_leaves_the_others_with_their_partners() -> None:
    first, other = sides.of([ran(0, 1, 1.0), ran(0, 2, 4.0), ran(0, 3, 1.0), ran(1, 2, 8.0), ran(1, 3, 2.0)])
    found = sides.ratio(first, other, STEP)
    assert found is not None and (found.low, found.high, found.rounds) == (2.0, 2.0, 2)


def test_one_run_each_has_no_interval() -> None:
    first, other = sides.of([screens.RUN, replace(screens.RUN, id="other")])
    assert str(sides.ratio(first, other, STEP)) == "1.00 ×"


def test_the_worst_round_speaks_for_all() -> None:
    (side,) = sides.of([ran(0, 1, 1.0), ran(0, 2, 1.0, verdict="not-durable")])
    assert side.run.verdict == "not-durable" and not side.durable


def test_rounds_too_close_to_tell_are_said_to_show_no_difference() -> None:
    close = [ran(0, 1, 1.0), ran(0, 2, 1.0), ran(1, 1, 1.1), ran(1, 2, 0.9)]
    lines = printed(close, 100)
    assert any("= B: no difference is seen in 2 rounds" in line for line in lines)
    assert any("once in 2 times" in line for line in lines)
    assert not any("no difference" in line for line in printed([ran(0, 1, 1.0), ran(1, 1, 1.0)], 100))


def test_one_side_alone_shows_how_far_its_rounds_are_apart() -> None:
    lines = printed([ran(0, 1, 1.0), ran(0, 2, 2.0)], 80)
    assert "–" in lines[lines.index(STEP) + 1]


def test_the_longer_bar_is_never_said_to_be_the_slower_one() -> None:
    first, other = sides.of([ran(0, 1, 1.2), ran(1, 1, 1.0, series="other"), ran(1, 2, 3.0, series="other")])
    found, shown = sides.ratio(first, other, STEP), other.step(STEP)
    assert found is not None and shown is not None and first.step(STEP) is not None
    assert found.times < 1 and shown.run is other.rounds[0]
