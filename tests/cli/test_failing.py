"""``--fail-on``"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.cli.options import fails
from fstui.model.judgement import Answer, Speed
from fstui.model.run import Run

SOUND = Run(id="k3f9a1", started_at="2026-11-20T03:12:44+01:00", verdict="plausible")


@pytest.mark.parametrize(("answer", "fail"), [("stalls", True), ("slow", True), ("unknown", False), ("normal", False)])
def test_fail_on_slow_tests_only_the_speed(answer: Answer, fail: bool) -> None:
    run = replace(SOUND, speed=Speed(answer=answer))
    assert fails(run.verdict, run.speed.answer, ["slow"]) is fail
    assert not fails(run.verdict, run.speed.answer, ["suspicious"])


def test_fail_on_includes_worse_verdicts() -> None:
    assert fails(SOUND.verdict, SOUND.speed.answer, ["plausible"]) and fails(
        SOUND.verdict, SOUND.speed.answer, ["lost", "consistent"]
    )
    assert not fails(SOUND.verdict, SOUND.speed.answer, ["cannot-tell"]) and not fails(
        SOUND.verdict, SOUND.speed.answer, []
    )
