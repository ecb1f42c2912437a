import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from fstui.model.judgement import Answer, Verdict
from fstui.model.run import Run
from fstui.report import history as report
from fstui.runs.machine.replay import ReplayMachine
from fstui.state import paths, runs, user_data
from fstui.state.runs import Summary
from fstui.tui.drawing import charts
from fstui.tui.drawing import history as drawing
from fstui.tui.screens.history import HistoryScreen, TrendScreen
from fstui.tui.screens.result import ResultScreen
from tests.factories import saved_runs, screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines


def saved(name: str, day: int, times: float = 1.0, directory: str | None = None) -> Run:
    steps = tuple(replace(step, rate_per_s=step.rate_per_s * times) for step in screens.STEPS)
    run = replace(screens.RUN, id=name, started_at=f"2026-10-{day:02d}T08:00:00+00:00", steps=steps, status="finished")
    if directory and run.target:
        run = replace(run, target=replace(run.target, path=directory))
    saved_runs.save(run)
    return run


async def test_filter_by_words_and_escape_removes_it() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    user_data.save_note("aaa111", "before the firmware")
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "h", "slash", *"firmware", "enter")
        assert "“firmware”: 1 saved run" in lines[0]
        assert any("aaa111" in line for line in lines) and not any("bbb222" in line for line in lines)
        assert "2 saved runs" in (await press(pilot, "escape"))[0]


@pytest.mark.parametrize(("verdict", "speed", "sign"), [
    ("consistent", "normal", "✓"), ("consistent", "stalls", "▲"), ("plausible", "slow", "!"),
    ("not-durable", "stalls", "✗"),
])  # fmt: skip
def test_row_starts_with_the_worse_of_verdict_and_speed(verdict: Verdict, speed: Answer, sign: str) -> None:
    saved("aaa111", 1)
    (run,) = (replace(each, verdict=verdict, speed=speed) for each in runs.history())
    for width in (78, 118):
        (draw,) = drawing.rows([run], [run], (), width).rows.values()
        cells = [cell.plain.strip() for cell in draw()]
        assert cells[0] == sign and ("not slow" if speed == "normal" else speed) in cells


async def test_note_belongs_to_the_run_selected_at_the_key() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "h", "n", *"new cable")
        await pilot.click(offset=(5, 3))
        lines = await press(pilot, "enter", "up")
        assert user_data.notes() == {"bbb222": "new cable"} and any("“new cable”" in line for line in lines)


async def test_delete_needs_the_same_key_twice() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        assert any("Delete bbb222 permanently?" in line for line in await press(pilot, "h", "d"))
        await press(pilot, "down", "up")
        assert any("Delete bbb222 permanently?" in line for line in await press(pilot, "d"))
        await press(pilot, "t", "escape")
        assert any("Delete bbb222 permanently?" in line for line in await press(pilot, "d"))
        assert len(runs.history()) == 2
        lines = await press(pilot, "d")
        assert [one.id for one in runs.history()] == ["aaa111"] and "1 saved run" in lines[0]


async def test_three_runs_are_compared_and_the_trend_is_shown() -> None:
    for day, name in enumerate(("aaa111", "bbb222", "ccc333"), 1):
        saved(name, day, day)
    app = PreparedApp()
    async with app.run_test(size=(80, 40)) as pilot:
        lines = await press(pilot, "h", "space", "down", "space")
        assert "compare ccc333, bbb222 with" in lines[0] and lines[-1].startswith("  Enter compare  ")
        assert [line.split()[1] for line in lines if line.startswith(" * ")] == ["03", "02", "ccc333", "bbb222"]
        await press(pilot, "down", "enter")
        assert [line.split()[1] for line in screen_lines(app)[2:8] if line[3:4] in "ABC"] == [
            "aaa111",
            "bbb222",
            "ccc333",
        ]
        assert (await press(pilot, "escape"))[-1].startswith("  Enter open  "), "the next Enter opens a run"
        lines = await press(pilot, "t")
        assert any(" 3.00 ×  ▁▃▄ " in line for line in lines), "the rates, oldest first"
        newest, middle, oldest = (line for line in lines if " Oct 08:00:00 " in line)
        assert "3.00 ×" in newest and "2.00 ×" in middle and "×" not in oldest
        assert newest.count("━") > middle.count("━") > oldest.count("━")


@pytest.mark.parametrize("keys", [("h", "down", "c"), ("h", "down", "enter", "c")], ids=["history", "result"])
async def test_comparison_starts_on_the_previous_run_of_its_kind(keys: tuple[str, ...]) -> None:
    for day, (name, directory) in enumerate(
        (("aaa111", "/srv"), ("bbb222", "/mnt"), ("ccc333", "/srv"), ("ddd444", "/srv")), 1
    ):
        saved(name, day, directory=directory)
    app = PreparedApp()
    async with app.run_test(size=(80, 40)) as pilot:
        lines = await press(pilot, *keys)
        assert "compare ccc333 with" in lines[0]
        assert isinstance(app.screen, HistoryScreen) and app.screen.chosen and app.screen.chosen.id == "aaa111"


async def test_a_run_of_the_trend_is_selected_and_opened() -> None:
    for day, name in enumerate(("aaa111", "bbb222", "ccc333"), 1):
        saved(name, day, day)
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "h", "t")
        assert await appears(pilot, "ccc333")
        await press(pilot, "left", "left", "left")
        assert await appears(pilot, "aaa111") and isinstance(app.screen, TrendScreen)
        await press(pilot, "right", "enter")
        assert isinstance(app.screen, ResultScreen) and "bbb222" in "\n".join(screen_lines(app))
        await press(pilot, "escape", "escape")
        assert not isinstance(app.screen, TrendScreen)


async def test_a_filter_may_leave_no_series() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "h", "t", "slash", *"aaa", "enter", "left", "enter", "y")
        assert any("A trend needs two finished runs" in line for line in lines)
        assert any("VS FIRST" in line for line in await press(pilot, "escape"))


async def test_keys_in_one_burst_are_all_handled() -> None:
    for day, name in enumerate(("aaa111", "bbb222", "ccc333"), 1):
        saved(name, day)
    app = PreparedApp()
    async with app.run_test(size=(80, 40)) as pilot:
        await press(pilot, "h")
        history = app.screen
        assert isinstance(history, HistoryScreen)
        for _ in range(2):
            history.action_mark()
            history.action_move(1)
        history.action_open()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert [line.split()[1] for line in screen_lines(app)[2:8] if line[3:4] in "ABC"] == [
            "aaa111",
            "bbb222",
            "ccc333",
        ]


async def test_cursor_stays_on_its_run_when_a_newer_one_is_saved() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "h", "down", "question_mark")
        saved("ccc333", 3)
        lines = await press(pilot, "escape")
        assert isinstance(app.screen, HistoryScreen) and app.screen.chosen and app.screen.chosen.id == "aaa111"
        assert "3 saved runs" in lines[0]


async def test_escape_at_a_question_closes_only_the_question() -> None:
    saved("aaa111", 1)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        assert any("Delete aaa111" in line for line in (await press(pilot, "h", "d")))
        assert not any("Delete aaa111" in line for line in (await press(pilot, "escape")))
        assert isinstance(app.screen, HistoryScreen)
        await press(pilot, "d", "escape", "d")
        assert saved_runs.load("aaa111"), "the question was closed, so the key asks again"
        await press(pilot, "escape", "escape")
        assert not isinstance(app.screen, HistoryScreen)


async def settled(pilot: Pilot[int]) -> list[str]:
    """Return the screen when the document of the selected run has been read."""
    for _ in range(4):  # a key starts a worker, and the answer of one may start another
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return screen_lines(pilot.app)


async def appears(pilot: Pilot[int], words: str) -> bool:
    """Look again and again, as another process reads the documents."""
    for _ in range(100):
        if any(words in line for line in await settled(pilot)):
            return True
    return False


async def test_selected_run_shows_its_verdict() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("h")
        text = "\n".join(await settled(pilot))
        assert "SUSPICIOUS" in text and "One 16 KiB block was rewritten" in text
        await pilot.press("down")
        assert "aaa111" in "\n".join(await settled(pilot))
        await pilot.press("enter")
        assert (await settled(pilot))[0].startswith(" fstui  saved run ") and "2026 " in screen_lines(app)[0]


async def test_long_series_shows_the_runs_around_the_selected_one() -> None:
    for day in range(1, 29):
        saved(f"aaa1{day:02}", day, day)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "h", "t")
        assert any("28 Oct" in line for line in lines) and any(" more" in line for line in lines)
        assert any(line.startswith("▸") and "18 Oct" in line for line in await press(pilot, *["left"] * 10))


async def test_a_large_trend_has_a_point_for_each_run_at_its_date() -> None:
    for day, times in ((1, 1.0), (2, 2.0), (11, 4.0)):
        saved(f"aaa1{day:02}", day, times)
    app = PreparedApp()
    async with app.run_test(size=(120, 56)) as pilot:
        lines = await press(pilot, "h", "t")
        assert all(any(f" {step.name} " in line for line in lines) for step in screens.STEPS)
        drawn = lines[next(y for y, line in enumerate(lines) if "by date" in line) + 1 :]
        width = 118 // 3
        columns = {x for line in drawn for x, sign in enumerate(line[:width]) if sign in "●◆"}
        first, second, third = sorted(columns)
        assert (third - first) / (second - first) == pytest.approx(10, rel=0.2)
        assert sum(line.count("●") for line in drawn) == 2 * len(screens.STEPS)
        assert any("2.00 ×" in line for line in await press(pilot, "left"))


async def test_an_altered_date_in_a_trend_leaves_the_bars() -> None:
    for name, day in (("aaa111", 1), ("bbb222", 2)):
        path = runs.path_of(saved(name, day))
        path.write_text(path.read_text().replace(f"2026-10-0{day}T", "yesterday"))
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        assert any("━━" in line for line in await press(pilot, "h", "t"))


async def test_click_selects_a_run_of_the_trend() -> None:
    saved("aaa111", 1)
    saved("bbb222", 2)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "h", "t")
        y = next(y for y, line in enumerate(lines) if "01 Oct 08:00:00" in line)
        await pilot.click(offset=(9, y))
        assert isinstance(app.screen, TrendScreen) and app.screen.chosen and app.screen.chosen.id == "aaa111"


async def test_settings_that_differ_are_shown() -> None:
    run = saved("aaa111", 1)
    assert run.scenario
    saved_runs.save(replace(run, id="bbb222", scenario=replace(run.scenario, settings={"seconds": 9})))
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        assert any("seconds=9" in line for line in await press(pilot, "h"))


async def test_long_rate_is_shown_in_thousands() -> None:
    saved("aaa111", 1, 1000)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        (row,) = (line for line in await press(pilot, "h") if "suspicious" in line and "/srv/data" in line)
        assert "k " in row and "…" not in row.split("/srv")[0]


async def test_run_without_rate_and_bad_file_are_explained() -> None:
    saved_runs.save(replace(screens.RUN, id="aaa111", steps=()))
    (paths.runs_dir() / "20261101-080000-broken.json").write_text("{}")
    app = PreparedApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("h")
        assert await appears(pilot, "broken")
        # another process reads the documents, and the last rows may come after the keys; a long path wraps the words
        while "not a run document" not in " ".join(line.strip(" │") for line in await settled(pilot)):
            await pilot.press("end", "down", "down")


async def test_the_plan_on_a_huge_screen_lists_earlier_runs() -> None:
    """Loop devices without a serial number have the same identity, so the directories count as well."""
    saved_runs.save(screens.RUN)
    assert screens.RUN.target is not None
    saved_runs.save(replace(screens.RUN, id="bbb222", target=replace(screens.RUN.target, path="/mnt/other-loop")))
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(200, 50)) as pilot:
        assert await appears(pilot, "1 on this filesystem")
        lines = screen_lines(app)
        head = next(y for y, line in enumerate(lines) if "1 on this filesystem" in line)
        assert "suspicious" in lines[head + 2] and "odirect-truth" in lines[head + 2]


async def test_earlier_runs_appear_when_the_screen_becomes_huge() -> None:
    saved_runs.save(screens.RUN)
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(120, 40)) as pilot:
        assert "earlier runs" not in "\n".join(await press(pilot))
        await pilot.resize_terminal(200, 50)
        await pilot.pause()
        await pilot.press("u")
        assert await appears(pilot, "1 on this filesystem")


def test_only_runs_on_one_target_are_a_series() -> None:
    """Loop devices have no serial number, so all of them have the same identity."""
    run = Summary(path="/x", status="finished", scenario="check", rate_per_s=206.0, identity="5e", target="/srv/a")
    other = replace(run, target="/srv/b")
    assert report.series([run, other, run]) == [[run, run], [other]]


def test_runs_with_other_settings_are_another_series() -> None:
    run = Summary(path="/x", status="finished", scenario="check", rate_per_s=206.0, settings={"seconds": 1, "block": 4})
    short = replace(run, settings={"seconds": 2, "block": 4})
    assert report.series([run, short, run]) == [[run, run], [short]]
    assert report.runs_with_other_settings(run, [run, short, run]) == 1
    assert report.own_settings(short, [run, short]) == "seconds=2" and not report.own_settings(run, [run])
    lists = replace(run, settings={"block": [512, 4096], "doublewrite": [True, False]})
    assert report.own_settings(lists, [run, lists]) == "block=512,4096 doublewrite=true,false"


@pytest.mark.parametrize("width", [76, 116, 196])
def test_remark_of_a_run_is_shown_in_full(width: int) -> None:
    run = Summary(
        path="/x", status="stopped", scenario="sysbench-oltp", rate_per_s=206.0, target="/srv/data/postgresql"
    )
    run = replace(run, rate_of="oltp_update_non_index", settings={"seconds": 1, "server": ["mariadb"]})
    runs = [run, replace(run, path="/y", settings={"seconds": 2, "server": ["mysql"]})]
    content = drawing.rows(runs, runs, (), width)
    cells = dict(zip([column.title for column in content.columns], content.rows["/x"](), strict=True))
    assert sum(column.width + column.gap for column in content.columns) == width
    assert cells["TARGET"].plain.strip().endswith("l (stopped)")


def test_a_drop_below_earlier_runs_is_listed() -> None:
    rates = {"a": 1000.0, "b": 3000.0, "c": 200.0}
    runs = [
        Summary(
            path=name, status="finished", scenario="check", rate_per_s=rate, started_at=f"2026-11-2{index}T03:12:44Z"
        )
        for index, (name, rate) in enumerate(rates.items())
    ]
    content = drawing.rows(runs[2:], runs, (), 116)
    cells = dict(zip([column.title for column in content.columns], content.rows["c"](), strict=True))
    assert cells["× PRIOR"].plain.strip() == "0.10"


def test_runs_of_one_second_have_the_order_of_the_history() -> None:
    newer, older = (Summary(path=name, status="finished", scenario="check", rate_per_s=1.0) for name in "ba")
    assert report.series([newer, older]) == [[older, newer]]


def test_the_points_of_a_trend_are_on_its_line() -> None:
    figure = charts.Figure("fdatasync", float, str, 0)
    values = [1574.0, None, None, None, 1617.0, None, None, None, None, 5448.0]
    points = tuple((at, "●") for at, value in enumerate(values) if value)
    drawn = charts.chart_grid((charts.Chart(figure, tuple(values), "", points),), "", 1, 15, 7)
    rows = [text.plain[charts.LABEL_WIDTH + 1 :] for text in drawn[1:-1]]
    (first,), (low,), (high,) = ([y for y, row in enumerate(rows) if row[at // 2] == "●"] for at in (0, 4, 9))
    assert first == low == 3 and high == 0, "1 574 of 6 000 is above the row of 0"
    assert rows[3].startswith("●⠤●"), "the line through the middle of the points"
