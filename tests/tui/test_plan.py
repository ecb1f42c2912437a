"""The plan screen, and the way from the first screen to the verdict, on a replayed run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
import pytest
from textual.pilot import Pilot

from fstui.databases.programs import NOTHING, Installed
from fstui.model.counters import Counters, DeviceCounters
from fstui.model.errors import Refused
from fstui.model.storage import Node, Space
from fstui.runs import scenario, simulation
from fstui.runs.machine.local import LocalMachine
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.scenario import Scenario, Setting
from fstui.state import remembered
from fstui.state.workspace import Place
from fstui.tui import choices
from fstui.tui.app import FstuiApp
from fstui.tui.choices import Choices
from fstui.tui.drawing import plan as drawing
from fstui.tui.drawing.plan import Cursor, Offer
from fstui.tui.screens.plan import PlanScreen
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.storage import StorageScreen
from tests.factories import screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import shown


def replayed(directory: str | None = "/srv/data") -> PreparedApp:
    """The app on a box that plays the prepared run again, all at once."""
    return PreparedApp(ReplayMachine(screens.RUN, pace=0.0), directory=directory)


async def test_on_a_busy_device_the_cursor_begins_on_what_writes_least() -> None:
    async with PreparedApp(ReplayMachine(screens.RUN)).run_test(size=(80, 30)) as pilot:
        assert isinstance(pilot.app, PreparedApp)
        pilot.app.open_plan("/srv/data", busy="dm-1 is 97% busy")
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen) and screen.offer and screen.offer.plan
        ending = [offer.plan.max_bytes for offer in screen.offers.every if offer.plan and offer.plan.seconds]
        assert screen.offer.plan.max_bytes == min(ending) < ending[0]
        assert "dm-1 is 97% busy: the cursor stands on what writes least." in shown(pilot.app)[-1]


class Busy(ReplayMachine):
    """Each reading of its counters is a second later, in which every device had something to do."""

    seconds = 0

    def counters(self, stack: Iterable[Node]) -> Counters:
        self.seconds += 1
        devices = (DeviceCounters(device=node.id, busy_ms=970 * self.seconds) for node in stack)
        return Counters(monotonic_ns=self.seconds * 1_000_000_000, devices=tuple(devices))


async def test_the_directory_of_the_command_line_is_looked_at_in_the_same_way() -> None:
    app = PreparedApp(Busy(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen)
        screen.read_counters()
        screen.read_counters()
        await pilot.pause()
        assert "sda is 97% busy: the cursor stands on what writes least." in shown(pilot.app)[-1]


class Refusing(screens.PreparedMachine):
    """A box that lets nobody look at a directory."""

    async def inspect(self, directory: str) -> Place:
        raise Refused(f"{directory} is not yours")


async def test_behind_the_plan_of_a_directory_the_cursor_is_on_its_filesystem() -> None:
    app = PreparedApp(Refusing(), directory="/boot/grub")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, StorageScreen)
        assert any(line.startswith("▌  /boot ") for line in shown(pilot.app))


class NearlyFull(ReplayMachine):
    """A replay that is taken for a box, with room for the run and little more."""

    def __init__(self) -> None:
        super().__init__(screens.RUN, pace=0.0)
        self.simulated = None

    async def inspect(self, directory: str) -> Place:
        return Place(directory, Space(total_bytes=2 << 30, free_bytes=200 << 20))


class Keeping(ReplayMachine):
    """A replay that remembers what is declared, as this box would."""

    remember = LocalMachine.remember


async def reached(pilot: Pilot[int], screen: type) -> None:
    while not isinstance(pilot.app.screen, screen):
        await pilot.pause()


async def planned(pilot: Pilot[int]) -> list[str]:
    """The screen once every scenario has been looked at."""
    while not (isinstance(pilot.app.screen, PlanScreen) and pilot.app.screen.offers.every):
        await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return shown(pilot.app)


async def test_where_little_room_is_left_the_first_enter_is_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FSTUI_YES")
    async with PreparedApp(NearlyFull(), directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PlanScreen)
        assert any("of its 2.0 GiB stay free meanwhile" in line for line in shown(pilot.app))
        await pilot.press("enter")
        await reached(pilot, ResultScreen)


async def test_every_scenario_says_what_it_answers_how_long_it_takes_and_what_it_writes() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        lines = await planned(pilot)
        assert "/srv/data · ext4 › sda1 › sda VBOX HARDDISK" in lines[0]
        assert lines[0].endswith("31 G free")
        assert lines[2].startswith(" odirect-truth   Does this disk say “done” before it is?")
        assert "≤" in lines[2] and ":" in lines[2][60:]
        assert any(line.startswith("  $ fstui run odirect-truth /srv/data") for line in lines)
        assert any("/srv/data/.fstui-…, then removes it" in line for line in lines)


async def test_settings_are_changed_from_their_choices_and_taken_back() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab", "down", "right")
        lines = await planned(pilot)
        assert any(line.startswith("  ▌ block") and "[64 KiB]" in line for line in lines)
        assert any("--set block=65536" in line for line in lines)
        await pilot.press("u")
        lines = await planned(pilot)
        assert any(line.startswith("  ▌ block") and "[16 KiB]" in line for line in lines)


async def test_a_declared_medium_is_remembered_for_this_storage_once_it_was_run_with() -> None:
    async with PreparedApp(Keeping(screens.RUN, pace=0.0), directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab", "end", "up", "right", "right")
        lines = await planned(pilot)
        assert any(line.startswith("  ▌ medium        hdd-7200") and "declared" in line for line in lines)
        assert remembered.declarations() == {}
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        said = remembered.declarations()[screens.DATA.identity]
        assert said.medium == "hdd-7200"
    async with replayed().run_test(size=(80, 24)) as pilot:
        lines = await planned(pilot)
        assert any("--medium hdd-7200" in line for line in lines)
        await pilot.press("tab", "end", "up")
        assert any(line.startswith("  ▌ medium        hdd-7200") and "remembered" in line for line in shown(pilot.app))


async def test_a_declaration_that_is_taken_back_is_not_remembered() -> None:
    machine = Keeping(screens.RUN, pace=0.0)
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab", "end", "up", "right", "right", "enter")
        await pilot.app.workers.wait_for_complete()
        assert remembered.declarations()
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, PlanScreen)
        await pilot.press("u", "u")
        await planned(pilot)
        assert remembered.declarations() == {}


async def test_each_run_s_declaration_is_taken_back_with_the_choice_that_it_ran_with() -> None:
    machine = Keeping(screens.RUN, pace=0.0)
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 24)) as pilot:

        async def press(*keys: str) -> set[str | None]:
            """What is remembered then."""
            await pilot.press(*keys)
            await planned(pilot)
            return {said.medium for said in remembered.declarations().values()}

        async def run_with(*keys: str) -> set[str | None]:
            """What is remembered once it has run, and the plan is back."""
            await pilot.press(*keys, "enter")
            await reached(pilot, ResultScreen)
            return await press("escape")

        await planned(pilot)
        first = await run_with("tab", "end", "up", "right")
        second = await run_with("right")
        assert len(first | second) == 2
        assert await press("right") == second
        assert await press("u") == second, "what was never run with takes nothing with it"
        assert await press("u") == first
        assert await press("u") == set()


async def test_the_command_line_of_the_same_run_can_be_copied() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("y")
        assert pilot.app.clipboard == "fstui run odirect-truth /srv/data"


async def test_a_typed_value_is_taken_and_a_bad_one_refused_in_a_sentence() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab", "e", *"0.5", "enter")
        assert any("--set seconds=0.5" in line for line in await planned(pilot))
        await pilot.press("e", *"soon", "enter")
        lines = await planned(pilot)
        assert any(line.startswith("  ✗ ") and "seconds" in line for line in lines)
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, PlanScreen)


async def test_a_directory_that_is_refused_is_a_line_on_the_screen() -> None:
    class Refusing(ReplayMachine):
        async def inspect(self, directory: str) -> object:  # type: ignore[override]
            raise Refused("/srv/data is read-only. Remount it rw.")

    app = PreparedApp(Refusing(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(80, 24)) as pilot:
        assert any("✗ /srv/data is read-only. Remount it rw." in line for line in await planned(pilot))


async def test_from_the_first_screen_to_the_verdict_is_enter_enter_enter() -> None:
    async with replayed(directory=None).run_test(size=(80, 24)) as pilot:
        assert isinstance(pilot.app.screen, StorageScreen)
        await pilot.press("enter")
        await planned(pilot)
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, ResultScreen)
        result = pilot.app.screen.result
        assert [step.name for step in result.steps][:7] == [step.name for step in screens.STEPS]
        assert "SIMULATED" in shown(pilot.app)[0]


async def test_running_again_shows_the_run_in_the_place_of_the_old_result() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        assert isinstance(pilot.app, PreparedApp)
        run = msgspec.structs.replace(screens.RUN, scenario=screens.SCENARIO)
        pilot.app.open_result(run, None, "/srv/data")
        await pilot.pause()
        await pilot.press("r")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(pilot.app.screen, ResultScreen)
        assert pilot.app.screen.result.id != run.id
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, PlanScreen)


async def test_what_our_own_run_did_is_not_the_doing_of_others() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen)
        screen.read_counters()
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.press("escape")
        screen.read_counters()
        assert not any("others use" in line for line in await planned(pilot))


@pytest.mark.parametrize("size", [(50, 20), (120, 40)])
async def test_it_is_usable_at_other_sizes(size: tuple[int, int]) -> None:
    async with replayed().run_test(size=size) as pilot:
        lines = await planned(pilot)
        assert lines[2].startswith(" odirect-truth")
        assert all(len(line) <= size[0] for line in lines)


class OnlyHome(ReplayMachine):
    """An ordinary user's box: only the home directory can be written."""

    async def inspect(self, directory: str) -> Place:
        if directory != "/srv/data/home":
            raise Refused(f"{directory} is not writable for this user.")
        return await super().inspect(directory)


async def test_a_mount_point_that_is_refused_gives_way_to_a_directory_on_the_same_mount() -> None:
    app = PreparedApp(OnlyHome(screens.RUN, pace=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_plan("/srv/data", ["/srv/data/closed", "/srv/data/home"])
        lines = await planned(pilot)
        assert any("/srv/data is refused: /srv/data/home is on the same mount" in line for line in lines)
        assert any("$ fstui run odirect-truth /srv/data/home" in line for line in lines)


async def test_another_directory_can_be_named() -> None:
    async with PreparedApp(OnlyHome(screens.RUN, pace=0.0), directory="/srv").run_test(size=(80, 24)) as pilot:
        assert any("✗ /srv is not writable" in line for line in await planned(pilot))
        await pilot.press("d", "end", *"/data/home", "enter")
        assert any("$ fstui run odirect-truth /srv/data/home" in line for line in await planned(pilot))


class Hesitant(ReplayMachine):
    """A directory that takes its time to be looked at."""

    def __init__(self) -> None:
        super().__init__(screens.RUN, pace=0.0)
        self.answers = asyncio.Event()

    async def inspect(self, directory: str) -> Place:
        await self.answers.wait()
        return await super().inspect(directory)


@pytest.mark.parametrize(("then", "screen"), [([], ResultScreen), (["down"], PlanScreen)])
async def test_enter_before_the_plan_is_made_starts_it_when_it_is_unless_something_else_is_chosen(
    then: list[str], screen: type
) -> None:
    machine = Hesitant()
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", *then)
        machine.answers.set()
        await reached(pilot, screen)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(pilot.app.screen, screen)


class Searching(ReplayMachine):
    """A box on which programs are looked for in vain, and for long."""

    def __init__(self) -> None:
        super().__init__(screens.RUN, pace=0.0)
        self.found = asyncio.Event()

    async def installed(self) -> Installed:
        await self.found.wait()
        return NOTHING


async def test_a_scenario_whose_programs_are_looked_for_keeps_no_other_waiting() -> None:
    machine = Searching()
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 30)) as pilot:
        while not any(line.startswith(" latency-watch") and "until s" in line for line in shown(pilot.app)):
            await pilot.pause(0.05)
        assert any(line.startswith(" sysbench-oltp") and "refused" not in line for line in shown(pilot.app))
        machine.found.set()
        lines = await planned(pilot)
        assert any(line.startswith(" sysbench-oltp") and "refused" in line for line in lines)


@pytest.mark.parametrize("name", scenario.names())
def test_the_settings_cursor_is_seen_wherever_it_is(name: str) -> None:
    form = scenario.load(name)
    for at, row in enumerate(choices.rows(form)):
        setting = form.settings.get(row)
        boxes = len(setting.choices) if setting and setting.choices and isinstance(setting.value, list) else 1
        for option in range(boxes):
            lines = drawing.detail(
                Offer(name, form), Choices(), Cursor(0, at, option), read=None, busy="", width=80, height=12
            )
            marked = any("▌" in text.plain or any(span.style == "reverse" for span in text.spans) for text in lines)
            assert marked, (row, option)


@pytest.mark.parametrize("width", [50, 80])
def test_a_description_that_is_cut_ends_in_a_whole_word_and_one_ellipsis(width: int) -> None:
    for name in scenario.names():
        form = scenario.load(name)
        lines = drawing.detail(Offer(name, form), Choices(), Cursor(), read=None, busy="", width=width, height=4)
        words = lines[2].plain
        if "…" in words:
            assert words.count("…") == 1
            assert words.removesuffix(" …").split()[-1] in " ".join(form.help.split())


BLOCKS = Setting(value=16384, unit="bytes", choices=[4096, 16384, 65536])


def test_several_values_are_all_shown_and_an_arrow_does_not_drop_them() -> None:
    form = Scenario(name="mine", title="", question="", settings={"block": BLOCKS}, steps=[])
    chosen = choices.typed(form, Choices(), "block", "4096,65536")
    lines = [
        text.plain
        for text in drawing.detail(Offer("mine", form), chosen, Cursor(), read=None, busy="", width=80, height=12)
    ]
    assert any("4 KiB, 64 KiB" in line and "[4 KiB] · 16 KiB · [64 KiB]" in line for line in lines)
    assert choices.changed(form, chosen, "block", 1) == chosen
    assert choices.several(form, chosen, "block")


async def test_what_each_step_does_and_costs_is_drawn_where_there_is_room() -> None:
    app = FstuiApp(simulation.session(simulation.named("hdd-7200"), pace=0.0), "/simulated/hdd-7200")
    async with app.run_test(size=(120, 40)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        lines = shown(app)
        title = next(at for at, line in enumerate(lines) if "where data should be after a call" in line)
        assert "page cache" in lines[title + 1] and "platter" in lines[title + 1]
        assert "write, no sync" in lines[title + 2] and "◂" in lines[title + 2]
        assert "1 s … 1 h" in lines[1] and "━" in lines[2]
