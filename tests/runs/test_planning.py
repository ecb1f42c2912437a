"""A directory is looked up once for all plans."""

from collections import Counter
from pathlib import Path

import pytest

from fstui.measure.children import Child
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.host import Inventory
from fstui.runs import scenarios
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.session import Session
from fstui.storage import survey
from fstui.storage.tool_output import ToolOutputs
from tests.factories import screens
from tests.tui.conftest import PreparedApp


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()
    start, look = Child.start, survey.survey

    async def started(module: str, *arguments: str) -> Child:
        counted[module] += 1
        return await start(module, *arguments)

    def surveyed(*, tool_outputs: ToolOutputs) -> Inventory:
        counted["survey"] += 1
        return look(tool_outputs=tool_outputs)

    monkeypatch.setattr(Child, "start", started)
    monkeypatch.setattr(survey, "survey", surveyed)
    return counted


async def test_all_plans_for_a_directory_need_one_child_and_survey(calls: Counter[str], tmp_path: Path) -> None:
    session = Session.local()
    site = await session.look_up(str(tmp_path))
    tools = calls.pop("measure.helpers.tool_output", 0)  # with tools to run there is a second survey
    assert calls == {
        "survey": 1 + tools,
        "measure.helpers.call": 2,  # the directory and the state directory
    }
    calls.clear()
    with_programs = {"sysbench-oltp", "replica-cut", "fileio-classic"}
    known = [known for known in scenarios.load_shipped() if known.name not in with_programs]
    for name, scenario in known:
        for settings in ({}, {"seconds": "2"}):
            declared = site.with_declaration(Declaration(medium="ssd"))
            plan = await session.plan(scenario, declared, settings, typed_name=name)
            assert plan.command.startswith(f"fstui run {name} {site.raw_target.path}")
    assert len(known) >= 4 and calls == {}


async def test_installed_programs_are_read_once(calls: Counter[str], tmp_path: Path) -> None:
    session = Session.local()
    site = await session.look_up(str(tmp_path))
    calls.clear()
    scenario = await scenarios.find("sysbench-oltp")
    for seconds in ("1", "2", "5"):
        try:
            await session.plan(scenario, site, {"seconds": seconds})
        except Refused as refusal:  # sysbench or a server is missing
            assert "installed" in str(refusal)
    assert calls["survey"] == 0
    assert calls["measure.helpers.call"] <= 1


class Counting(ReplayMachine):
    """A machine that counts how many times a directory is looked up."""

    looked = 0

    async def inspect(self, directory: str) -> object:  # type: ignore[override]
        self.looked += 1
        return await super().inspect(directory)


async def test_the_plan_screen_looks_a_directory_up_once() -> None:
    machine = Counting(screens.RUN, pace=0.0)
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.press("tab", "down", "right", "left", "end", "right", "u", "u")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    assert machine.looked == 1
