"""The session that both interfaces use: a replay runs through the same code as this host."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.runs import history, rules, scenarios, startup
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.session import Session
from fstui.state import files, ledger, paths, user_data
from tests.factories import saved_runs
from tests.factories.screens import RUN


async def test_a_saved_run_is_planned_again_with_its_settings() -> None:
    _, plan = await Session(ReplayMachine(RUN, pace=0.0)).plan_again(RUN, "/srv/data")
    assert plan.command.startswith("fstui run odirect-truth /srv/data --set seconds=2")
    assert [step.name for step in plan.steps][:3] == [step.name for step in RUN.steps][:3]


async def test_a_declaration_on_a_replay_lasts_for_the_session() -> None:
    session = Session(ReplayMachine(RUN, pace=0.0))
    site = await session.look_up("/srv/data")
    await session.save_declaration(site, Declaration(medium="ssd"))
    assert (await session.look_up("/srv/data")).declaration == Declaration(medium="ssd", remembered=True)
    assert user_data.declarations() == {}


async def test_saved_data_is_read_at_once() -> None:
    identity = RUN.target.identity if RUN.target else ""
    user_data.declare(identity, Declaration(medium="hdd-7200"))
    files.create_private_directory(paths.config_dir())
    (paths.config_dir() / "keys.toml").write_text('"storage.sort" = "s"')
    entry = ledger.write_entry("k3f9a1", "directory", "/nowhere/.fstui-k3f9a1", pid=1)
    session = Session(ReplayMachine(RUN, pace=0.0))
    before = await session.read_saved()
    assert before.keys == {"storage.sort": "s"} and not before.problem
    assert before.left_behind == []  # its owner is running
    assert entry in ledger.entries()
    assert (await session.look_up("/srv/data")).declaration == Declaration(medium="hdd-7200", remembered=True)
    lowest = session.judged_filesystems().inventory.filesystems[0].lowest
    assert all(node.medium and node.medium.reason.startswith("declared by you (remembered)") for node in lowest)


async def test_a_saved_run_is_found_and_judged_again() -> None:
    path = saved_runs.save(RUN)
    saved = await history.find("last")
    assert (saved.run, saved.path) == (RUN, str(path))
    assert [summary.id for summary in await history.summaries()] == [RUN.id]
    again = rules.judge_again(saved.run)
    assert again.steps == RUN.steps and again.findings != RUN.findings  # the numbers of the replay are invented
    with pytest.raises(Refused, match="no saved run is called 'other'"):
        await history.find("other")
    assert await startup.left_behind() == ([], [])


async def test_a_broken_own_scenario_hides_no_other(tmp_path: Path) -> None:
    place = files.create_private_directory(paths.config_dir() / "scenarios")
    (place / "broken.toml").write_text("name = 7")
    (place / "mine.toml").write_text(
        'name = "x"\ntitle = "Mine"\nquestion = "How long?"\n'
        '[[steps]]\nname = "a"\nprobe = "sync_writes"\nfile_bytes = 65536\n'
    )
    known, broken = await scenarios.load_own()
    assert [name for name, _ in known] == ["mine"]
    assert len(broken) == 1 and "broken.toml" in broken[0]
    assert (await scenarios.find("mine")).title == "Mine"
    _, plan = await Session(ReplayMachine(RUN, pace=0.0)).plan_by_name("mine", "/srv/data")
    assert plan.command == "fstui run mine /srv/data"  # by its file name, not the name in the file


@pytest.mark.parametrize(
    ("declared", "remembered", "holds"),
    [
        ({}, {"medium": "ssd", "write_cache": "plp"}, {"medium": "ssd", "write_cache": "plp"}),
        ({"medium": "hdd-7200"}, {"medium": "ssd", "write_cache": "plp"}, {"medium": "hdd-7200"}),
        ({"write_cache": "none"}, {"medium": "ssd"}, {"medium": "ssd", "write_cache": "none"}),
    ],
)
def test_a_new_declaration_overrides_the_saved_one(
    declared: dict[str, str], remembered: dict[str, str], holds: dict[str, str]
) -> None:
    now = Declaration.parse(declared.get("medium"), declared.get("write_cache"))
    then = Declaration.parse(remembered.get("medium"), remembered.get("write_cache"))
    expected = Declaration.parse(holds.get("medium"), holds.get("write_cache"))
    assert now.combined_with(replace(then, remembered=True)).text == expected.text
