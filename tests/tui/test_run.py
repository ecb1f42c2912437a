"""The run screen: steps above, both ends below, the finding so far last."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from fstui.measure.kinds.dirty_flush import DirtyFlushFigures, Growth
from fstui.model.errors import Refused
from fstui.model.events import Event, FindingsChanged, IdleMeasured, StepPreparing, StepProgressed, StepStarted
from fstui.model.host import Writer
from fstui.model.judgement import Judgement, Speed
from fstui.model.steps import Stall
from fstui.tui.progress import Progress
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.run import RunScreen
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.widgets.lines import Lines
from fstui.tui.widgets.slices import Piece, Slices
from tests.factories import screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import shown


async def watch(pilot: Pilot[int], told: list[Event]) -> screens.PreparedRunning:
    """Open the run screen on these events and draw what they come to."""
    app = pilot.app
    assert isinstance(app, PreparedApp)
    running = screens.PreparedRunning(told)
    app.open_run(running, screens.PLAN, screens.DATA)
    await app.workers.wait_for_complete()
    await pilot.pause()
    draw(pilot)
    return running


def draw(pilot: Pilot[int]) -> None:
    """What the timer does four times a second."""
    if isinstance(pilot.app.screen, RunScreen):
        pilot.app.screen.draw_changes()


async def test_a_running_step_shows_its_numbers_both_ends_and_the_finding_so_far() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5))
        lines = shown(pilot.app)
        assert lines[0].endswith("0:03 left")
        assert " ✓ write, no sync                211 402   4.1 µs   9.8 µs   1.9 ms          –" in lines
        assert any(line.startswith(" ▸ same block, fdatasync             812") for line in lines)
        assert any(line.startswith(" · O_DIRECT+fdatasync") for line in lines)
        assert any("╌ limit 8.3 ms, one turn" in line and "1.5 of 2 s" in line for line in lines)
        assert any("fstui asked" in line and "1 218" in line for line in lines)
        assert any("sda1, ext4" in line and "not counted" in line for line in lines)
        assert any("sda, lowest" in line and line.endswith("1.00") for line in lines)
        assert lines[-3] == " ! suspicious so far: 812/s, 7200 rpm allows 120"
        assert lines[-2] == "   others on sda before the start: 12 writes/s, 3 flushes/s"


async def test_before_the_first_judgement_nothing_is_said_to_be_found() -> None:
    until_judged = screens.events(until=5)[:1]
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, until_judged)
        assert shown(pilot.app)[-3] == " not judged yet"
        await watch(
            pilot,
            [*until_judged, FindingsChanged(judgement=Judgement(verdict="cannot-tell", confidence="low", sentence=""))],
        )
        assert shown(pilot.app)[-3] == " nothing found so far"


async def test_other_writers_are_named() -> None:
    writers = tuple(Writer(pid=pid, name="mysqld", written_bytes=4096) for pid in (700, 701))
    idle = IdleMeasured(idle=msgspec.structs.replace(screens.IDLE, writers=writers))
    told = [idle if isinstance(event, IdleMeasured) else event for event in screens.events(until=5)]
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, told)
        named = "   others before the start: mysqld (2 of them); sda 12 writes/s, 3 flushes/s"
        assert shown(pilot.app)[-2] == named


async def test_a_stall_stands_beside_the_finding_so_far() -> None:
    speed = Speed(answer="stalls", title="412 ms for one operation of fdatasync")
    judged = Judgement(verdict="consistent", confidence="low", sentence="", speed=speed)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=5), FindingsChanged(judgement=judged)])
        assert shown(pilot.app)[-3] == f"{' nothing found so far':<71}▲ stalls"


async def test_a_step_without_a_rate_has_words_of_its_own() -> None:
    measured = DirtyFlushFigures(
        sequential=Growth(slope_ns_per_mib=400_000, intercept_ns=124_000),
        scattered=Growth(slope_ns_per_mib=1_200_000, intercept_ns=130_000),
    )
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.flushing(measured))
        lines = shown(pilot.app)
        row = next(line for line in lines if "flush 124" in line)
        assert row.startswith(" ▸ flush of")
        assert row.endswith("flush 124 µs, +400 µs per MiB, scattered +1.2 ms")
        assert not any("lowest" in line and "." in line[60:] for line in lines)


async def test_a_database_shows_what_it_says_of_itself_each_second() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.database([(630.0, 1260.0, 2.4), (810.0, 1620.0, 2.1)]))
        lines = shown(pilot.app)
        row = next(line for line in lines if line.startswith(" ▸"))
        assert row.startswith(" ▸ oltp_update")
        assert "mariadb high" in row
        assert row.endswith("810      1 620 qps, p95 2.1 ms")
        assert any("· p95 of each second" in line for line in lines)
        assert any("⠀" < letter <= "⣿" for line in lines for letter in line)
        assert any("transactions asked" in line for line in lines)


async def test_a_stuck_operation_is_shown_while_it_is_stuck() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5, stall=Stall(call="fdatasync", elapsed_s=12.4)))
        assert any(line.startswith(" ▲ fdatasync in flight for 12.4 s") for line in shown(pilot.app))


async def test_a_disk_that_hangs_while_the_file_is_written_shows_too() -> None:
    preparing = StepPreparing(index=0, name="fdatasync", done=1 << 20, total=4 << 20, silent_s=12.4)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=0)[:2], preparing])
        lines = shown(pilot.app)
        assert any(line.startswith(" ▲ writing its file: no answer for 12.4 s") for line in lines)
        assert any("writing its file first" in line and "1.0 MiB of 4.0 MiB" in line for line in lines)


async def test_a_server_that_takes_its_time_to_start_shows_how_long() -> None:
    preparing = StepPreparing(index=0, name="fdatasync", done=0, total=0, server_s=34.2)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=0)[:2], preparing])
        assert any(" · its server is starting" in line and "34.2 s" in line for line in shown(pilot.app))


async def test_holding_the_view_holds_only_the_view() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3))
        await pilot.press("space")
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        held = shown(pilot.app)
        for event in screens.events(until=5):
            screen.progress.apply(event)
        draw(pilot)
        assert "view held" in "\n".join(held)
        assert shown(pilot.app) == held
        await pilot.press("space")
        assert any(line.startswith(" ▸ same block") for line in shown(pilot.app))


@pytest.mark.parametrize("told", [
    screens.events(until=0)[:1],
    [*screens.events(until=0)[:2], StepPreparing(index=0, name="fdatasync", done=1, total=2)],
    [*screens.events(until=0)[:2], StepPreparing(index=0, name="fdatasync", done=0, total=0, server_s=3.0)],
    screens.events(until=3),
], ids=["before the first step", "a file is written", "a server starts", "a step"])  # fmt: skip
async def test_that_the_view_is_held_shows_whatever_it_shows(told: list[Event]) -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, told)
        assert "Space hold view" in shown(pilot.app)[-1]
        await pilot.press("space")
        lines = shown(pilot.app)
        assert any("view held: space goes on" in line for line in lines)
        assert "Space go on" in lines[-1]
        await pilot.press("space")
        lines = shown(pilot.app)
        assert "view held" not in "\n".join(lines) and "Space hold view" in lines[-1]


async def test_a_run_that_ends_while_the_view_is_held_shows_its_result_when_it_is_let_go() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3))
        await pilot.press("space")
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        running = screen.running
        assert isinstance(running, screens.PreparedRunning)
        running.told = screens.events()[-1:]
        await screen.follow().wait()
        await pilot.pause()
        assert pilot.app.screen is screen
        assert any("view held: space shows the result" in line for line in shown(pilot.app))
        await pilot.press("s")
        assert running.stopped == 0
        assert "The run is over: enter shows its result." in shown(pilot.app)[-1]
        await pilot.press("space")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_next_and_stop_reach_the_runner() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        running = await watch(pilot, screens.events(until=3))
        await pilot.press("n", "s")
        assert (running.skipped, running.stopped) == (1, 1)


async def test_the_result_follows_by_itself() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events())
        assert isinstance(pilot.app.screen, ResultScreen)
        assert shown(pilot.app)[1].startswith(" ! SUSPICIOUS  high confidence")


async def test_a_run_that_is_refused_says_why_and_leads_back() -> None:
    class Refusing(screens.PreparedRunning):
        async def events(self):  # type: ignore[no-untyped-def]
            yield screens.events()[0]
            raise Refused("/srv/data is too full.")

    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        assert isinstance(pilot.app, PreparedApp)
        pilot.app.open_run(Refusing([]), screens.PLAN, screens.DATA)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        draw(pilot)
        assert " ✗ /srv/data is too full." in shown(pilot.app)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, StorageScreen)


@pytest.mark.parametrize("size", [(50, 20), (120, 40)])
async def test_it_is_usable_at_other_sizes(size: tuple[int, int]) -> None:
    async with PreparedApp().run_test(size=size) as pilot:
        await watch(pilot, screens.events(until=5))
        lines = shown(pilot.app)
        assert any("▸ same" in line for line in lines)
        assert all(len(line) <= size[0] for line in lines)


async def test_only_what_changed_is_drawn_again() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5))
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        drawn: list[Region] = []
        for part in (*screen.query(Lines), *screen.query(Piece)):
            part.refresh = lambda *regions, **_: drawn.extend(regions)
        screen.redraw()
        assert drawn == []
        screen.progress.apply(StepProgressed(snapshot=screens.snapshot(5, 1.6)))
        screen.redraw()
        assert 0 < len(drawn) < 16
        assert sum(region.width for region in drawn) < 80 * 6  # of the map, only the columns that are new


async def test_a_line_that_says_the_same_is_not_rendered_again() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5))
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        (heat_map,), footer = screen.query(Slices), screen.part("footer")
        before, keys = heat_map.strips, footer.render_line(0)
        screen.progress.apply(StepProgressed(snapshot=screens.snapshot(5, 1.6)))
        screen.redraw()
        same = [old is new for old, new in zip(before, heat_map.strips, strict=True)]
        assert any(same) and not all(same)
        assert all(old.text != new.text for old, new in zip(before, heat_map.strips, strict=True) if old is not new)
        assert footer.render_line(0) is keys


def test_the_stack_is_looked_through_for_every_step_and_not_for_every_drawing() -> None:
    progress = Progress(screens.PLAN, screens.DATA)
    counts = []
    for event in screens.events():
        progress.apply(event)
        counts.append((type(event), progress.counts))
    for (_, before), (told, after) in pairwise(counts):
        assert (after is before) == (told in (StepPreparing, StepStarted, StepProgressed, FindingsChanged))


async def test_a_tiny_terminal_is_no_error() -> None:
    async with PreparedApp().run_test(size=(20, 5)) as pilot:
        await watch(pilot, screens.events(until=5))
        assert shown(pilot.app)[0].startswith(" fstui")


async def test_a_run_that_ends_behind_the_help_shows_its_result_when_the_help_is_closed() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3))
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        await pilot.press("question_mark")
        screen.progress.apply(screens.events()[-1])
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_q_closes_the_help_and_ends_no_run() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        running = await watch(pilot, screens.events(until=3))
        await pilot.press("question_mark", "q")
        assert isinstance(pilot.app.screen, RunScreen)
        assert running.stopped == 0
