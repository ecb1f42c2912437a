"""The last minutes of a watch: seconds put together into the stretches that a chart draws."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.model.watch import Watched
from fstui.tui.drawing import watch as drawing
from fstui.tui.waited import LastMinutes
from tests.factories.watched import MS, SECOND

QUIET = Watched(elapsed_s=1.0)


def minutes(*seconds: Watched, traced: bool = True) -> LastMinutes:
    last = LastMinutes()
    for second in seconds:
        last.add(second, traced=traced)
    return last


def test_a_stretch_has_the_sums_of_its_seconds_and_the_longest_sync() -> None:
    (*before, first, second) = minutes(SECOND, QUIET, SECOND, SECOND).series(cell_s=4, number=4)
    assert before == [None, None] and first and second
    assert first.syncs_per_s == pytest.approx(27 / 2) and second.syncs_per_s == pytest.approx(27)
    assert second.sync_ns == pytest.approx(2 * 1080 * MS / 54)
    assert second.longest_sync_ns == 122 * MS
    assert second.ms_per_flush == pytest.approx(1020 / 27)


def test_seconds_after_the_last_whole_cell_wait_for_theirs() -> None:
    assert minutes(*[SECOND] * 3).series(4, 4) == [None] * 4
    assert minutes(*[SECOND] * 4).series(4, 4) == minutes(*[SECOND] * 7).series(4, 4)


def test_what_nobody_waits_for_is_no_latency_and_no_sync() -> None:
    (_, quiet) = minutes(*[QUIET] * 4).series(4, 2)
    assert quiet and quiet.syncs_per_s == 0 and quiet.sync_ns is None and quiet.longest_sync_ns is None


def test_without_a_trace_only_the_devices_are_drawn() -> None:
    second = replace(SECOND, waits=())
    lines = [text.plain for text in drawing.minutes(minutes(*[second] * 8, traced=False), 200, 20)]
    assert any("flushes/s" in line for line in lines) and not any("sync" in line for line in lines)


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_charts_keep_to_their_room(width: int) -> None:
    last = minutes(*[SECOND] * 60)
    for height in range(30):
        lines = drawing.minutes(last, width, height)
        assert len(lines) <= height and all(text.cell_len <= width for text in lines)
    assert any("a sync takes" in text.plain for text in lines)
