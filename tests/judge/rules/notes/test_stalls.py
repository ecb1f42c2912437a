"""Operations that held everybody up."""

from __future__ import annotations

import pytest

from fstui.model.steps import Stalls
from tests.factories.evidence import finding, verdict
from tests.factories.steps import step


@pytest.mark.parametrize(("number", "title"), [(2, "2 stalls, 3.5 s lost"), (1, "1 stall, 3.5 s lost")])
def test_stalls_say_the_time_lost(number: int, title: str) -> None:
    found = finding(verdict(None, step(changes={"stalls": Stalls(count=number, lost_s=3.5)})), "stalls")
    assert found.title == title
    assert found.because[0].endswith(title.replace(" lost", ""))
