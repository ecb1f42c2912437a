"""A run in a few lines."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.model.judgement import Speed
from fstui.model.run import Run
from tests.factories import samples, screens
from tests.printing import printed_run


def test_both_answers_why_what_next_and_where_to_look() -> None:
    run = replace(screens.RUN, speed=Speed(answer="stalls", title="412 ms for one operation of fdatasync"))
    lines = printed_run(run, "brief").splitlines()
    assert 6 <= len(lines) <= 9
    assert lines[0].startswith("! SUSPICIOUS  high confidence · odirect-truth on /srv/data")
    assert lines[1] == "▲ STALLS  412 ms for one operation of fdatasync"
    assert [line.split()[0] for line in lines[3:5]] == ["because", "next"]
    assert "812/s" in lines[5] and lines[-1].endswith("fstui show k3f9a1")


def test_any_run_has_few_lines() -> None:
    for run in (samples.RUN, samples.FAILED_RUN, screens.RUN, Run(id="x", started_at="")):
        assert len(printed_run(run, "brief").splitlines()) <= 9
