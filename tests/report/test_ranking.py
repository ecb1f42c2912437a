"""The bars of a comparison, from the fastest run to the slowest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fstui.model.run import Run
from fstui.report import compare, formats, ranking
from tests.factories import screens


def run(name: str, times: float, verdict: str = "consistent") -> Run:
    steps = tuple(replace(step, rate_per_s=step.rate_per_s * times) for step in screens.STEPS)
    return replace(screens.RUN, id=name, steps=steps, verdict=verdict)


def printed(runs: Sequence[Run], width: int) -> list[str]:
    report = compare.of_runs(runs, width - 2)
    bars = report._replace(sections=tuple(section for section in report.sections if section.drawn))
    return str(formats.render_report(formats.PLAIN, bars, width)).splitlines()


@pytest.mark.parametrize("number", [2, 3, 6])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_up_to_six_runs_fit_and_the_fastest_comes_first(number: int, width: int) -> None:
    runs = [run(f"run{at}", at + 1.0) for at in range(number)]
    lines = printed(runs, width)
    assert max(map(len, lines)) <= width
    at = lines.index("fdatasync")
    assert [line.split()[0] for line in lines[at + 1 : at + 1 + number]] == list("FEDCBA"[6 - number :])
    assert f"{number}.00 ×" in lines[at + 1] and "1.00 ×" in lines[at + number]


def test_a_bar_is_as_long_as_its_share_and_never_nothing() -> None:
    assert ranking.bar(1.0, 10) == "█" * 10
    assert ranking.bar(0.5, 10) == "█" * 5
    assert ranking.bar(0.0001, 10) == "▏"


def test_a_faster_one_that_is_not_durable_is_said_to_be_no_better() -> None:
    lines = printed([run("honest", 1.0), run("lying", 93.0, "not-durable")], 80)
    assert any("! B, the faster one, is not durable" in line for line in lines)
    assert any("(93.00 × A)" in line for line in lines)
    turned = printed([run("lying", 93.0, "not-durable"), run("honest", 1.0)], 90)
    assert any("(93.00 × B)" in line for line in turned), "also where the liar is the measure"
    assert "!" not in "".join(lines[lines.index("write, no sync") :][:4]), "which promises nothing"
    assert not any("durable:" in line for line in printed([run("a", 1.0), run("b", 2.0)], 80))
    both = [run("a", 1.0, "lost"), run("b", 2.0, "not-durable")]
    assert not any("the faster one" in line for line in printed(both, 80))
