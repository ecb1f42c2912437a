"""A run in a few lines, and what changed since it was run before."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.model.judgement import Speed
from fstui.model.run import Run
from fstui.report import since
from fstui.report.formats import brief
from tests.factories import samples, screens


def test_both_answers_why_what_next_and_where_to_look() -> None:
    run = replace(screens.RUN, speed=Speed(answer="stalls", title="412 ms for one operation of fdatasync"))
    lines = brief.render(run).splitlines()
    assert 6 <= len(lines) <= 9
    assert lines[0].startswith("! SUSPICIOUS  high confidence · odirect-truth on /srv/data")
    assert lines[1] == "▲ STALLS  412 ms for one operation of fdatasync"
    assert [line.split()[0] for line in lines[3:5]] == ["because", "next"]
    assert "812/s" in lines[5] and lines[-1].endswith("fstui show k3f9a1")


def test_any_run_has_few_lines() -> None:
    for run in (samples.RUN, samples.FAILED_RUN, screens.RUN, Run(id="x", started_at="")):
        assert len(brief.render(run).splitlines()) <= 9


def test_rates_that_are_nearly_the_same_are_as_then() -> None:
    assert since.headline(screens.RUN, screens.RUN) == "since run k3f9a1: suspicious as then; rates as then"


def test_another_verdict_and_other_rates_are_said() -> None:
    steps = tuple(replace(step, rate_per_s=step.rate_per_s * 3) for step in screens.STEPS)
    now = replace(screens.RUN, verdict="consistent", steps=steps)
    assert since.headline(screens.RUN, now).endswith("suspicious then, consistent now; rates 3.00 to 3.00 × of then")
    assert all(row[-1] == "3.00 ×" for row in since.rows(screens.RUN, now)[1:])
