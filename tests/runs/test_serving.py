"""What becomes of a server whose place another one takes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.plan import PlannedStep
from fstui.model.steps import Failure
from fstui.runs.machine.base import Served
from fstui.runs.serving import Serving
from fstui.state import ledger
from fstui.state.workspace import HeldDirectory
from tests.databases import servers


class SlowToEnd:
    """A server that takes its time to end."""

    def __init__(self) -> None:
        self.asked, self.may_end = asyncio.Event(), asyncio.Event()
        self.struck_out = False

    async def stop(self) -> str:
        self.asked.set()
        await self.may_end.wait()
        self.struck_out = True
        return "something is left"


async def test_tools_that_went_since_the_plan_fail_their_step_and_end_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    planned = PlannedStep(name="next", settings=Sysbench(server="mariadb"))
    failure = await Serving("run", HeldDirectory.of(tmp_path)).serve(planned, asyncio.Event(), 0.0)
    assert isinstance(failure, Failure) and failure.message.startswith("sysbench is not installed")


async def test_a_stop_while_the_server_before_ends_waits_until_it_has_ended(tmp_path: Path) -> None:
    serving, before, stop = Serving("run", HeldDirectory.of(tmp_path)), SlowToEnd(), asyncio.Event()
    serving._server = before  # type: ignore[assignment]
    planned = PlannedStep(name="next", settings=Sysbench(server="mariadb"))
    served = asyncio.ensure_future(serving.serve(planned, stop, 0.0))
    await before.asked.wait()
    stop.set()
    for _ in range(5):  # it has heard of the stop by now
        await asyncio.sleep(0)
    before.may_end.set()
    assert await served is None
    assert before.struck_out and serving.left_behind == ["something is left"]


async def test_a_stop_while_a_server_begins_waits_for_what_was_begun(tmp_path: Path) -> None:
    serving, stop = Serving("run", HeldDirectory.of(tmp_path)), asyncio.Event()
    planned = PlannedStep(name="first", settings=Sysbench(server="mariadb"))
    served = asyncio.ensure_future(serving.serve(planned, stop, 0.0))
    for _ in range(5):  # its processes are being started
        await asyncio.sleep(0)
    stop.set()
    assert await served is None
    ours = asyncio.current_task()
    assert not [task for task in asyncio.all_tasks() if task is not ours and not task.cancelling()]
    await serving.stop()
    assert (ledger.entries(), list(tmp_path.iterdir())) == ([], [])


async def test_what_the_ledger_is_told_before_the_devices_are_watched_names_what_is_made_later(tmp_path: Path) -> None:
    servers.needed("mariadb")
    serving, planned = (
        Serving("run", HeldDirectory.of(tmp_path)),
        PlannedStep(name="first", settings=Sysbench(server="mariadb")),
    )
    await serving.prepare([planned])
    (expected,) = ledger.entries()
    assert (expected.kind, expected.what) == ("server", f"{tmp_path}/server-1")
    assert list(tmp_path.iterdir()) == []
    assert await serving.serve(planned, asyncio.Event(), 0.0)
    assert ledger.entries() == [expected] and (tmp_path / "server-1").is_dir()
    await serving.stop()
    assert (ledger.entries(), list(tmp_path.glob("server-1"))) == ([], [])


async def test_a_server_that_was_expected_and_is_not_wanted_leaves_nothing(tmp_path: Path) -> None:
    servers.needed("mariadb")
    serving = Serving("run", HeldDirectory.of(tmp_path))
    ours, theirs = Sysbench(server="mariadb"), Sysbench(server="mariadb", session="shared")
    await serving.prepare([PlannedStep(name="skipped meanwhile", settings=ours)])
    assert isinstance(await serving.serve(PlannedStep(name="next", settings=theirs), asyncio.Event(), 0.0), Served)
    (entry,) = ledger.entries()
    assert entry.what == f"{tmp_path}/server-2"
    await serving.stop()
    await serving.prepare([PlannedStep(name="never begun", settings=ours)])
    await serving.stop()
    assert ledger.entries() == []
