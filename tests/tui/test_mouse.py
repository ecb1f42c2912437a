import pytest
from msgspec.structs import replace
from textual.events import MouseScrollDown
from textual.pilot import Pilot

from fstui.runs import lessons
from fstui.runs.machine.replay import ReplayMachine
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.lessons import LessonScreen, LessonsScreen
from fstui.tui.screens.plan import PlanScreen
from fstui.tui.screens.result import ResultScreen
from tests.factories import saved_runs, screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines


async def clicked(pilot: Pilot[int], words: str, down: int = 0) -> list[str]:
    """Click on the first cell of these words, or some lines below, and return the screen."""
    lines = screen_lines(pilot.app)
    y = next(at for at, line in enumerate(lines) if words in line)
    await pilot.click(offset=(lines[y].index(words), y + down))
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return screen_lines(pilot.app)


async def test_click_selects_a_row_or_runs_a_command_of_the_footer() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await clicked(pilot, "/mnt/filer")
        assert any(line.startswith("▌") and "/mnt/filer" in line for line in lines)
        await clicked(pilot, "history")
        assert isinstance(app.screen, HistoryScreen)
        await clicked(pilot, "Esc back")
        assert not isinstance(app.screen, HistoryScreen)


async def test_double_click_opens_a_filesystem_and_a_saved_run() -> None:
    saved_runs.save(screens.RUN)
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        y = next(at for at, line in enumerate(screen_lines(app)) if "/srv/data" in line)
        await pilot.click(offset=(5, y), times=2)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, PlanScreen) and app.screen.offers.directory == "/srv/data"
        await press(pilot, "escape", "h")
        y = next(at for at, line in enumerate(screen_lines(app)) if "odirect-truth" in line)
        await pilot.click(offset=(5, y), times=2)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, ResultScreen)


async def test_click_on_a_head_sorts() -> None:
    for number, rate in enumerate((300, 100, 200)):
        at, step = f"2026-10-0{number + 1}T08:00:00+00:00", screens.STEPS[3]
        step = replace(step, rate_per_s=float(rate))
        saved_runs.save(replace(screens.RUN, id=f"run{number}", started_at=at, steps=(step,)))
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await clicked(pilot, "MOUNT")
        assert lines[2][3:].startswith("/ ") and "sorted by mount" in lines[-2]
        lines = await clicked(pilot, "FLAG")
        assert lines[2][3:].startswith("/srv/queue") and "sorted" not in lines[-2]
        await press(pilot, "h")
        assert isinstance(app.screen, HistoryScreen) and app.screen.rows
        assert [one.id for one in app.screen.rows] == ["run2", "run1", "run0"]
        await clicked(pilot, "RATE/S")
        assert [one.id for one in app.screen.rows] == ["run0", "run2", "run1"]
        await clicked(pilot, "WHEN")
        assert [one.id for one in app.screen.rows] == ["run2", "run1", "run0"]


async def test_click_on_delete_asks_before_the_second_click_deletes() -> None:
    saved_runs.save(screens.RUN)
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "h")
        lines = await clicked(pilot, "d delete")
        assert any("Press d again to delete it." in line for line in lines)
        assert isinstance(app.screen, HistoryScreen) and app.screen.rows
        await clicked(pilot, "d delete")
        assert not app.screen.rows


async def test_click_chooses_an_answer_until_it_is_revealed() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lesson = LessonScreen(lessons.find("one-revolution"), pace=0.0)
        app.push_screen(lesson)
        await pilot.pause()
        lines = await clicked(pilot, lesson.lesson.predict.choices[1])
        assert lesson.prediction == 2 and any("▸ 2" in line for line in lines)
        await clicked(pilot, "Enter start")
        assert lesson.stage == "run"
        while len(lesson.results) < len(lesson.lesson.runs):
            await pilot.pause()
        await press(pilot, "enter", "enter", "enter")
        await clicked(pilot, lesson.lesson.question.choices[0])
        lines = await clicked(pilot, lesson.lesson.question.choices[1])
        assert lesson.answer == 1 and not any("1-3 answer" in line for line in lines)


async def test_click_selects_a_step_below_the_findings() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 40)) as pilot:
        app.open_result(screens.RUN, None, None)
        await pilot.pause()
        assert isinstance(app.screen, ResultScreen)
        lines = await clicked(pilot, "O_DIRECT+O_DSYNC")
        assert any(line.startswith("▌") and "O_DIRECT+O_DSYNC" in line for line in lines)


async def test_click_selects_a_saved_run_and_wheel_scrolls_a_page() -> None:
    for day in range(1, 8):
        saved_runs.save(screens.RUN.__class__(id=f"run{day}", started_at=f"2026-10-{day:02d}T08:00:00+00:00"))
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "h")
        lines = await clicked(pilot, "04 Oct 08:00")
        assert isinstance(app.screen, HistoryScreen) and app.screen.chosen and app.screen.chosen.id == "run4"
        assert any("run4.json" in line for line in lines)
        first = (await press(pilot, "question_mark"))[5]
        await pilot._post_mouse_events([MouseScrollDown], "#page", button=0)
        await pilot.pause()
        assert screen_lines(app)[5] != first


async def test_click_selects_a_scenario_or_setting_and_starts_nothing() -> None:
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await clicked(pilot, "Tab settings")
        await clicked(pilot, "medium  ")
        assert isinstance(app.screen, PlanScreen) and app.screen.setting == "medium"
        await clicked(pilot, "wal-postgres")
        lines = await clicked(pilot, "wal-postgres")
        assert app.screen.setting == "" and any(line.startswith("── wal-postgres") for line in lines)


SELECTABLE = {
    "help": "#page DrawnLines:even", "history": "#selected", "plan": "#notes", "result": "#detail", "lessons": "#about",
    "lesson": "#text",
}  # fmt: skip


async def opened(pilot: Pilot[int], name: str) -> None:
    app = pilot.app
    assert isinstance(app, PreparedApp)
    match name:
        case "help":
            app.action_help()
        case "history":
            saved_runs.save(screens.RUN)
            app.action_history()
        case "plan":
            app.open_plan("/srv/data")
        case "result":
            app.open_result(screens.RUN, None, None)
        case "lessons":
            app.push_screen(LessonsScreen())
        case "lesson":
            app.push_screen(LessonScreen(lessons.find("one-revolution")))
    for _ in range(3):  # a list that was read starts the reading of the selected row
        await pilot.pause()
        await app.workers.wait_for_complete()


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", SELECTABLE)
async def test_mouse_selects_text_and_ctrl_c_copies_it(name: str, width: int) -> None:
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0))
    async with app.run_test(size=(width, 40)) as pilot:
        await opened(pilot, name)
        part = app.screen.query(SELECTABLE[name]).first()
        x, y = part.region.offset
        expected = [line[x : part.region.right].strip("│ ") for line in screen_lines(app)[y + 1 : y + 3]]
        await pilot.mouse_down(offset=(x, y + 1))
        await pilot.hover(offset=(part.region.right - 1, y + 2))
        await pilot.mouse_up(offset=(part.region.right - 1, y + 2))
        await pilot.pause()
        await pilot.press("ctrl+c")
        assert [line.strip() for line in app.clipboard.split("\n")] == "\n".join(expected).rstrip().split("\n")
        assert app.is_running and not app.screen.selections


async def test_selection_outlives_its_lines_and_ends_with_a_click() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 70)) as pilot:
        app.action_help()
        await pilot.pause()
        part = app.screen.query("#page DrawnLines").last()  # has fewer lines in 140 columns
        await pilot.mouse_down(part, offset=(2, part.size.height - 1))
        await pilot.hover(part, offset=(9, part.size.height - 1))
        await pilot.mouse_up(part, offset=(9, part.size.height - 1))
        assert app.screen.get_selected_text()
        await pilot.resize_terminal(140, 70)
        await pilot.pause()
        assert app.screen.get_selected_text() in (None, "")
        await pilot.click("#page DrawnLines")
        assert not app.screen.selections
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert app.return_value == 130
