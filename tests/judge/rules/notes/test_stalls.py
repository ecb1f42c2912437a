"""Operations that held everybody up."""

from __future__ import annotations

from fstui.model.steps import Stalls
from tests.factories.evidence import finding, verdict
from tests.factories.steps import step


def test_stalls_say_the_time_lost() -> None:
    found = finding(verdict(None, step(changes={"stalls": Stalls(count=2, lost_s=3.5)})), "stalls")
    assert found.title == "2 stalls, 3.5 s lost"
