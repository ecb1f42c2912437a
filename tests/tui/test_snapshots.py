"""Pictures of every screen. Accept a change with ``pytest --snapshot-update`` after looking at it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from fstui.model import shipped
from fstui.model.host import Host
from fstui.model.watch import WatchedSecond, WatchStarted
from fstui.runs import lessons
from fstui.runs.machine.replay import ReplayMachine
from fstui.tui.drawing.lessons import STAGES
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.lessons import LessonScreen, LessonsScreen
from fstui.tui.screens.plan import QuestionScreen
from fstui.tui.screens.run import RunScreen
from fstui.tui.screens.storage import StorageScreen
from tests.factories import busy, recorded, saved_runs, screens
from tests.factories.watched import minutes
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press
from tests.tui.test_at_risk import watch_risk
from tests.tui.test_plan import NearlyFull, planned, reached
from tests.tui.test_recording import INCIDENT
from tests.tui.test_watch import SENTENCE, watch_this

Compare = Callable[..., bool]
Before = Callable[[Pilot[Any]], Awaitable[None]]
SMALL, *LARGER = (
    pytest.param((columns, rows), id=f"{columns}x{rows}", marks=pytest.mark.slow if columns != 80 else ())
    for columns, rows in ((80, 24), (50, 20), (120, 40), (200, 60))
)
SIZES = pytest.mark.parametrize("size", [SMALL, *LARGER])
SMALL_SIZES = pytest.mark.parametrize("size", [SMALL, LARGER[0]])
SHIPPED = shipped._FOLDERS
SAVED = "/home/me/.local/state/fstui/runs/20261120-031244-k3f9a1.json"


@pytest.fixture(autouse=True)
def own_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use scenarios of the tests, so that a changed scenario changes no picture."""
    monkeypatch.setattr("fstui.model.shipped._FOLDERS", (Path(__file__).parent / "scenarios",))


async def storage_screen(pilot: Pilot[Any]) -> StorageScreen:
    screen = pilot.app.screen
    assert isinstance(screen, StorageScreen)
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    assert screen.saved_runs is not None
    return screen


async def storage(pilot: Pilot[Any]) -> None:
    screen = await storage_screen(pilot)
    machine = screen.fstui.session.machine
    assert isinstance(machine, screens.PreparedMachine)
    screen.tick()
    machine.readings = screens.LAST_READING - 2  # however often the screen has looked by now
    screen.tick()
    screen.tick()
    await pilot.pause()


async def at_work(pilot: Pilot[Any]) -> None:
    screen = await storage_screen(pilot)
    machine = screen.fstui.session.machine
    assert isinstance(machine, busy.BusyMachine)
    machine.readings = busy.LAST - 600  # however often the screen has looked by now
    while machine.readings < busy.LAST - 1:
        screen.read_counters()  # as a slow line does, which skips frames
    screen.tick()
    await pilot.pause()


async def running(pilot: Pilot[Any]) -> None:
    assert isinstance(pilot.app, PreparedApp)
    pilot.app.open_run(screens.PreparedRun(screens.events(until=5)))
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    assert isinstance(pilot.app.screen, RunScreen)
    pilot.app.screen.draw_changes()
    await pilot.pause()


async def result(pilot: Pilot[Any]) -> None:
    assert isinstance(pilot.app, PreparedApp)
    pilot.app.open_result(screens.RUN, SAVED, "/srv/data")
    await pilot.pause()
    await pilot.pause()  # the panes of a large terminal take a second layout


async def watching(pilot: Pilot[Any]) -> None:
    assert isinstance(pilot.app, PreparedApp)
    seen = [WatchedSecond(second=second, sentence=SENTENCE) for second in minutes(240)]
    watch_this(pilot.app, WatchStarted(host=Host()), *seen)
    await pilot.pause()
    await pilot.press("t")
    await pilot.pause()


async def at_risk(pilot: Pilot[Any]) -> None:
    assert isinstance(pilot.app, PreparedApp)
    watch_risk(pilot.app)
    await pilot.pause()
    await pilot.press("t")
    await pilot.pause()
    await pilot.press("r")
    await pilot.pause()


async def helping(pilot: Pilot[Any]) -> None:
    await pilot.press("question_mark")


@SIZES
@pytest.mark.parametrize("before", [storage, running, result, watching, at_risk], ids=lambda before: before.__name__)
def test_screen(snap_compare: Compare, size: tuple[int, int], before: Before) -> None:
    assert snap_compare(PreparedApp(), terminal_size=size, run_before=before)


@SIZES
def test_question(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FSTUI_YES")

    async def asked(pilot: Pilot[Any]) -> None:
        await planned(pilot)
        await pilot.press("enter")
        await reached(pilot, QuestionScreen)
        await pilot.pause()

    assert snap_compare(PreparedApp(NearlyFull(), directory="/srv/data"), terminal_size=size, run_before=asked)


@SMALL_SIZES
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(PreparedApp(), terminal_size=size, run_before=helping)


@SIZES
def test_storage_at_work(snap_compare: Compare, size: tuple[int, int]) -> None:
    for at, times in enumerate((1.0, 1.6, 0.5)):
        saved_runs.save(busy.run_of_the_queue(f"aaa11{at}", 1 + at, times))
    assert snap_compare(PreparedApp(busy.BusyMachine()), terminal_size=size, run_before=at_work)


async def looking_back(pilot: Pilot[Any]) -> None:
    await pilot.press("h")
    screen = pilot.app.screen
    assert isinstance(screen, HistoryScreen)
    while screen.rows is None:
        await pilot.pause()
    await pilot.app.workers.wait_for_complete()  # the chosen one is being read by now
    await pilot.pause()
    screen.part("file").styles.display = "none"  # its directory has another name in each test run
    await pilot.pause()


@SIZES
def test_history(snap_compare: Compare, size: tuple[int, int]) -> None:
    for at, times in enumerate((1.0, 1.6, 0.5, 1.1)):
        saved_runs.save(busy.run_of_the_queue(f"aaa11{at}", 1 + at, times))
    saved_runs.save(screens.RUN)
    assert snap_compare(PreparedApp(), terminal_size=size, run_before=looking_back)


async def at_the_incident(pilot: Pilot[Any]) -> None:
    await press(pilot, "h", "w")


@SIZES
def test_recording(snap_compare: Compare, size: tuple[int, int]) -> None:
    recorded.on_disk(INCIDENT)
    assert snap_compare(PreparedApp(), terminal_size=size, run_before=at_the_incident)


@SMALL_SIZES
def test_lessons(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fstui.model.shipped._FOLDERS", SHIPPED)
    lessons.lessons.cache_clear()

    async def listed(pilot: Pilot[Any]) -> None:
        screen = LessonsScreen()
        pilot.app.push_screen(screen)
        for _ in range(2):
            await pilot.pause()
            await pilot.app.workers.wait_for_complete()
        assert len(screen.planned_runs) == 13

    assert snap_compare(PreparedApp(), terminal_size=size, run_before=listed)


@SMALL_SIZES
@pytest.mark.parametrize("page", ["predict", "run", "compare", "explain", "question", "answered"])
def test_lesson(snap_compare: Compare, size: tuple[int, int], page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fstui.model.shipped._FOLDERS", SHIPPED)
    lessons.lessons.cache_clear()

    async def taken(pilot: Pilot[Any]) -> None:
        screen = LessonScreen(lessons.find("one-revolution"), pace=0.0)
        pilot.app.push_screen(screen)
        await pilot.pause()
        await pilot.press("2")
        for _ in range((*STAGES, "answered").index(page)):
            await pilot.press("1" if screen.stage == "question" else "enter")
            await pilot.app.workers.wait_for_complete()
            screen.redraw()  # what came since the last of its frames
            await pilot.pause()

    assert snap_compare(PreparedApp(), terminal_size=size, run_before=taken)


@pytest.mark.parametrize("before", [storage, running, result], ids=lambda before: before.__name__)
def test_screen_in_ascii(snap_compare: Compare, before: Before) -> None:
    assert snap_compare(PreparedApp(ascii_only=True), terminal_size=(80, 24), run_before=before)


@SIZES
@pytest.mark.parametrize("keys", [(), ("tab", "down", "right"), ("down", "tab", "down", "right", "space")])
def test_plan(snap_compare: Compare, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    async def planned(pilot: Pilot[Any]) -> None:
        await pilot.app.workers.wait_for_complete()
        await pilot.press(*keys)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0), directory="/srv/data")
    assert snap_compare(app, terminal_size=size, run_before=planned)
