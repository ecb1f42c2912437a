import re

import pytest
from textual.pilot import Pilot

from fstui.runs import lessons
from fstui.tui.drawing import lessons as drawing
from fstui.tui.progress import Progress
from fstui.tui.screens.lessons import LessonScreen, LessonsScreen
from tests.factories.steps import step
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines


async def taken(pilot: Pilot[int], screen: LessonScreen) -> None:
    """Wait until all runs are over, pulling the plug where the lesson asks for it."""
    while len(screen.results) < len(screen.lesson.runs):
        await pilot.press("p")
        await pilot.pause()


async def test_from_the_list_to_the_last_answer() -> None:
    app, lesson = PreparedApp(), lessons.find("fsync-cost")
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(LessonsScreen(pace=0.0))
        await press(pilot, *["down"] * (lesson.number - 1), "enter")
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        assert "Answer first" in (await press(pilot, "enter"))[-2]
        await pilot.press(str(lesson.predict.right), "enter")
        await taken(pilot, screen)
        narrow = drawing.runs(lesson, screen._progress, {}, 54)
        assert all(len(part.plain.rstrip()) <= 54 for part in narrow)
        compared = await press(pilot, "enter")
        assert "SIMULATED" in compared[0] and any("✓" in line for line in compared)
        assert any("Right." in line for line in compared) and any("✓ right, as measured" in line for line in compared)
        assert "── why" in (await press(pilot, "enter"))[2], "the explanation is above the rates"
        await pilot.press("enter")
        wrong = 1 if lesson.question.right != 1 else 2
        answered = await press(pilot, str(wrong))
        assert any(f"No: {lesson.question.right} is right." in line for line in answered)
        assert any("enter end" in line.lower() for line in answered[-2:])
        assert any("✓ right" in line for line in answered) and not any(
            "right, as measured" in line for line in answered
        )
        listed = await press(pilot, "enter")
        assert isinstance(app.screen, LessonsScreen) and "1 of 13 taken" in listed[0]
    assert (await lessons.read_taken())[lesson.name].right == 1


async def test_a_step_lasts_until_the_plug_is_pulled() -> None:
    app, lesson = PreparedApp(), lessons.find("power-cut")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = LessonScreen(lesson, pace=0.0)
        app.push_screen(screen)
        await pilot.press("1", "enter", "p")  # too early
        elapsed_s = 0.0
        while "honest" not in screen.results and elapsed_s < 60:
            await pilot.pause()
            progress = screen._progress.get("honest")
            elapsed_s = progress.snapshot.elapsed_s if progress and progress.snapshot else 0.0
        assert "press p to pull the plug" in screen_lines(app)[2] and "no plug" not in screen_lines(app)[-1]
        await taken(pilot, screen)
        await pilot.pause()
        assert any("ssd  A consumer SSD" in line for line in screen_lines(app)), "the last run is in view"
        assert sum("✗ LOST" in line for line in screen_lines(app)) == 2
        compared = await press(pilot, "enter")
        assert any("✓ the honest disk: KEPT" in line for line in compared)


def test_an_answer_is_called_measured_only_if_the_runs_show_it() -> None:
    lesson = lessons.find("power-cut")
    for holds in (True, False):
        claims = [
            lessons.CheckedClaim("the lying hard disk: LOST", True),
            lessons.CheckedClaim("the honest disk: KEPT", holds),
        ]
        drawn = "\n".join(part.plain for part in drawing.comparison(lesson.predict, 1, claims, 80))
        assert "✓ right" in drawn and ("right, as measured" in drawn) is holds


def test_time_axis_of_a_step_without_an_end_doubles() -> None:
    assert [drawing._window_s(elapsed_s) for elapsed_s in (0.0, 7.9, 8.1, 54.0)] == [8, 8, 16, 64]


async def test_enter_is_named_only_if_it_leads_on() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(screen := LessonScreen(lessons.find("one-revolution"), pace=0.0))
        await pilot.pause()
        assert "Enter" not in screen_lines(app)[-1]
        assert "Enter start" in (await press(pilot, "1"))[-1]
        await press(pilot, "enter")
        await taken(pilot, screen)
        assert "Enter continue" in (await press(pilot, "enter"))[-1]


async def test_bars_of_rates_are_linear() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(LessonScreen(lessons.find("one-revolution"), pace=0.0))
        await press(pilot, "1", "enter")
        rows = [line for line in screen_lines(app) if "same block, fdatasync" in line and "1.00" in line]
        slow, fast = (line.count("█") for line in rows)
        assert fast > 7 and abs(slow / fast - 120 / 250) < 0.1


def test_bars_of_very_different_rates_are_logarithmic() -> None:
    draw, axis = drawing._rate_bars((10.0, 1e6), 20)
    assert axis == "10…1M/s log" and [len(draw(rate)) for rate in (227_273.0, 222.0, 29.6)] == [18, 6, 2]


async def test_list_shows_measured_rates_of_a_taken_lesson() -> None:
    app, lesson = PreparedApp(), lessons.find("one-revolution")
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(LessonsScreen(pace=0.0))
        before = await press(pilot, "down", "down")
        assert not any("what was measured" in line for line in before)
        screen = LessonScreen(lesson, pace=0.0)
        app.push_screen(screen)
        await press(pilot, "1", "enter")
        await taken(pilot, screen)
        await press(pilot, "enter", "enter", "enter", "1", "enter", "up")
        (shown_now,) = [line for line in screen_lines(app) if "7200: same block" in line]
        assert "120/s" in shown_now


async def test_a_lesson_is_a_panel_on_a_wide_terminal() -> None:
    app, lesson = PreparedApp(), lessons.find("one-revolution")
    async with app.run_test(size=(160, 60)) as pilot:
        app.push_screen(screen := LessonScreen(lesson, pace=0.0))
        await app.workers.wait_for_complete()
        await pilot.pause()
        predicting = screen_lines(app)
        assert any("── where data can be" in line for line in predicting)
        assert any("One turn of a rotating disk" in line for line in predicting)
        assert not any("So the disk can" in line for line in predicting), "the rest of the definition is the answer"
        seeks = [line for line in predicting if "average seek" in line]
        assert ["8.5 ms" in seeks[0], "3.8 ms" in seeks[1]] == [True, True]
        assert any(re.search("^.{20}╭─{118}╮", line) for line in predicting)
        await press(pilot, "1", "enter")
        await taken(pilot, screen)
        lines = await press(pilot, "enter")
        assert any("── what was measured ──" in line for line in lines)
        maps = [line.index(": same block") for line in lines if "few" in line and ": same block" in line]
        assert len(maps) == 2 and min(maps) > 80, "both maps, to the right of the text"


async def test_the_running_step_is_marked_and_shows_its_time() -> None:
    lesson = lessons.find("fsync-cost")
    (planned,) = await lessons.plan_runs(lesson)
    progress = Progress(planned.plan, planned.target)
    progress.finished_steps = {0: step("write, no sync", sync="none")}
    drawn = drawing.heat_maps(lesson, [planned], {"hdd": progress}, 120, 12)
    assert "── ▸ fdatasync, starting ──" in drawn[0].plain and "── fsync, not started ──" in drawn[0].plain
    assert drawing.elapsed(progress) == "0.0 of 1 s"
    (row,) = [text for text in drawing.runs(lesson, {"hdd": progress}, {}, 80) if "▸" in text.plain]
    assert row.plain.split() == ["▸", "fdatasync"]


@pytest.mark.parametrize("width", [120, 200])
async def test_list_shows_words_and_on_a_wide_screen_questions(width: int) -> None:
    app = PreparedApp()
    async with app.run_test(size=(width, 50)) as pilot:
        app.push_screen(LessonsScreen())
        await pilot.pause()
        list_lines = [line[: 55 if width == 120 else 100] for line in screen_lines(app)]
        assert any("flush, FUA" in line for line in list_lines)
        assert any("What will reveal the lying disk?" in line for line in list_lines) == (width == 200)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", lessons.lessons(), ids=lambda lesson: lesson.name)
async def test_prediction_fits_80_columns_and_24_rows(lesson: lessons.Lesson) -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(LessonScreen(lesson))
        await pilot.pause()
        assert any(lesson.predict.choices[-1] in line for line in screen_lines(app))


def test_progress_fits_80_columns() -> None:
    every = lessons.lessons()
    taken = {lesson.name: lessons.TakenLesson(day="2026-11-01", right=2) for lesson in every[:6]}
    drawn = drawing.progress_line(every, taken, 80)
    assert drawn.cell_len <= 80 and drawn.plain.endswith(" min left")


def test_numbers_are_not_broken_and_disks_are_named() -> None:
    claim = lessons.CheckedClaim(
        "one sync for a hundred writes: 15.3 times the rate of one for each, 19\xa0561 against 1\xa0276", True
    )
    lesson = lessons.find("one-revolution")
    text = "\n".join(part.plain for part in drawing.comparison(lesson.predict, 1, [claim], 80))
    assert "19\xa0561 against" in text
    titles = {run.label: run.title for run in lesson.runs}
    rows = "\n".join(part.plain for part in drawing.runs(lesson, {}, titles, 80))
    assert "same block, fdatasync" in rows and "A 15\xa0000 rpm disk" in rows
    told = [run.title for run in lessons.find("lying-disk").runs]
    assert told[0] == told[1], "the student has to find out which one lies"
