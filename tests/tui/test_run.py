import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from textual.geometry import Region
from textual.pilot import Pilot

from fstui.measure.kinds.dirty_flush import DirtyFlushFigures, Growth
from fstui.model.counters import DeviceCounters, Idle
from fstui.model.errors import Refused
from fstui.model.events import Event, FindingsChanged, IdleMeasured, StepPreparing, StepProgressed, StepStarted
from fstui.model.host import OtherWriter
from fstui.model.judgement import Finding, Judgement, Speed
from fstui.model.steps import PendingOperation
from fstui.tui.drawing.run import requested_and_counted
from fstui.tui.progress import Progress
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.run import RunScreen
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.widgets.lines import DrawnLines, Piece, Slices
from tests.factories import screens
from tests.factories.databases import database
from tests.factories.storage import filesystem, on_loop
from tests.tui.conftest import PreparedApp
from tests.tui.screen import screen_lines


async def watch(pilot: Pilot[int], events: list[Event]) -> screens.PreparedRun:
    app = pilot.app
    assert isinstance(app, PreparedApp)
    running = screens.PreparedRun(events)
    app.open_run(running)
    await app.workers.wait_for_complete()
    await pilot.pause()
    draw(pilot)
    return running


def draw(pilot: Pilot[int]) -> None:
    if isinstance(pilot.app.screen, RunScreen):
        pilot.app.screen.draw_changes()


async def test_no_findings_differ_from_not_judged_yet() -> None:
    until_judged = screens.events(until=5)[:1]
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, until_judged)
        assert screen_lines(pilot.app)[1] == " not judged yet"
        await watch(
            pilot,
            [*until_judged, FindingsChanged(judgement=Judgement(verdict="cannot-tell", confidence="low", sentence=""))],
        )
        assert screen_lines(pilot.app)[1].split("  ") == [" nothing found so far", " ? SPEED UNKNOWN"]


@pytest.mark.parametrize("width", [80, 120])
async def test_both_answers_so_far_are_shown(width: int) -> None:
    found = Finding(rule="flushes-arrive", scope="storage", verdict="consistent", confidence="low", title="1.00")
    normal = Speed(answer="normal", title="fdatasync 840/s, not slow compared with SSDs")
    judged = Judgement(verdict="consistent", confidence="low", sentence="", findings=(found,), speed=normal)
    async with PreparedApp().run_test(size=(width, 24)) as pilot:
        await watch(pilot, [*screens.events(until=5), FindingsChanged(judgement=judged)])
        drawn = screen_lines(pilot.app)[1]
        assert drawn.startswith(" ✓ CONSISTENT with durable storage  low confidence")
        assert f"   ✓ NOT SLOW  fdatasync{' 840/s' * (width == 120)}" in drawn


async def test_other_writers_are_named() -> None:
    writers = tuple(OtherWriter(pid=pid, name="mysqld", written_bytes=4096) for pid in (700, 701))
    idle = IdleMeasured(idle=msgspec.structs.replace(screens.IDLE, writers=writers))
    events = [idle if isinstance(event, IdleMeasured) else event for event in screens.events(until=5)]
    async with PreparedApp().run_test(size=(120, 24)) as pilot:
        await watch(pilot, events)
        named = "   other processes before the run: sda 12 writes/s, 3 flushes/s, by 2 × mysqld"
        assert any(named in line for line in screen_lines(pilot.app))


async def test_a_quiet_device_has_no_line_of_other_writers() -> None:
    quiet = (DeviceCounters(device="sda", writes=0, flushes=0),)
    idle = IdleMeasured(idle=Idle(elapsed_s=1.0, counters=quiet))
    events = [idle if isinstance(event, IdleMeasured) else event for event in screens.events(until=5)]
    async with PreparedApp().run_test(size=(120, 24)) as pilot:
        await watch(pilot, events)
        assert not any("before the run" in line for line in screen_lines(pilot.app))


async def test_counts_of_all_processes_are_no_part_of_fstui() -> None:
    busy = DeviceCounters(device="sda", writes=900, written_bytes=1 << 30, flushes=700, flush_ms=700)
    told = [
        replace(event, idle=Idle(elapsed_s=1.0, counters=(busy,))) if isinstance(event, IdleMeasured) else event
        for event in screens.events(until=5)
    ]
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, told)
        lines = screen_lines(pilot.app)
        assert any("sda, lowest device" in line and line.endswith("+ others") for line in lines)
        assert any(line.startswith(" ▸ same block, fdatasync") and line.endswith("–") for line in lines)


def test_flushes_of_others_below_a_loop_have_no_ratio() -> None:
    loop = on_loop()
    target = replace(loop, stack=(filesystem(barrier="nobarrier", below=("loop0",)), *loop.stack[1:]))
    progress = Progress(screens.PLAN, target)
    progress.idle = Idle(elapsed_s=1.0, counters=(DeviceCounters(device="sda", writes=3670, flushes=575),))
    counters = (DeviceCounters(device="loop0", flushes=0), DeviceCounters(device="sda", flushes=167))
    progress.finished_steps = {4: replace(screens.STEPS[4], counters=counters)}
    progress.current_index, progress.snapshot = 5, replace(screens.snapshot(5, 1.0), counters=counters)
    drawn = [text.plain.split() for text in requested_and_counted(progress, 110, 10)]
    assert [words[-1] for words in drawn if words[0] in ("loop0,", "sda,")] == ["0.00", "others"]


def test_previous_step_of_a_server_counts_transactions() -> None:
    progress = Progress(screens.PLAN, on_loop())
    progress.finished_steps = {0: database("read_write", 405.0, 900, durable=True)}
    progress.current_index = 1
    assert requested_and_counted(progress, 110, 10)[1].plain.strip() == "previous step, transactions: 810"


def test_an_axis_grows_by_quarters_only_when_a_step_overruns() -> None:
    screen = RunScreen(screens.PreparedRun([]))

    def length_s(elapsed_s: float) -> float | None:
        screen.progress.current_index, screen.progress.snapshot = 5, screens.snapshot(5, elapsed_s)
        return screen._latency_view().length_s

    assert [length_s(at) for at in (1.9, 2.0, 2.03, 2.2, 3.1)] == [2.0, 2.0, 2.0, 2.5, 3.5]


async def test_operations_without_a_count_are_no_zero() -> None:
    uncounted = replace(screens.snapshot(3, 0.3), ops=0, syncs=0, bytes=0)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=3)[:-2], StepProgressed(snapshot=uncounted)])
        assert layer_rows(screen_lines(pilot.app))[0].split()[:2] == ["previous", "step"]


async def test_the_last_counts_stay_until_the_next_step_has_any() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3)[:-2])
        finished = layer_rows(screen_lines(pilot.app))
        await watch(pilot, [*screens.events(until=3)[:-1]])
        started = layer_rows(screen_lines(pilot.app))
        assert started[0].split()[:2] == ["previous", "step"]
        assert started[1:] == finished[1:]


def layer_rows(lines: list[str]) -> list[str]:
    (top,) = [index for index, line in enumerate(lines) if "── LAYER" in line]
    return lines[top + 1 : -1]


async def test_the_last_map_stays_until_the_next_step_has_one() -> None:
    empty = replace(screens.snapshot(3, 0.1), ops=0, syncs=0, timeline=(), latency_ns=None)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=3)[:-2], StepProgressed(snapshot=empty)])
        lines = screen_lines(pilot.app)
        assert any(line.startswith(f"── {screens.STEPS[2].name} · done") for line in lines)
        assert any("⠀" < letter <= "⣿" for line in lines[12:] for letter in line)
        (row,) = [line for line in lines if line.startswith(" ▸")]
        assert row.split()[-5:] == ["–"] * 5


async def test_a_stall_is_shown_next_to_the_findings() -> None:
    speed = Speed(answer="stalls", title="412 ms for one operation of fdatasync")
    judged = Judgement(verdict="consistent", confidence="low", sentence="", speed=speed)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=5), FindingsChanged(judgement=judged)])
        assert screen_lines(pilot.app)[1] == f" nothing found so far   ▲ STALLS  {speed.title}"


async def test_a_step_without_a_rate_is_shown_in_words() -> None:
    measured = DirtyFlushFigures(
        sequential=Growth(slope_ns_per_mib=400_000, intercept_ns=124_000),
        scattered=Growth(slope_ns_per_mib=1_200_000, intercept_ns=130_000),
    )
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.flushing(measured))
        lines = screen_lines(pilot.app)
        row = next(line for line in lines if "flush 124" in line)
        assert row.startswith(" ▸ flush of")
        assert row.endswith("flush 124 µs, +400 µs/MiB, scattered +1.2 ms/MiB")
        assert not any("lowest" in line and "." in line[60:] for line in lines)


async def test_a_database_shows_what_it_reports_each_second() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.database([(630.0, 1260.0, 2.4), (810.0, 1620.0, 2.1)]))
        lines = screen_lines(pilot.app)
        row = next(line for line in lines if line.startswith(" ▸"))
        assert row.startswith(" ▸ oltp_update")
        assert "mariadb high" in row and "810" not in row, "the row has the mean, as all rows"
        assert any("now 810 tx/s, p95 2.1 ms" in line for line in lines)
        assert any("⠀" < letter <= "⣿" for line in lines for letter in line)
        assert any(re.fullmatch(r" +transactions: [\d\s]+", line) for line in lines), "neither writes nor syncs"
        assert any(line.startswith("── LAYER") for line in lines)


@pytest.mark.parametrize(("width", "beside"), [(120, False), (200, True)])
async def test_counts_are_next_to_the_steps_if_there_is_room(width: int, beside: bool) -> None:
    async with PreparedApp().run_test(size=(width, 50)) as pilot:
        await watch(pilot, screens.events(until=5))
        await pilot.pause()  # the panes of a large terminal take a second layout
        lines = screen_lines(pilot.app)
        (ends,) = [line for line in lines if " LAYER " in line]
        assert (" STEP " in ends) == beside
        assert sum("SUSPICIOUS  " in line for line in lines) == 1


async def test_a_huge_screen_shows_the_path_and_the_rate_over_time() -> None:
    async with PreparedApp().run_test(size=(200, 50)) as pilot:
        await watch(pilot, screens.events(until=5))
        await pilot.pause()
        lines = screen_lines(pilot.app)
        assert any("I/O path" in line for line in lines)
        head = next(y for y, line in enumerate(lines) if "operations/s" in line)
        ticks = [y for y, line in enumerate(lines[head:]) if re.search(r"\d ┤", line)]
        assert any("800 ┤" in line for line in lines[head:]), "812 operations/s"
        assert len({lower - upper for upper, lower in pairwise(ticks)}) == 1, "ticks at equal distances"
        bottom = next(line for line in lines[head:] if "  0 ┤" in line)
        assert not bottom.rpartition("┤")[2].count("⣿"), "a line, not a filled area"


async def test_an_operation_that_does_not_return_is_shown() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5, stall=PendingOperation(call="fdatasync", elapsed_s=12.4)))
        assert any(line.startswith(" ▲ fdatasync has not returned for 12.4 s") for line in screen_lines(pilot.app))


@pytest.mark.parametrize(("preparing", "expected"), [
    ({"done": 1 << 20, "total": 4 << 20}, ("preparing the file", "1.0 MiB of 4.0 MiB")),
    ({"done": 1 << 20, "total": 4 << 20, "silent_s": 12.4}, (" ▲ preparing the file: no answer for 12.4 s",)),
    ({"done": 0, "total": 0, "server_s": 34.2}, (" · starting the server", "34.2 s")),
], ids=["file", "hanging disk", "server"])  # fmt: skip
async def test_preparation_shows_its_progress(preparing: dict[str, Any], expected: tuple[str, ...]) -> None:
    event = StepPreparing(index=0, name="fdatasync", **preparing)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, [*screens.events(until=0)[:2], event])
        assert any(all(words in line for words in expected) for line in screen_lines(pilot.app))


async def test_pausing_the_view_pauses_only_the_view() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3))
        await pilot.press("space")
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        paused = screen_lines(pilot.app)
        for event in screens.events(until=5):
            screen.progress.apply(event)
        draw(pilot)
        assert "paused: Space" in "\n".join(paused)
        assert screen_lines(pilot.app) == paused
        screen.redraw()
        assert screen_lines(pilot.app) == paused, "another size would also show the moment of the pause"
        await pilot.press("space")
        assert any(line.startswith(" ▸ same block") for line in screen_lines(pilot.app))


@pytest.mark.parametrize("events", [
    screens.events(until=0)[:1],
    [*screens.events(until=0)[:2], StepPreparing(index=0, name="fdatasync", done=1, total=2)],
    [*screens.events(until=0)[:2], StepPreparing(index=0, name="fdatasync", done=0, total=0, server_s=3.0)],
    screens.events(until=3),
], ids=["before the first step", "a file is written", "a server starts", "a step"])  # fmt: skip
async def test_a_paused_view_says_so(events: list[Event]) -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, events)
        assert "Space pause view" in screen_lines(pilot.app)[-1]
        await pilot.press("space")
        lines = screen_lines(pilot.app)
        assert any("paused: Space continues" in line for line in lines)
        assert "Space continue" in lines[-1]
        await pilot.press("space")
        lines = screen_lines(pilot.app)
        assert "paused: Space" not in "\n".join(lines) and "Space pause view" in lines[-1]


async def test_a_paused_view_shows_the_result_when_it_resumes() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3))
        await pilot.press("space")
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        running = screen.run_in_progress
        assert isinstance(running, screens.PreparedRun)
        running.told = screens.events()[-1:]
        await screen.follow().wait()
        await pilot.pause()
        assert pilot.app.screen is screen
        assert any("paused: Space shows the result" in line for line in screen_lines(pilot.app))
        await pilot.press("s")
        assert running.stopped == 0
        assert "The run is over. Press Enter to see its result." in screen_lines(pilot.app)[-2]
        await pilot.press("space")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_next_and_stop_reach_the_runner() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        running = await watch(pilot, screens.events(until=3))
        await pilot.press("n", "s")
        assert (running.skipped, running.stopped) == (1, 1)


async def test_a_refused_run_shows_the_reason() -> None:
    class Refusing(screens.PreparedRun):
        async def events(self):  # type: ignore[no-untyped-def]
            yield screens.events()[0]
            raise Refused("/srv/data is too full.")

    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        assert isinstance(pilot.app, PreparedApp)
        pilot.app.open_run(Refusing([]))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        draw(pilot)
        assert " ✗ /srv/data is too full." in screen_lines(pilot.app)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, StorageScreen)


async def test_only_changes_are_drawn() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5))
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        drawn: list[Region] = []
        for part in (*screen.query(DrawnLines), *screen.query(Piece)):
            part.refresh = lambda *regions, **_: drawn.extend(regions)
        screen.redraw()
        assert drawn == []
        screen.progress.apply(StepProgressed(snapshot=screens.snapshot(5, 1.6)))
        screen.redraw()
        assert 0 < len(drawn) < 16
        assert sum(region.width for region in drawn) < 80 * 6  # the new columns of the map only


async def test_an_unchanged_line_is_not_rendered_again() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=5))
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        heat_map, footer = screen.query_one("#map", Slices), screen.part("footer")
        before, keys = heat_map.strips, footer.render_line(0)
        screen.progress.apply(StepProgressed(snapshot=screens.snapshot(5, 1.6)))
        screen.redraw()
        same = [old is new for old, new in zip(before, heat_map.strips, strict=True)]
        assert any(same) and not all(same)
        assert all(old.text != new.text for old, new in zip(before, heat_map.strips, strict=True) if old is not new)
        assert footer.render_line(0) is keys


def test_counts_are_computed_once_per_step() -> None:
    progress = Progress(screens.PLAN, screens.DATA)
    counts = []
    for event in screens.events():
        progress.apply(event)
        counts.append((type(event), progress.counts))
    for (_, before), (events, after) in pairwise(counts):
        assert (after is before) == (events in (StepPreparing, StepStarted, StepProgressed, FindingsChanged))


async def test_a_tiny_terminal_is_no_error() -> None:
    async with PreparedApp().run_test(size=(20, 5)) as pilot:
        await watch(pilot, screens.events(until=5))
        assert screen_lines(pilot.app)[0].startswith(" fstui")


async def test_a_run_that_ends_behind_the_help_shows_its_result() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await watch(pilot, screens.events(until=3))
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        await pilot.press("question_mark")
        screen.progress.apply(screens.events()[-1])
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_q_closes_the_help_but_not_the_run() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        running = await watch(pilot, screens.events(until=3))
        await pilot.press("question_mark", "q")
        assert isinstance(pilot.app.screen, RunScreen)
        assert running.stopped == 0
