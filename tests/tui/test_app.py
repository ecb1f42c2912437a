import asyncio
import gc
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.segment import Segment
from textual._callback import invoke
from textual.command import Hit
from textual.events import Key
from textual.widgets import Input

from fstui.cli import terminal
from fstui.model.errors import Refused
from fstui.model.events import Event
from fstui.runs import history
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.startup import StartupData
from fstui.tui import commands
from fstui.tui.app import print_result
from fstui.tui.commands import HELP
from fstui.tui.palette import EntryProvider
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.lessons import LessonScreen, LessonsScreen
from fstui.tui.screens.plan import PlanScreen
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.widgets.lines import DrawnLines
from tests.factories import saved_runs, screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines

TAKEN = {"ctrl+a", "ctrl+b"}  # the prefixes of GNU screen and tmux


class Stoppable(screens.PreparedRun):
    """A run that continues until it is stopped, and then cleans up."""

    def __init__(self) -> None:
        super().__init__(screens.events(until=3))
        self.cleaned = False
        self._stop = asyncio.Event()

    async def events(self) -> AsyncIterator[Event]:
        for event in self.told:
            yield event
        await self._stop.wait()
        self.cleaned = True
        yield screens.events()[-1]

    def stop(self) -> None:
        self._stop.set()


async def test_state_may_arrive_after_the_last_screen_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    app = PreparedApp()
    kept = await app.session.read_saved()

    async def late() -> StartupData:
        for _ in iter(lambda: bool(app.screen_stack), False):
            await asyncio.sleep(0)
        return kept

    monkeypatch.setattr(app.session, "read_saved", late)
    async with app.run_test(size=(80, 24)):
        pass  # an exception of a worker would be raised here


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+q", 0), ("ctrl+c", 130)])
async def test_quit_stops_the_run_and_waits_for_its_cleanup(key: str, code: int) -> None:
    app, running = PreparedApp(), Stoppable()
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_run(running)
        await pilot.pause()
        await pilot.press(key)
        await app.workers.wait_for_complete()
    assert running.cleaned
    assert app.return_value == code
    assert app.result is not None and app.result[0].id == screens.RUN.id


@pytest.mark.parametrize(
    ("options", "leaves"),
    [
        ({"directory": "/srv/data"}, True),
        ({"push_first_screens": lambda app: app.push_screen(LessonsScreen())}, True),
        ({"push_first_screens": lambda app: app.push_screen(LessonsScreen()), "returns_to_storage": True}, False),
        ({}, False),
    ],
    ids=["a directory", "lessons", "a class", "the app"],
)
async def test_esc_leaves_at_the_screen_of_the_command(options: dict[str, Any], leaves: bool) -> None:
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0), **options)
    async with app.run_test(size=(80, 24)) as pilot:
        app.action_history()
        await pilot.pause()
        for _ in range(len(app.screen_stack) - 1):
            assert app.return_code is None
            await pilot.press("escape")
            await pilot.pause()
        assert (app.return_code == 0) == leaves
        assert leaves or isinstance(app.screen, StorageScreen)


def test_a_replay_is_not_called_a_run_that_was_not_saved(capsys: pytest.CaptureFixture[str]) -> None:
    app = PreparedApp()
    app.result = (screens.RUN, None)
    print_result(app)
    assert capsys.readouterr().err == ""
    app.save_error = "the run could not be saved: the disk is full"
    print_result(app)
    assert capsys.readouterr().err == "fstui: the run could not be saved: the disk is full\n"


def test_a_saved_result_is_printed_briefly_with_its_path(capsys: pytest.CaptureFixture[str]) -> None:
    app = PreparedApp()
    app.result = (screens.RUN, "/home/me/runs/k3f9a1.json")
    print_result(app)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("! SUSPICIOUS") and printed[-1] == "saved /home/me/runs/k3f9a1.json"
    assert any(line.startswith("next ") for line in printed) and "fstui show k3f9a1" in printed[-2]
    assert max(map(len, printed)) <= 80
    assert not any("LAYER" in line or "FINDING" in line for line in printed)
    app.result = (replace(screens.RUN, left_behind=("/srv/data/.fstui-k3f9a1",)), app.result[1])
    print_result(app)
    assert "/srv/data/.fstui-k3f9a1" in capsys.readouterr().out


class Refusing(screens.PreparedRun):
    async def events(self) -> AsyncIterator[Event]:
        for event in self.told:
            yield event
        raise Refused("/srv/data is too full.")


async def test_a_run_without_a_result_says_why_after_the_app(capsys: pytest.CaptureFixture[str]) -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_run(Refusing([]))
        await app.workers.wait_for_complete()
        await pilot.pause()
    print_result(app)
    assert capsys.readouterr() == ("", "fstui: /srv/data is too full.\n")
    app.run_in_progress = Stoppable()
    print_result(app)
    assert capsys.readouterr().err.startswith("fstui: The last run had not ended, so it has no result.")


async def test_ctrl_c_quits_while_a_value_is_being_typed() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", "x", "ctrl+c")
        await app.workers.wait_for_complete()
    assert app.return_value == 130


async def test_glossary_begins_with_the_words_of_the_screen() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "g")
        assert lines[1].startswith("  write back ") and any("── write back ──" in line for line in lines)
        assert not any(set("`*#") & set(line) for line in lines)
        await press(pilot, "escape")
        assert isinstance(app.screen, StorageScreen)
        assert (await press(pilot, "question_mark", "g"))[1:] == lines[1:], "the help has the terms of its screen"


@pytest.mark.parametrize("screen", commands.screens(), ids=lambda screen: screen.__name__)
def test_keys_are_unique_and_not_those_of_tmux_or_screen(screen: type[BaseScreen]) -> None:
    keys = [key for command in screen.KEYS for key in command.keys.split(",")]
    names = [command.id for command in screen.KEYS]
    assert len(set(keys)) == len(keys)
    assert len(set(names)) == len(names)
    assert not TAKEN & set(keys)
    assert all(command.help for command in screen.KEYS)


@pytest.mark.parametrize(
    "screen", [one for one in commands.screens() if HELP in one.KEYS], ids=lambda screen: screen.__name__
)
@pytest.mark.parametrize("width", [50, 80])
def test_footer_fits_and_always_names_the_help(screen: type[BaseScreen], width: int) -> None:
    text = commands.footer(screen.KEYS, {}, width)
    assert text.cell_len <= width
    assert "? help" in text.plain


def test_footer_leaves_out_enter_last_and_the_palette_before() -> None:
    keys = (*LessonScreen.KEYS, commands.PALETTE)
    named = {width: commands.footer(keys, {}, width).plain for width in (44, 54, 56, 80)}
    assert all("Enter continue" in line and "? help" in line for line in named.values())
    assert "Ctrl-P find" in named[80] and "Ctrl-P find" in named[56] and "Ctrl-P find" not in named[44]
    assert "g terms" in named[80] and "g terms" not in named[56]


async def test_garbage_collection_resumes_after_the_first_frame() -> None:
    gc.disable()
    gc.unfreeze()  # the collected tests
    try:
        async with PreparedApp().run_test() as pilot:
            await pilot.pause()
            assert gc.isenabled() and gc.get_freeze_count()
    finally:
        gc.enable()


def test_the_app_collects_garbage_as_often_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "check_terminal", lambda: None)
    monkeypatch.setattr("fstui.tui.app.run_app", lambda *_: 0)
    usual = gc.get_threshold()
    gc.set_threshold(100_000)  # as a command of the command line does
    try:
        assert terminal.start(str(Path.cwd()), trust_directory=True) == 0
        assert gc.get_threshold()[:2] == usual[:2]
    finally:
        gc.set_threshold(*usual)
        gc.enable()


async def test_texts_that_were_drawn_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fstui.tui.app.CLEAR_CACHES_S", 0.01)
    async with PreparedApp().run_test() as pilot:
        for number in range(1000):
            Segment(f"{number} operations").split_cells(3)
        while Segment._split_cells.cache_info().currsize >= 1000:
            await pilot.pause(0.01)


@pytest.mark.parametrize("call", ["survey", "counters"])
async def test_fault_while_reading_the_storage_exits_with_1(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("sda")

    monkeypatch.setattr(screens.PreparedMachine, call, broken)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
    assert app.return_value == 1
    assert isinstance(app.fault, KeyError)


async def found(app: PreparedApp, words: str) -> list[str]:
    entries = EntryProvider(app.screen)
    await entries.startup()
    assert entries.saved_runs_task is not None
    await entries.saved_runs_task
    return [str(hit.match_display) async for hit in entries.search(words) if isinstance(hit, Hit)]


async def test_palette_finds_mounts_rules_runs_and_keys() -> None:
    saved_runs.save(screens.RUN)
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        assert "Ctrl-P find" in screen_lines(app)[-1]
        assert any(name.startswith("mount     /srv/queue ") for name in await found(app, "queue"))
        assert any("flushes-arrive" in name for name in await found(app, "rule flushes-arrive"))
        (run,) = await found(app, "k3f9a1")
        assert run.startswith("run       k3f9a1: odirect-truth ") and run.endswith("on /srv/data")
        assert any(name.startswith("h         history ") for name in await found(app, "history"))
        assert any(name.startswith("screen    lessons ") for name in await found(app, "lesson"))
        assert any(re.match("lesson     7 Barriers +barrier, flush", name) for name in await found(app, "barrier"))
        assert any(name.startswith("scenario  power-cut ") for name in await found(app, "power"))
        assert not any("rule" in name for name in await found(app, "lesson")), "scattered letters are no match"
        descriptions = [name.partition("  ")[2] for name in await found(app, "his") if "history" not in name]
        assert not any("this" in words for words in descriptions), "letters in the middle of a word are no match"
        assert any(name.startswith("rule      flushes-arrive") for name in await found(app, "arrive flushes"))
        entries = EntryProvider(app.screen)
        (hit,) = [hit async for hit in entries.search("rule barriers-off")][:1]
        await invoke(hit.command)
        await pilot.pause()
        assert "barriers-off" in screen_lines(app)[0]


async def test_without_a_query_the_palette_lists_where_to_go() -> None:
    app = PreparedApp()
    async with app.run_test(size=(200, 50)) as pilot:
        lines = await press(pilot, "ctrl+p")
        for name in ("t         watch", "mount     /srv/queue", "scenario  check"):
            assert any(f"│ {name} " in line for line in lines)
        assert "│ ?         help " in lines[3], "Enter without a choice starts no run"
        starts = {
            line.index(words) for line in lines for words in ("Is it durable", "Choose a scenario (") if words in line
        }
        assert len(starts) == 1, "all descriptions are in one column"
        assert sum("│ lesson " in line for line in lines) > 2
        below = app.screen.render_line(0)
        assert {str(segment.style) for segment in below} == {"bright_black on default"}


@pytest.mark.parametrize(
    ("words", "entry", "title"),
    [
        ("gloss", "g         glossary", "glossary"),
        ("terms", "g         glossary", "glossary"),
        ("term dirty", "term      write back, ", "write back"),
        ("recorded", "screen    recording", "recording"),
        ("trend", "screen    trend", "trend"),
        ("watch queue", "watch     /srv/queue", "watch"),
    ],
)
async def test_palette_opens_terms_and_other_screens(words: str, entry: str, title: str) -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        assert (await found(app, words))[0].startswith(entry)
        await pilot.press("ctrl+p", *words)
        await app.workers.wait_for_complete()
        assert title in (await press(pilot, "enter"))[0]
        assert not isinstance(app.screen, StorageScreen)


async def test_the_footer_below_the_palette_shows_its_keys() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for keys, words in (("ctrl+p",), "Enter choose  Esc close"), (("escape",), "Enter run here"):
            await press(pilot, *keys)
            footer = app.screen_stack[0].query_one("#footer", DrawnLines)
            assert words in footer.render_line(0).text


async def test_palette_finds_scenarios_and_settings() -> None:
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p", *"scenario wal-postgres")
        await pilot.app.workers.wait_for_complete()
        await press(pilot, "enter")
        assert isinstance(app.screen, PlanScreen) and app.screen.offer and app.screen.offer.name == "wal-postgres"
        await press(pilot, "ctrl+p", *"setting medium", "enter")
        assert app.screen.setting == "medium"


async def test_palette_works_while_the_disk_of_saved_runs_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hanging(most: int | None = None) -> list[history.Summary]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(history, "summaries", hanging)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p", *"theme d")
        while not any("theme     dark" in line for line in screen_lines(app)):
            await pilot.pause()


async def test_a_closed_screen_ends_its_workers_first(monkeypatch: pytest.MonkeyPatch) -> None:
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0))
    async with app.run_test(size=(200, 50)) as pilot:
        await press(pilot, "enter")
        plan = app.screen
        assert isinstance(plan, PlanScreen)

        async def late(most: int | None = None) -> list[history.Summary]:
            for _ in iter(lambda: bool(plan.query("#earlier")), False):
                await asyncio.sleep(0)
            return []

        monkeypatch.setattr(history, "summaries", late)
        plan.read_saved_runs()
        await press(pilot, "escape")
        assert isinstance(app.screen, StorageScreen)


async def test_saved_runs_are_read_again_after_the_reading_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    app, is_released, readings = PreparedApp(ReplayMachine(screens.RUN, pace=0.0)), asyncio.Event(), []
    async with app.run_test(size=(200, 50)) as pilot:
        await press(pilot, "enter")
        plan = app.screen
        assert isinstance(plan, PlanScreen)

        async def summaries(most: int | None = None) -> list[history.Summary]:
            readings.append(most)
            await is_released.wait()
            return []

        monkeypatch.setattr(history, "summaries", summaries)
        for _ in range(3):
            plan.read_saved_runs(again=True)
            await pilot.pause()
        is_released.set()
        await app.workers.wait_for_complete()
        assert len(readings) == 2


async def test_picture_of_the_screen_is_saved_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", str(tmp_path))
    app = PreparedApp()
    async with app.run_test(size=(120, 24)) as pilot:
        assert any(name.startswith("screen    picture of the screen ") for name in await found(app, "picture"))
        app.save_picture()
        await app.workers.wait_for_complete()
        await pilot.pause()
        (file,) = tmp_path.iterdir()
        assert file.name in screen_lines(app)[-2] and "/srv/queue" in file.read_text()


async def test_prompt_opens_only_once() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        await screen.action_filter()
        await screen.action_filter()
        assert len(screen.query(Input)) == 1


async def test_letters_during_the_opening_are_typed() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        for letter in "/home":  # all at once, as a paste sends them
            pilot.app.post_message(Key("slash" if letter == "/" else letter, letter))
        await pilot.pause()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        assert sorted(screen.query_one(Input).value) == sorted("home")
