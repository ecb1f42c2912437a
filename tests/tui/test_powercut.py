import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from fstui.powercut import power_cuts
from fstui.powercut.plan import FORM
from fstui.runs import power_cut
from fstui.runs.machine.local import LocalMachine
from fstui.runs.session import Session
from fstui.state import ledger, paths
from fstui.tui.screens.plan import PlanScreen
from fstui.tui.screens.powercut import PowerCutScreen
from fstui.tui.screens.result import ResultScreen
from tests.factories import screens
from tests.powercut.test_verification import Box, a_box
from tests.tui.conftest import PreparedApp
from tests.tui.screen import screen_lines


@asynccontextmanager
async def opened(size: tuple[int, int] = (80, 24), path: str = "/srv/data") -> AsyncIterator[Pilot[int]]:
    app = PreparedApp()
    async with app.run_test(size=size) as pilot:
        target = screens.RUN.target
        assert target is not None
        app.open_power_cut(path, target, {"sync": "fsync"})
        await pilot.pause()
        yield pilot


async def text(pilot: Pilot[int]) -> str:
    await pilot.pause()
    return "\n".join(screen_lines(pilot.app))


async def test_steps_are_in_order() -> None:
    async with opened((80, 30)) as pilot:
        said = " ".join((await text(pilot)).split())
        words = (
            "On a second machine with its own power supply",
            "ssh -o ServerAliveInterval=2 db7 fstui powercut write /srv/data --set sync=fsync | fstui powercut witness",
            "Pull every wall plug",
            "Do not reset, reboot",
            "Killing this VM",
            "ssh db7 fstui powercut verify /srv/data < acks.log",
            "One lost record proves",
        )
        places = [said.index(word) for word in words]
        assert places == sorted(places)


async def test_name_with_blanks_is_quoted_for_both_shells() -> None:
    async with opened(path="/srv/my data") as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, PowerCutScreen)
        assert screen.verify_command == """ssh db7 'fstui powercut verify '"'"'/srv/my data'"'"'' < acks.log"""


async def test_root_filesystem_is_named_before_the_command() -> None:
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        app.open_power_cut("/", screens.ROOT, {})
        words = " ".join((await text(pilot)).split())
        assert words.index("this host may not start again") < words.index("--root-of db7")


@pytest.mark.parametrize("size", [(80, 24), (50, 20)])
async def test_page_scrolls_to_its_end(size: tuple[int, int]) -> None:
    async with opened(size) as pilot:
        await pilot.press("end")
        assert "Five survived cuts say much more than one" in " ".join((await text(pilot)).split())


async def test_w_opens_it_from_a_result_and_escape_returns() -> None:
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        app.open_result(screens.RUN, "/x.json", "/srv/data")
        await pilot.pause()
        assert "w power cut" in screen_lines(app)[-1]
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(app.screen, PowerCutScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, ResultScreen)


@asynccontextmanager
async def on_this_box(box: Box) -> AsyncIterator[Pilot[int]]:
    app = PreparedApp(LocalMachine())
    async with app.run_test(size=(80, 40)) as pilot:
        app.open_power_cut(str(box.target), box.cut.header.target, {})
        await pilot.pause()
        await app.workers.wait_for_complete()
        yield pilot


async def typed(pilot: Pilot[int], words: str) -> None:
    await pilot.press("v")
    await pilot.pause()
    await pilot.press(*words, "enter")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_log_of_the_witness_leads_to_the_verdict(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    box.write_files()
    (tmp_path / "acks.log").write_bytes(box.log())
    async with on_this_box(box) as pilot:
        await typed(pilot, str(tmp_path / "acks.log"))
        assert isinstance(pilot.app.screen, ResultScreen)
        assert "KEPT" in await text(pilot)
    assert power_cuts.read_history(box.cut.header.target.identity).survived_cuts == 1
    async with on_this_box(box) as pilot:
        assert "Survived cuts: 1." in await text(pilot)


async def test_lost_record_is_shown_as_lost(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    box.write_files()
    box.spoil(95)
    (tmp_path / "acks.log").write_bytes(box.log())
    async with on_this_box(box) as pilot:
        await typed(pilot, str(tmp_path / "acks.log"))
        assert "LOST" in await text(pilot)


async def test_hanging_history_does_not_delay_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(power_cut, "earlier_cuts", hangs)
    async with opened() as pilot:
        assert "Pull every wall plug" in await text(pilot)
        await pilot.press("s")
        assert "[x] s" in await text(pilot)
        assert "Survived cuts" not in await text(pilot)


async def test_pipe_among_the_saved_runs_is_ignored() -> None:
    paths.runs_dir().mkdir(parents=True)
    os.mkfifo(paths.runs_dir() / "20261120-000000-a1b2c3.json")
    async with opened() as pilot:
        await pilot.app.workers.wait_for_complete()
        await text(pilot)
        assert "Survived cuts: 0." in await text(pilot)


async def test_user_states_that_only_the_storage_was_cut(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    box.write_files()
    box.boot = box.cut.header.boot
    (tmp_path / "acks.log").write_bytes(box.log())
    async with on_this_box(box) as pilot:
        await pilot.press("s")
        assert "[x] s" in await text(pilot)
        await typed(pilot, str(tmp_path / "acks.log"))
        assert "KEPT" in await text(pilot)


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"hello\n", "header")])
async def test_bad_log_is_reported_and_the_screen_stays(tmp_path: Path, content: bytes | None, why: str) -> None:
    box = await a_box(tmp_path / "target")
    if content is not None:
        (tmp_path / "acks.log").write_bytes(content)
    async with on_this_box(box) as pilot:
        await typed(pilot, str(tmp_path / "acks.log"))
        assert isinstance(pilot.app.screen, PowerCutScreen)
        assert why in " ".join((await text(pilot)).split())
    assert list(power_cuts.verified_cuts()) == []


async def test_unverified_cut_is_shown_and_not_offered_for_removal(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    cut = await power_cut.prepare_cut(Session(LocalMachine()), str(tmp_path / "target"), {})
    entry = ledger.write_entry(cut.header.run, kind="directory", what=cut.header.directory)
    (file,) = paths.ledger_dir().glob("*.json")
    file.write_text(json.dumps({**msgspec.structs.asdict(entry), "pid": 1, "started": 1}))
    async with on_this_box(Box(tmp_path / "target", cut)) as pilot:
        assert "A cut has not been verified" in await text(pilot)
        assert isinstance(pilot.app, PreparedApp)
        assert pilot.app.left_behind == []


def selected_scenario(app: PreparedApp) -> str:
    assert isinstance(app.screen, PlanScreen)
    return app.screen.offers.all[app.screen.scenario_index].name


async def test_settings_of_the_plan_are_in_its_command(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    app = PreparedApp(LocalMachine())
    async with app.run_test(size=(80, 40)) as pilot:
        app.open_plan(str(tmp_path / "target"))
        await pilot.pause()
        while selected_scenario(app) != "power-cut":
            await pilot.press("down")
        await pilot.press("tab", *["down"] * list(FORM.settings).index("writers"), "right")
        await app.workers.wait_for_complete()
        said = " ".join((await text(pilot)).split())
        assert "3 kinds of writes × 2 writers" in said and "--set writers=2" in said and "the verification" in said
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, PowerCutScreen)
        assert "--set writers=2" in app.screen.writer_command
