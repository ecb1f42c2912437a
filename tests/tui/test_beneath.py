"""Beneath the list: the selected filesystem's stack with live edges, its last minutes, and what was measured there."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from fstui.model.counters import Counters, DeviceCounters
from fstui.state import runs
from fstui.tui import beneath as drawing
from fstui.tui.rates import Recent
from fstui.tui.screens.storage import StorageScreen
from tests.factories import busy
from tests.tui.conftest import PreparedApp
from tests.tui.screen import shown

S = 1_000_000_000


def read(at_s: float, writes: int, **counted: int | None) -> Counters:
    counters = DeviceCounters(device="sda", writes=writes, write_ms=2 * writes, **counted)
    return Counters(monotonic_ns=int(at_s * S), devices=(counters,))


def kept(*readings: Counters) -> Recent:
    recent = Recent()
    for reading in readings:
        recent.add(reading)
    return recent


def writes(recent: Recent, until_s: float, each_s: float, number: int) -> list[float | None]:
    found = recent.series({"sda"}, int(until_s * S), int(each_s * S), number)
    return [None if one is None else one.writes for one in found]


def test_what_was_counted_in_each_stretch_and_nothing_of_before() -> None:
    recent = kept(read(10, 0), read(12, 20), read(14, 20), read(16, 120))
    assert writes(recent, 16, 2, 5) == [None, None, 10.0, 0.0, 50.0]


def test_nothing_is_counted_twice_where_readings_and_stretches_do_not_meet() -> None:
    recent = kept(*(read(10.3 + 2 * at, 7 * at * at) for at in range(40)))
    found = [one for one in writes(recent, 88, 4, 20) if one is not None]
    assert sum(found) * 4 == pytest.approx(7 * 39 * 39, rel=0.12)


def test_where_nobody_looked_stands_the_mean() -> None:
    recent = kept(read(0, 0), read(2, 2), read(22, 202), read(24, 204))
    assert writes(recent, 24, 2, 12) == [1.0, *[10.0] * 10, 1.0]


def test_readings_of_hours_take_no_more_than_those_of_minutes() -> None:
    recent = kept(*(read(at, at) for at in range(0, 7200, 2)))
    assert writes(recent, 7198, 2, 2000)[:1400] == [None] * 1400


def test_the_charts_stand_still_until_a_cell_of_time_is_full() -> None:
    recent = kept(*(read(at, at * at, busy_ms=at * 900) for at in range(0, 401, 2)))
    charts = drawing.Charts(recent)
    before = charts.draw({"sda"}, 80, 12)
    recent.add(read(402, 500_000, busy_ms=400_000))
    assert charts.draw({"sda"}, 80, 12) == before
    recent.add(read(412, 900_000, busy_ms=401_000))
    assert charts.draw({"sda"}, 80, 12) != before


@pytest.mark.parametrize(("width", "height"), [(50, 9), (80, 6), (80, 20), (120, 17), (200, 40)])
def test_charts_fill_their_room_and_no_more(width: int, height: int) -> None:
    recent = kept(*(read(at, at * at, busy_ms=at * 900) for at in range(0, 801, 2)))
    lines = drawing.Charts(recent).draw({"sda"}, width, height)
    assert 6 <= len(lines) <= height
    assert all(line.cell_len <= width for line in lines)
    text = "\n".join(line.plain for line in lines)
    assert "writes/s" in text and "flushes" not in text  # which are not counted
    assert "⣿" in text


def test_without_room_or_readings_nothing_is_drawn() -> None:
    assert drawing.Charts(kept(read(0, 0), read(2, 9))).draw({"sda"}, 80, 5) == []
    assert drawing.Charts(kept()).draw({"sda"}, 80, 20) == []
    assert drawing.Charts(kept(read(0, 0), read(40, 9))).draw({"sdb"}, 80, 20) == []


def test_a_device_that_does_nothing_has_a_line_at_zero() -> None:
    lines = drawing.Charts(kept(*(read(at, 7) for at in range(0, 401, 2)))).draw({"sda"}, 80, 12)
    assert any("0 ┤⣀⣀⣀" in line.plain for line in lines)


async def seconds_later(app: PreparedApp, number: int) -> Sequence[str]:
    screen = app.screen
    assert isinstance(screen, StorageScreen)
    await app.workers.wait_for_complete()
    for _ in range(number):
        screen.tick()
    return shown(app)


async def test_a_large_screen_has_the_numbers_on_the_edges_and_the_last_minutes() -> None:
    app = PreparedApp(busy.BusyMachine())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = "\n".join(await seconds_later(app, 300))
    assert not re.search(r"    │ \d+% busy", lines) and re.search(r"╳ \d+% busy", lines)  # the flush stopped above
    assert "the last 3 min" in lines and "a flush takes" in lines
    assert "  now   sdb" not in lines  # said on the edge


async def test_where_room_is_short_the_flags_come_first() -> None:
    app = PreparedApp(busy.BusyMachine())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        lines = "\n".join(await seconds_later(app, 300))
    assert re.search(r"  now   sdb: \d+% busy", lines) and "not-durable, high" in lines


async def test_what_was_measured_on_this_storage_stands_there_with_its_trend() -> None:
    for at, times in enumerate((1.0, 2.0, 0.5)):
        runs.save(busy.run_of_the_queue(f"aaa11{at}", 1 + at, times))
    app = PreparedApp(busy.BusyMachine())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = await seconds_later(app, 1)
        words = next(line for line in lines if line.startswith("  runs"))
        assert "! suspicious   odirect-truth: " in words and "03 Oct 2026" in words
        assert "0.50 × the first of 3" in words
        await pilot.press("down")
        assert not any(line.startswith("  runs") for line in shown(app))
