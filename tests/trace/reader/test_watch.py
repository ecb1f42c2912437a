"""The seconds of a watch, and the sums from which its conclusion is drawn."""

import os
from collections.abc import Iterator

import pytest

from fstui import proc
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


@pytest.mark.root
def test_kernel_worker_that_waits_for_a_thaw_is_a_row(session: WatchSession) -> None:
    """A loop device waits, and with it the programs whose filesystem is on it."""
    processes = ((pid, proc.stat(pid)) for pid in proc.pids())
    worker = next(pid for pid, process in processes if process and process.name.startswith("kworker/"))
    for time_ns in (1, 1_000_000_001):
        session.waits.set_frozen(time_ns, {worker: -1})
    rows = session.end_second()["waits"]
    assert [row["frozen_ns"] for row in rows if row["kernel"] and row["frozen_ns"]] == [1_000_000_000]
