"""The process of a probe that is there before its words."""

from fstui.measure.kinds.sysbench import Sysbench
from fstui.runs.machine.early import EarlyProbe

OWN, SHARED = Sysbench(server="mariadb"), Sysbench(server="mariadb", session="shared")


async def test_it_is_taken_once_and_by_a_step_that_would_have_started_such_a_one() -> None:
    early = EarlyProbe()
    await early.start(OWN)
    assert early.take(SHARED) is None
    child = early.take(OWN)
    assert child and early.take(OWN) is None
    await early.end()  # of what was taken, nothing
    assert await child.reap(60) is not None


async def test_one_that_is_not_wanted_ends() -> None:
    early = EarlyProbe()
    await early.start(OWN)
    child = early._child
    await early.start(SHARED)
    assert child and child._process.returncode is not None
    await early.end()
    assert early.take(SHARED) is None
