"""Every screen with hostile names: no control character reaches the terminal, and no column moves."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from fstui.model.documents import encode, with_digest
from fstui.model.host import Host
from fstui.model.watch import WatchedSecond, WatchStarted
from fstui.runs.machine.replay import ReplayMachine
from fstui.state import runs
from fstui.tui.drawing import cells
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.page_screen import comparison_screen
from fstui.tui.screens.powercut import PowerCutScreen
from fstui.tui.screens.run import RunScreen
from fstui.tui.screens.watch import WatchScreen
from tests.factories import screens
from tests.factories.watched import SECOND
from tests.hostile import NAME, everywhere, is_safe
from tests.tui.conftest import PreparedApp
from tests.tui.test_watch import watch_this

SIZE = (80, 24)
RUN = everywhere(screens.RUN)


FLAGS = {mount + NAME: everywhere(judgement) for mount, judgement in screens.FLAGS.items()}


def hostile_app(machine: Any = None, directory: str | None = None) -> PreparedApp:
    box = machine or screens.PreparedMachine(everywhere(screens.INVENTORY))
    return PreparedApp(box, directory=directory, flags=FLAGS)


async def assert_safe(pilot: Pilot[Any], holds: str = "\\x1b[31m") -> None:
    """Check that the screen is safe, as wide as the terminal, and shows the name."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    lines = [strip.text for strip in pilot.app.screen._compositor.render_strips(pilot.app.size)]
    assert all(map(is_safe, lines)), lines
    assert {cell_len(line) for line in lines} == {SIZE[0]}
    assert holds in "\n".join(lines)


@pytest.mark.parametrize("cut", [cells.fit, cells.fit_middle, cells.fit_right])
@given(name=st.text(), width=st.integers(1, 30))
def test_text_cut_to_a_width_has_that_width(cut: Callable[[str, int], str], name: str, width: int) -> None:
    assert cells.line(cut(name, width)).cell_len == width


@given(name=st.text(NAME), width=st.integers(34, 60))
@example(name="\U000e0041" * 5, width=34)
def test_wrapped_text_is_no_wider(name: str, width: int) -> None:
    assert all(text.cell_len <= width for text in cells.paragraph(name, width))
    assert cells.spread([name], name[:5], width).cell_len <= width
    assert cells.rule(width, name, name).cell_len == width
    assert all(text.cell_len <= width for text in cells.labelled_lines("because", [f"{name}: {name}"], width))


async def test_storage_screen_and_each_row() -> None:
    async with hostile_app().run_test(size=SIZE) as pilot:
        for _ in screens.INVENTORY.filesystems:
            await assert_safe(pilot)
            await pilot.press("down")
        await pilot.press("y")
        assert is_safe(pilot.app.clipboard) and "\\x1b[31m" in pilot.app.clipboard
        await pilot.press("slash", *"srv")
        await assert_safe(pilot)


async def test_plan_settings_and_directory_prompt() -> None:
    directory = f"/srv/data{NAME}"
    async with hostile_app(ReplayMachine(RUN, pace=0.0), directory).run_test(size=SIZE) as pilot:
        await assert_safe(pilot)
        await pilot.press("tab", "end", "right")
        await assert_safe(pilot)
        await pilot.press("y")
        assert is_safe(pilot.app.clipboard)
        await pilot.press("d")
        await assert_safe(pilot, "/srv/data[31m")  # in a field, what takes no cell is not shown
        await pilot.press("escape", "question_mark")
        await assert_safe(pilot, "help")


@pytest.mark.parametrize("until", [0, 5, None])
async def test_run(until: int | None) -> None:
    told = [everywhere(event) for event in screens.events(until=until)][:-1]
    async with hostile_app().run_test(size=SIZE) as pilot:
        app = pilot.app
        assert isinstance(app, PreparedApp)
        app.open_run(screens.PreparedRun(told, everywhere(screens.PLAN), everywhere(screens.DATA)))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        app.screen.draw_changes()
        await assert_safe(pilot)


async def test_result_each_row_and_the_copied_text() -> None:
    async with hostile_app().run_test(size=SIZE) as pilot:
        app = pilot.app
        assert isinstance(app, PreparedApp)
        app.open_result(RUN, f"/home/{NAME}", "/srv/data")
        for _ in (*RUN.findings, *RUN.steps):
            await assert_safe(pilot)
            await pilot.press("v")
            await assert_safe(pilot)
            await pilot.press("escape", "down")
        for key in ("y", "Y"):
            await pilot.press(key)
            assert is_safe(app.clipboard) and "x1b" in app.clipboard
        app.open_result(RUN, None, "/srv/data", save_error=NAME)
        await assert_safe(pilot)


async def test_history_and_comparison() -> None:
    path = runs.path_of(screens.RUN)
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(with_digest(RUN)))
    (path.parent / "20261119-000000-\x1b[31m.json").write_text("{")
    async with hostile_app().run_test(size=SIZE) as pilot:
        await pilot.app.push_screen(HistoryScreen())
        await assert_safe(pilot)
        await pilot.press("down")
        await assert_safe(pilot)
        await pilot.app.push_screen(comparison_screen([RUN, everywhere(RUN)]))
        await assert_safe(pilot)


async def test_power_cut() -> None:
    async with hostile_app().run_test(size=SIZE) as pilot:
        await pilot.app.push_screen(PowerCutScreen(f"/srv/{NAME}", everywhere(screens.DATA), {"sync": NAME}))
        await assert_safe(pilot)
        await pilot.press("y")
        assert is_safe(pilot.app.clipboard)


async def test_notice_in_the_footer() -> None:
    async with hostile_app().run_test(size=SIZE) as pilot:
        pilot.app.screen.say(NAME)  # type: ignore[attr-defined]
        await assert_safe(pilot)


@pytest.mark.parametrize("untraced", [None, NAME], ids=["traced", "not traced"])
async def test_watch_and_its_summary(untraced: str | None) -> None:
    app = hostile_app()
    second = WatchedSecond(second=everywhere(SECOND), sentence=f"The disk{NAME}")
    watch_this(app, WatchStarted(host=Host(), untraced=untraced), second)
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(WatchScreen(everywhere(screens.DATA)))
        await pilot.pause()
        lines = [strip.text for strip in app.screen._compositor.render_strips(app.size)]
        assert all(map(is_safe, lines)), lines
        assert {cell_len(line) for line in lines} == {SIZE[0]}
        assert "\\x1b[31m" in "\n".join(lines)
