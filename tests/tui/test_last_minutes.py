import re
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace
from rich.text import Text

from fstui.model.counters import Counters, DeviceCounters
from fstui.model.watch import WatchCounts
from fstui.tui.drawing import filesystem
from fstui.tui.drawing.charts import SYNC_FIGURES, last_minutes
from fstui.tui.drawing.storage import StorageEntry
from fstui.tui.iostats import DeviceActivity, IoStats, RecentSamples, stats_between, stats_of_second, total
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.styles import AREA, TIME, WARNING
from tests.factories import busy, saved_runs, screens
from tests.factories.storage import on_loop
from tests.factories.watched import MS, SECOND
from tests.tui.conftest import PreparedApp
from tests.tui.screen import screen_lines

QUIET = WatchCounts(elapsed_s=1.0)


def read(at_s: float, writes: int = 0, **counted: int | None) -> Counters:
    counters = DeviceCounters(device="sda", writes=writes, write_ms=2 * writes, **counted)
    return Counters(monotonic_ns=int(at_s * 1e9), devices=(counters,))


def activity_of(*readings: Counters) -> DeviceActivity:
    activity = DeviceActivity()
    for counters in readings:
        activity.add(counters)
    return activity


def recent_of(*readings: Counters) -> RecentSamples[Mapping[str, IoStats]]:
    return activity_of(*readings).recent


def writes(recent: RecentSamples[Mapping[str, IoStats]], cell_s: int, number: int) -> list[float | None]:
    series = recent.series(cell_s, number)
    return [total(sample["sda"] for sample in part).per_s("writes") if part else None for part in series]


def test_samples_are_counted_in_their_half_cell() -> None:
    recent = recent_of(read(10, 0), read(12, 20), read(14, 20), read(16, 120), read(18, 120))
    assert writes(recent, 4, 4) == [10.0, 0.0, 50.0, 0.0]


def test_nothing_is_counted_twice_or_lost() -> None:
    readings = [read(2.1 * at, 7 * at * at) for at in range(41)]
    found = [one for one in writes(recent_of(*readings), 4, 42) if one is not None]
    assert sum(found) * 2 == pytest.approx(7 * 40 * 40, rel=0.12)


def test_a_long_sample_fills_the_time_it_covers() -> None:
    recent = recent_of(read(0, 0), read(2, 2), read(22, 202), read(24, 204))
    assert writes(recent, 4, 12) == [1.0, *[10.0] * 10, 1.0]


def test_a_pause_is_a_gap_in_the_charts() -> None:
    activity = activity_of(*(read(at, 100 * at) for at in range(9)))
    activity.add(read(28, 800_000), after_pause=True)
    assert activity.stats["sda"].per_s("writes") == 100
    for at in range(29, 37):
        activity.add(read(at, 800_000 + 100 * (at - 28)))
    lines = [text.plain for text in charts(activity, 60, 8)]
    assert any("peak 100" in text for text in lines)
    assert re.search(r"0 ┤⣿+ +⣿+ ", "\n".join(lines)) and "gaps: not measured" in lines[0]


def test_old_samples_are_dropped() -> None:
    recent = recent_of(*(read(at, at) for at in range(7200)))
    assert recent.time_range_s(4, 2000) == (6600, 7196)
    assert None not in writes(recent, 4, 2000)


def test_busy_is_a_share_of_the_time() -> None:
    assert stats_between(read(0, busy_ms=100, in_flight=1), read(2, busy_ms=600, in_flight=9))["sda"].busy == 0.25


@pytest.mark.parametrize(("flush_ms", "each"), [(0, None), (6, 1.5)])
def test_flushes_below_one_millisecond_have_no_time(flush_ms: int, each: float | None) -> None:
    stats = stats_between(read(0, flushes=0, flush_ms=0), read(1, flushes=4, flush_ms=flush_ms))["sda"]
    assert (stats.per_s("flushes"), stats.ms_per_flush) == (4, each)


def watched(*seconds: WatchCounts, traced: bool = True) -> RecentSamples[IoStats]:
    recent = RecentSamples[IoStats]()
    for second in seconds:
        recent.add(second.elapsed_s, stats_of_second(second, traced=traced))
    return recent


def test_a_half_cell_adds_up_the_seconds_of_a_watch() -> None:
    (first, second) = watched(SECOND, QUIET, SECOND, SECOND).series(cell_s=4, half_cells=2)
    assert total(first).per_s("syncs") == pytest.approx(27 / 2) and total(second).per_s("syncs") == pytest.approx(27)
    assert total(second).ns_per_sync == pytest.approx(2 * 1080 * MS / 54)
    assert total(second).longest_sync_ns == 122 * MS
    assert total(second).ms_per_flush == pytest.approx(1020 / 27)


def test_charts_move_by_whole_cells() -> None:
    assert watched(*[SECOND] * 12).series(4, 4) == watched(*[SECOND] * 15).series(4, 4)


def test_a_quiet_second_has_no_latency() -> None:
    (_, quiet) = watched(*[QUIET] * 4).series(4, 2)
    stats = total(quiet)
    assert stats.per_s("syncs") == stats.per_s("flushes") == 0
    assert stats.ns_per_sync is None and stats.longest_sync_ns is None
    lines = of_programs(watched(*[replace(SECOND, waits=()), QUIET, QUIET, QUIET] * 10), 120, 20)
    assert not any("gaps" in line.plain for line in lines), "a device that did nothing was measured"


def of_programs(recent: RecentSamples[IoStats], width: int, height: int) -> Sequence[Text]:
    return last_minutes("all programs", SYNC_FIGURES, recent, width=width, height=height)


def test_without_a_trace_only_devices_are_charted() -> None:
    second = replace(SECOND, waits=())
    lines = [text.plain for text in of_programs(watched(*[second] * 8, traced=False), 200, 20)]
    assert any("flushes/s" in line for line in lines) and not any("sync" in line for line in lines)


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_charts_of_a_watch_fit(width: int) -> None:
    recent = watched(*[SECOND] * 60)
    for height in range(30):
        lines = of_programs(recent, width, height)
        assert len(lines) <= height and all(text.cell_len <= width for text in lines)
    assert any("mean of the syncs" in text.plain for text in lines)


def charts(activity: DeviceActivity, width: int, height: int) -> Sequence[Text]:
    return filesystem.last_minutes(StorageEntry(None, device=screens.disk("sda")), activity, width, height)


@pytest.mark.parametrize(("width", "height"), [(50, 9), (80, 6), (80, 20), (120, 17), (200, 40)])
def test_charts_of_devices_fill_their_height(width: int, height: int) -> None:
    lines = charts(activity_of(*(read(at, at * at, busy_ms=at * 900) for at in range(0, 801, 2))), width, height)
    assert len(lines) == height
    assert all(line.cell_len <= width for line in lines)
    text = "\n".join(line.plain for line in lines)
    assert "writes/s" in text and "flushes" not in text  # flushes are not counted
    assert any("⠁" <= sign <= "⣿" for sign in text)


def test_what_is_always_zero_has_no_chart() -> None:
    quiet = [read(at, 7, reads=0, flushes=0, busy_ms=0) for at in range(0, 41, 2)]
    (line,) = charts(activity_of(*quiet), 200, 20)
    assert line.plain.endswith("nothing in the last 40 s ──")
    writing = [read(at, at, reads=0, flushes=0, busy_ms=0) for at in range(0, 81, 2)]
    lines = [text.plain for text in charts(activity_of(*writing), 200, 20)]
    assert lines[-1].count(" ≤ 4 s ago") == 2 == lines[-2].count("0 ┤")


def test_a_single_chart_in_a_second_row_is_left_out() -> None:
    readings = [read(at, at, flushes=at, busy_ms=at) for at in range(0, 81, 2)]
    names = [line for line in charts(activity_of(*readings), 200, 20) if "peak" in line.plain]
    assert len(names) == 1


def test_charts_need_room_and_samples() -> None:
    assert not charts(activity_of(read(0, 0), read(2, 9)), 80, 4)
    assert not charts(activity_of(read(0, 0)), 80, 20)


@pytest.mark.parametrize(("seconds", "span"), [(3, 10), (9, 10), (13, 20), (39, 60), (67, 64), (86, 84), (700, 84)])
def test_a_chart_fills_from_the_right_and_then_grows(seconds: int, span: int) -> None:
    recent = watched(*[SECOND] * seconds)
    first_s, last_s = recent.time_range_s(4, 42)
    assert last_s - first_s == span and last_s == pytest.approx(seconds, abs=4)
    filled = list(map(bool, recent.series(4, 42)))
    assert filled == sorted(filled) and filled[-1] and all(filled) == (seconds > 60)


def of_a_loop_device(*writes: int) -> DeviceActivity:
    """Return the activity of loop0, from its writes in each second, and of the busy sda below it."""
    counted, activity = 0, DeviceActivity()
    for second, written in enumerate(writes):
        counted += written
        devices = (DeviceCounters(device="loop0", writes=counted), DeviceCounters(device="sda", writes=9 * second))
        activity.add(Counters(monotonic_ns=second * 10**9, devices=devices))
    return activity


def test_an_idle_device_leaves_its_lines_to_the_one_below() -> None:
    lines = filesystem.last_minutes(StorageEntry(on_loop()), of_a_loop_device(*[0] * 30), 120, 9)
    assert "── loop0 ──" in lines[0].plain and "nothing in the last" in lines[0].plain
    assert lines[1].plain.startswith("── sda ──") and "peak" in lines[2].plain and len(lines) <= 9


@pytest.mark.parametrize(("newest", "remark"), [(0, "nothing in the last 8 s ──"), (7, " measuring ──")])
def test_a_device_that_begins_to_write_is_not_called_idle(newest: int, remark: str) -> None:
    lines = filesystem.last_minutes(StorageEntry(on_loop()), of_a_loop_device(*[0] * 10, newest), 120, 9)
    assert lines[0].plain.endswith(remark)


def test_a_chart_says_how_long_it_is() -> None:
    lines = [line.plain for line in charts(activity_of(*(read(at, 7 * at) for at in range(0, 41, 2))), 80, 12)]
    assert lines[0].endswith(" redrawn every 10 s ──")
    assert lines[-1].split()[:8] == ["≥", "60", "s", "ago", "≤", "10", "s", "ago"], "the last cell is not new"
    full = charts(activity_of(*(read(at, 7 * at) for at in range(0, 801, 2))), 80, 12)
    assert full[0].plain.endswith(" redrawn every 10 s ──") and " ≥ 290 s ago " in full[-1].plain


@pytest.mark.parametrize(("busy_ms", "styles"), [(0, {AREA}), (950, {AREA, WARNING})])
def test_only_a_busy_device_has_a_second_colour(busy_ms: int, styles: set[str]) -> None:
    lines = charts(activity_of(*(read(at, 50 * at, busy_ms=busy_ms * at) for at in range(0, 801, 2))), 60, 30)
    areas = (span for line in lines for span in line.spans if re.search("[⠁-⣿]", line.plain[span.start : span.end]))
    assert {str(span.style).removeprefix("dim ") for span in areas} - {TIME} == styles


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_the_peak_is_that_of_a_second_at_any_width(width: int) -> None:
    stalled = replace(SECOND, waits=(replace(SECOND.waits[0], syncs=1, ended_ns=900 * MS),))
    lines = of_programs(watched(*[SECOND] * 20, stalled, *[SECOND] * 19), width, 20)
    assert any(re.search("mean of the syncs +peak 900 ms", line.plain) for line in lines)


async def after_ticks(app: PreparedApp, number: int) -> Sequence[str]:
    screen = app.screen
    assert isinstance(screen, StorageScreen)
    await app.workers.wait_for_complete()
    for _ in range(number):
        screen.tick()
    return screen_lines(app)


async def test_numbers_are_on_the_edges_of_the_path() -> None:
    app = PreparedApp(busy.BusyMachine())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = "\n".join(await after_ticks(app, 300))
    # the flush stopped above
    assert not re.search(r"    │ \d+\s?% busy", lines) and re.search(r"╳ \d+\s?% busy", lines)
    assert "not-durable, high" in lines and re.search(r"\b1\d\d s ago", lines) and "a flush takes" in lines


async def test_saved_runs_are_shown_with_their_trend() -> None:
    for at, times in enumerate((1.0, 2.0, 0.5)):
        saved_runs.save(busy.run_of_the_queue(f"aaa11{at}", 1 + at, times))
    app = PreparedApp(busy.BusyMachine())
    async with app.run_test(size=(109, 40)) as pilot:
        await pilot.pause()
        lines = await after_ticks(app, 1)
        words = next(line for line in lines if line.startswith("   runs"))
        assert "! suspicious   odirect-truth: " in words and "03 Oct 2026" in words
        assert "0.50 × the first of 3" in words
        await pilot.press("down")
        assert not any(line.startswith("   runs") for line in screen_lines(app))
