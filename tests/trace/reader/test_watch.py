"""The seconds of a watch, and the sums from which its conclusion is drawn."""

import os
from collections.abc import Iterator

import pytest

from fstui.trace.reader.watch import RECENT_SECONDS, WatchSession


@pytest.fixture
def session() -> Iterator[WatchSession]:
    made = WatchSession(f"fstui-test-{os.getpid()}", pid=None, device=None, calls=True)
    yield made
    made.remove()


@pytest.mark.root
def test_the_conclusion_is_drawn_from_several_seconds(session: WatchSession) -> None:
    seconds = [session.end_second()["elapsed_s"] for _ in range(RECENT_SECONDS + 2)]
    assert session.recent()["elapsed_s"] == pytest.approx(sum(seconds[2:]))
    assert session.recent() == session.recent()
