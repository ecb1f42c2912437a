import asyncio
from collections import Counter
from collections.abc import Iterable

import msgspec
import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from fstui.databases.programs import NO_PROGRAMS, Programs
from fstui.model.counters import Counters, DeviceCounters
from fstui.model.errors import Refused
from fstui.model.forms import Setting
from fstui.model.plan import Plan
from fstui.model.storage import Medium, Node, Space
from fstui.runs import history, scenarios, simulation
from fstui.runs.machine.local import LocalMachine
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.scenarios import Scenario
from fstui.state import user_data
from fstui.state.workspace import TargetDirectory
from fstui.tui.app import FstuiApp
from fstui.tui.drawing import plan as drawing
from fstui.tui.offers import Choices, Offer, options
from fstui.tui.screens.plan import MAX_SAVED_RUNS, PlanScreen, QuestionScreen
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.storage import StorageScreen
from tests.factories import runs, screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines


def replayed(directory: str | None = "/srv/data") -> PreparedApp:
    """Return the app on a machine that replays the prepared run without pauses."""
    return PreparedApp(ReplayMachine(screens.RUN, pace=0.0), directory=directory)


async def test_the_first_scenario_writes_least() -> None:
    async with replayed().run_test(size=(80, 30)) as pilot:
        await planned(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen) and screen.offer
        offers = screen.offers.all
        assert [offer.name for offer in offers[:3]] == ["check", "latency-watch", "fsync-rate"]
        plans = [offer.plan for offer in offers if isinstance(offer.plan, Plan) and offer.plan.seconds]
        assert screen.offer.plan == min(plans, key=lambda plan: plan.max_bytes) and plans[0].max_bytes < 10 << 20


class Busy(ReplayMachine):
    """Every device is 97 % busy between two readings of the counters."""

    seconds = 0

    def counters(self, stack: Iterable[Node]) -> Counters:
        self.seconds += 1
        devices = (DeviceCounters(device=node.id, busy_ms=970 * self.seconds) for node in stack)
        return Counters(monotonic_ns=self.seconds * 1_000_000_000, devices=tuple(devices))


async def test_directory_of_the_command_line_is_checked_for_activity() -> None:
    app = PreparedApp(Busy(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen)
        screen.read_counters()
        screen.read_counters()
        await pilot.pause()
        assert any("! other processes use sda now: 97\xa0% busy" in line for line in screen_lines(pilot.app))


class NearlyFull(ReplayMachine):
    """A replay that counts as a real host, with little more space than the run needs."""

    def __init__(self) -> None:
        super().__init__(screens.RUN, pace=0.0)
        self.simulated = None

    async def inspect(self, directory: str) -> TargetDirectory:
        return TargetDirectory(directory, Space(total_bytes=2 << 30, free_bytes=200 << 20))


class Keeping(ReplayMachine):
    """A replay that remembers declarations as a real host does."""

    save_declaration = LocalMachine.save_declaration


async def reached(pilot: Pilot[int], screen: type) -> None:
    while not isinstance(pilot.app.screen, screen):
        await pilot.pause()


async def planned(pilot: Pilot[int]) -> list[str]:
    while not (isinstance(pilot.app.screen, PlanScreen) and pilot.app.screen.offers.all):
        await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return screen_lines(pilot.app)


async def test_a_refill_keeps_the_position_of_the_notes() -> None:
    async with replayed().run_test(size=(60, 20)) as pilot:
        top = await planned(pilot)
        scrolled = await press(pilot, "pagedown")
        assert scrolled != top
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen)
        screen.scenarios.refill()
        await pilot.pause()
        assert screen_lines(pilot.app) == scrolled


async def test_first_enter_warns_about_low_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FSTUI_YES")
    async with PreparedApp(NearlyFull(), directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("down", "down", "down", "enter")
        await reached(pilot, QuestionScreen)
        await pilot.pause()
        text = "\n".join(screen_lines(pilot.app))
        assert "of the filesystem's 2.0 GiB will remain free" in text and "/srv/data/.fstui-…, writes at most" in text
        assert "Enter run anyway" in text and "Esc back" in text and "Enter start" not in text
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PlanScreen)
        await pilot.press("enter")
        await reached(pilot, QuestionScreen)
        await pilot.press("enter")
        await reached(pilot, ResultScreen)


@pytest.mark.parametrize(("peak_bytes", "warns"), [(1 << 20, False), (100 << 20, True)])
async def test_overwriting_does_not_use_up_the_space(peak_bytes: int, warns: bool) -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen) and screen.offer and isinstance(screen.offer.plan, Plan)
        offer = replace(screen.offer, plan=replace(screen.offer.plan, max_bytes=2 << 30, peak_bytes=peak_bytes))
        lines = drawing.notes(offer, runs.target(free_bytes=500 << 20), ("", ""), "", width=80, height=20)
        words = " ".join(" ".join(line.plain for line in lines).split())
        assert f"Uses at most {peak_bytes >> 20}.0 MiB at any time" in words
        assert "in /srv/data/.fstui-…, writes at most 2.0 GiB in all, then removes it." in words
        assert ("more than a tenth of the free space" in words) == warns


async def test_a_small_screen_shows_scenarios_settings_and_amount() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        lines = await planned(pilot)
        names = [name for name, _ in scenarios.load_shipped()]
        assert sum(line.split()[:1] == [name] for line in lines for name in names) == 11
        assert any(line.startswith("   seconds ") for line in lines)
        assert any(line.startswith("   Writes at most ") for line in lines)
        await pilot.press("tab")
        await pilot.pause()
        assert not any(line.startswith("   medium ") for line in lines)
        assert any(line.startswith("   medium ") for line in screen_lines(pilot.app))


async def test_a_rate_has_no_bar_of_an_amount() -> None:
    async with replayed().run_test(size=(120, 40)) as pilot:
        lines = await planned(pilot)
        watch, check = (next(line for line in lines if f" {name} " in line) for name in ("latency-watch", "check"))
        assert "KiB/s" in watch and not {"━", "╸"} & set(watch)
        assert "━" in check


async def test_arrows_work_for_every_text_that_was_typed() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab")
        for typed, shown, then in (("500ms", "0.2 s ◂ 500ms ▸ 1 s", "1 s"), ("soon", "1.4 s ◂ soon ▸ 1.4 s", "1.4 s")):
            await pilot.press("e", *typed, "enter")
            await planned(pilot)
            assert shown in selected_setting(pilot)
            await pilot.press("right")
            await planned(pilot)
            assert f"◂ {then} ▸" in selected_setting(pilot)


async def test_a_plan_is_the_same_after_its_run() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("down", "tab", "down")
        before = await planned(pilot)
        await pilot.press("enter")
        await reached(pilot, ResultScreen)
        await pilot.press("escape")
        assert await planned(pilot) == before


def test_notes_name_the_layer_that_stops_flushes() -> None:
    scenario = scenarios.load("check")
    stopped = replace(screens.DATA.stack[0], sync="stops", reason="nobarrier")
    target = replace(screens.DATA, stack=(stopped, *screens.DATA.stack[1:]))
    notes = drawing.notes(Offer("check", scenario, screens.PLAN), target, ("", ""), "", width=80, height=20)
    assert notes[0].plain == " ✗ Flushes stop at ext4 (nobarrier): a power cut may lose synced data."


async def test_a_plan_starts_with_the_samples_of_the_first_screen() -> None:
    app = replayed(directory=None)
    async with app.run_test(size=(80, 24)) as pilot:
        first = pilot.app.screen
        assert isinstance(first, StorageScreen)
        first.activity.recent.add(9.0, {}, 1)
        await pilot.press("enter")
        await planned(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen) and screen.activity.recent.end_s == first.activity.recent.end_s
        screen.activity.recent.add(1.0, {}, 1)
        assert screen.activity.recent.end_s > first.activity.recent.end_s


async def test_setting_is_changed_and_undone() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        assert "u undo" not in (await planned(pilot))[-1]
        await pilot.press("down", "down", "down", "tab", "down", "right")
        lines = await planned(pilot)
        assert "u undo" in lines[-1]
        assert "block" in selected_setting(pilot) and "[64 KiB]" in selected_setting(pilot)
        assert any("--set block=65536" in line for line in lines)
        await pilot.press("u")
        await planned(pilot)
        assert "[16 KiB]" in selected_setting(pilot)


async def test_declared_medium_is_remembered_after_a_run() -> None:
    async with PreparedApp(Keeping(screens.RUN, pace=0.0), directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab", "end", "up", "right", "right")
        await planned(pilot)
        assert "medium ◂ hdd-7200 ▸ declared" in " ".join(selected_setting(pilot).split())
        assert user_data.declarations() == {}
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        said = user_data.declarations()[screens.DATA.identity]
        assert said.medium == "hdd-7200"
    async with replayed().run_test(size=(80, 24)) as pilot:
        lines = await planned(pilot)
        assert any("--medium hdd-7200" in line for line in lines)
        await pilot.press("tab", "end", "up")
        await pilot.pause()
        assert "medium ◂ hdd-7200 ▸ remembered" in " ".join(selected_setting(pilot).split())


async def test_undo_restores_the_declaration_before_each_run() -> None:
    machine = Keeping(screens.RUN, pace=0.0)
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 24)) as pilot:

        async def press(*keys: str) -> set[str | None]:
            await pilot.press(*keys)
            await planned(pilot)
            return {said.medium for said in user_data.declarations().values()}

        async def run_with(*keys: str) -> set[str | None]:
            await pilot.press(*keys, "enter")
            await reached(pilot, ResultScreen)
            return await press("escape")

        await planned(pilot)
        first = await run_with("tab", "end", "up", "right")
        second = await run_with("right")
        assert len(first | second) == 2
        assert await press("right") == second
        assert await press("u") == second, "undoing a choice without a run forgets nothing"
        assert await press("u") == first
        assert await press("u") == set()


async def test_command_line_is_copied() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("y")
        assert pilot.app.clipboard == "fstui run check /srv/data"


async def test_typed_value_is_used_and_bad_value_refused() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        await pilot.press("tab", "e", *"0.5", "enter")
        assert any("--set seconds=0.5" in line for line in await planned(pilot))
        await pilot.press("e", *"soon", "enter")
        lines = await planned(pilot)
        assert any(line.startswith(" ✗ ") and "seconds" in line for line in lines)
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, PlanScreen)


async def test_refused_directory_shows_the_reason() -> None:
    class Refusing(ReplayMachine):
        async def inspect(self, directory: str) -> object:  # type: ignore[override]
            raise Refused("/srv/data is read-only. Remount it rw.")

    app = PreparedApp(Refusing(screens.RUN, pace=0.0), directory="/srv/data")
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await planned(pilot)
        assert any("✗ /srv/data is read-only. Remount it rw." in line for line in lines)
        assert "Enter start" not in lines[-1]


async def test_three_enters_lead_to_the_verdict() -> None:
    async with replayed(directory=None).run_test(size=(80, 24)) as pilot:
        assert isinstance(pilot.app.screen, StorageScreen)
        await pilot.press("enter")
        await planned(pilot)
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, ResultScreen)
        result = pilot.app.screen.result
        assert [step.name for step in result.steps] == ["fdatasync", "O_DIRECT+O_DSYNC"]
        assert (
            f"REPLAY of {screens.RUN.id}" in screen_lines(pilot.app)[0]
            and "SIMULATED" not in screen_lines(pilot.app)[0]
        )


async def test_repeated_run_replaces_the_old_result() -> None:
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


async def test_own_run_is_not_reported_as_other_activity() -> None:
    async with replayed().run_test(size=(80, 24)) as pilot:
        await planned(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen)
        screen.read_counters()
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.press("escape")
        screen.read_counters()
        assert not any("other processes use" in line for line in await planned(pilot))


class OnlyHome(ReplayMachine):
    """Only the home directory is writable, as for an ordinary user."""

    async def inspect(self, directory: str) -> TargetDirectory:
        if directory != "/srv/data/home":
            raise Refused(f"{directory} is not writable by this user.")
        return await super().inspect(directory)


async def test_refused_mount_point_is_replaced_by_a_directory() -> None:
    app = PreparedApp(OnlyHome(screens.RUN, pace=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_plan("/srv/data", ["/srv/data/closed", "/srv/data/home"])
        lines = await planned(pilot)
        assert "Using /srv/data/home, on the same mount: /srv/data is not writable" in " ".join(" ".join(lines).split())
        assert any("$ fstui run check /srv/data/home" in line for line in lines)


async def test_another_directory_is_chosen() -> None:
    async with PreparedApp(OnlyHome(screens.RUN, pace=0.0), directory="/srv").run_test(size=(80, 24)) as pilot:
        assert any("✗ /srv is not writable" in line for line in await planned(pilot))
        await pilot.press("d", "end", *"/data/home", "enter")
        assert any("$ fstui run check /srv/data/home" in line for line in await planned(pilot))


class Hesitant(ReplayMachine):
    """The directory is inspected only after ``answers`` is set."""

    def __init__(self) -> None:
        super().__init__(screens.RUN, pace=0.0)
        self.answers = asyncio.Event()

    async def inspect(self, directory: str) -> TargetDirectory:
        await self.answers.wait()
        return await super().inspect(directory)


@pytest.mark.parametrize(("then", "screen"), [([], ResultScreen), (["down"], PlanScreen)])
async def test_early_enter_starts_when_planned_unless_moved(then: list[str], screen: type) -> None:
    machine = Hesitant()
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", *then)
        machine.answers.set()
        await reached(pilot, screen)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(pilot.app.screen, screen)


async def test_a_large_screen_reads_the_saved_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readings, may_end = Counter[int | None](), asyncio.Event()

    async def reading(most: int | None = None) -> list[history.Summary]:
        readings[most] += 1
        await may_end.wait()
        return []

    monkeypatch.setattr(history, "summaries", reading)
    async with replayed().run_test(size=(200, 60)) as pilot:
        await reached(pilot, PlanScreen)
        screen = pilot.app.screen
        assert isinstance(screen, PlanScreen)
        while not (screen.offers.all and all(offer.plan or offer.refusal for offer in screen.offers.all)):
            await pilot.pause()
        may_end.set()
        await pilot.app.workers.wait_for_complete()
        assert screen.saved_runs == [] and readings[MAX_SAVED_RUNS] == 1


class Searching(ReplayMachine):
    """No program is found, and the search ends only after ``found`` is set."""

    def __init__(self) -> None:
        super().__init__(screens.RUN, pace=0.0)
        self.found = asyncio.Event()

    async def find_programs(self) -> Programs:
        await self.found.wait()
        return NO_PROGRAMS


async def test_search_for_programs_delays_no_other_scenario() -> None:
    machine = Searching()
    async with PreparedApp(machine, directory="/srv/data").run_test(size=(80, 30)) as pilot:
        while not any(line.startswith(" latency-watch") and "no end" in line for line in screen_lines(pilot.app)):
            await pilot.pause(0.05)
        assert any(line.startswith(" sysbench-oltp") and "refused" not in line for line in screen_lines(pilot.app))
        machine.found.set()
        lines = await planned(pilot)
        assert any(line.startswith(" sysbench-oltp") and "refused" in line for line in lines)


BLOCKS = Setting(value=16384, unit="bytes", choices=[4096, 16384, 65536])


def test_arrow_keeps_several_typed_values() -> None:
    form = Scenario(name="mine", title="", question="", settings={"block": BLOCKS}, steps=[])
    chosen = Choices().set(form, "block", "4096,65536")
    cells = drawing.settings(Offer("mine", form), chosen, ("block", 0), None, 80).rows["block"]()
    assert [cell.plain.strip() for cell in cells] == ["block", "4 KiB, 64 KiB", "[4 KiB] · 16 KiB · [64 KiB]"]
    assert chosen.with_neighbour(form, "block", 1) == chosen


@pytest.mark.parametrize("width", [50, 80])
def test_selected_box_of_a_matrix_is_marked(width: int) -> None:
    form = scenarios.load("sysbench-oltp")
    values = options(form.settings["flush_method"])
    for at, value in enumerate(values):
        boxes = drawing.settings(Offer(form.name, form), Choices(), ("flush_method", at), None, width).rows
        marked = [text.plain for text in boxes["flush_method"]() if "▸" in text.plain]
        assert len(marked) == 1 and marked[0].partition("▸")[2][4:].startswith(value)


def test_the_medium_is_explained_while_it_is_selected() -> None:
    disk = msgspec.structs.replace(screens.DATA.lowest[0], medium=Medium(reason="a virtio disk"))
    target = msgspec.structs.replace(screens.DATA, stack=(*screens.DATA.stack[:-1], disk))
    offer = Offer("check", scenarios.load("check"))
    for setting, said in (("medium", True), ("seconds", False), ("", False)):
        lines = [text.plain for text in drawing.notes(offer, target, ("", ""), setting, width=80, height=100)]
        assert ("   Medium: a virtio disk." in lines) == said


def selected_setting(pilot: Pilot[int]) -> str:
    assert isinstance(pilot.app.screen, PlanScreen)
    name = pilot.app.screen.setting
    return next(line for line in screen_lines(pilot.app) if line.startswith(f"   {name} "))


async def test_reach_of_each_step_is_drawn() -> None:
    session = simulation.session(simulation.find("hdd-7200"), pace=0.0)
    app = FstuiApp(session, "/simulated/hdd-7200", ascii_only=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        lines = screen_lines(app)
        title = next(at for at, line in enumerate(lines) if "where data should be after a call" in line)
        assert "page cache" in lines[title + 1] and "platter" in lines[title + 1]
        assert "fdatasync" in lines[title + 2] and "◂" in lines[title + 2]
        assert "1 s…1 h" in lines[2] and "━" in lines[3]
