import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from fstui.runs import simulation
from fstui.simulate import stack as simulated_stack
from fstui.tui.app import FstuiApp
from fstui.tui.drawing import filesystem, io_path
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.run import RunScreen
from tests.factories.screens import PLAN
from tests.tui.screen import screen_lines


async def until(pilot: Pilot[int], screen: type) -> None:
    """Wait for the screen. pytest-timeout ends a test that waits too long."""
    while not isinstance(pilot.app.screen, screen):
        await pilot.pause()


async def test_a_parameter_is_changed_during_the_run() -> None:
    app = FstuiApp(simulation.session(simulation.find("hdd-7200")), ascii_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.press("down", "enter")
        await until(pilot, RunScreen)
        screen = app.screen
        assert isinstance(screen, RunScreen)
        while screen.progress.snapshot is None or screen.progress.snapshot.ops < 5:
            await pilot.pause()
        await pilot.press("t")
        screen.query_one(Input).value = "disk.cache.flush=maybe"
        await pilot.press("enter")
        assert any("maybe" in line for line in screen_lines(app)[-2:])
        await pilot.press("t")
        screen.query_one(Input).value = "disk.cache.flush=ignored"
        await pilot.press("enter")
        await pilot.press("s")
        await until(pilot, ResultScreen)
        assert "hdd-7200,disk.cache.flush=ignored" in str(screen.progress.run and screen.progress.run.simulated)


async def test_the_flags_are_those_of_the_configuration_only() -> None:
    app = FstuiApp(simulation.session(simulation.find("hdd-7200-lying")), ascii_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        lines = screen_lines(app)
        assert "0 flagged" in lines[0] and "real hardware" not in lines[0] and not any("udev" in line for line in lines)
        assert "FREE" in lines[1] and "FLUSH/S" not in lines[1]  # a simulated disk has no counters between runs
        assert any("model" in line and "8.5 ms" in line and "SIM HDD" in line for line in lines)
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert any("This host writes nothing." in line for line in screen_lines(app))
        assert " ✓ The storage settings show no defect. Run a scenario here to test it." in lines


def test_the_path_of_a_simulated_disk_shows_where_data_really_is() -> None:
    target = simulated_stack.target(lying := simulation.find("hdd-7200-lying"))
    expected, actual = (
        [text.plain for text in io_path.expected_path(PLAN, target, 90, disk)] for disk in (None, lying)
    )
    assert any("should be" in line for line in expected) and not any("acknowledged by" in line for line in expected)
    assert any("acknowledged by the cache" in line for line in actual)


async def test_pulling_the_plug_shows_what_was_lost() -> None:
    app = FstuiApp(simulation.session(simulation.find("hdd-7200-lying")), ascii_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        assert "SIMULATED hdd-7200-lying" in screen_lines(app)[0]
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.press("down", "enter")
        await until(pilot, RunScreen)
        assert any("pull plug" in line for line in screen_lines(app)[-2:])
        screen = app.screen
        assert isinstance(screen, RunScreen)
        while screen.progress.snapshot is None or screen.progress.snapshot.ops < 5:
            await pilot.pause()
        await pilot.press("p")
        await until(pilot, ResultScreen)
        lines = screen_lines(app)
        assert "SIMULATED hdd-7200-lying" in lines[0] and "LOST" in lines[1]
        assert any("not saved: simulated disk" in line for line in lines)


@pytest.mark.parametrize("width", [50, 80, 118, 198])
def test_parameters_of_a_simulated_disk_are_drawn_in_words(width: int) -> None:
    made = simulation.find("cloud-volume")
    hostile = replace(made, title="[red]\x1b[31m", disk=replace(made.disk, model="inf", name="1e400"))
    text = "\n".join(line.plain for line in filesystem.disk(hostile, width))
    assert "round trip     480 µs" in text and "spread         0.12" in text and "ops_per_s" not in text
    assert "model          inf" in text and "name           1e400" in text and "\x1b" not in text
