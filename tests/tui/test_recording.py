"""The screen of a recording: moving through time."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from fstui.model.recording import Incident, Record, RecordedWait, WhatHappened
from fstui.tui.drawing.recording import RecordingView, devices, incidents, waits
from tests.factories.recorded import BEGIN, ETCD, RSYNC, at, between, calm, disk, on_disk, second, stalled, window
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines

SLOW = between(596, 608, disk(900.0, writes=20, written_kib=310_000))
INCIDENT = calm(SLOW, at((600, 610), stalled(), processes=(RSYNC,)))
"""In it, etcd waits from 13:43:14 to 13:43:28."""
ANSWER = WhatHappened(version="", host="db1", start=BEGIN, end=BEGIN + 60, recorded=None, sentence="")


@asynccontextmanager
async def recorded(records: Sequence[Record], size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[int]]:
    """Open the screen with a recording."""
    if records:
        on_disk(records)
    app = PreparedApp()
    async with app.run_test(size=size) as pilot:
        await press(pilot, "h", "w")
        yield pilot


def moment(lines: Sequence[str]) -> str:
    """Return the start of the chosen column."""
    return lines[0].split()[-1].partition("–")[0]


async def test_it_opens_at_the_worst_moment_and_names_the_cause() -> None:
    async with recorded(INCIDENT) as pilot:
        lines = screen_lines(pilot.app)
    assert lines[0].endswith(" 2025-11-26 13:43:20–13:43:30")
    text = " ".join(line.strip() for line in lines)
    assert "13:43:14–13:43:28: etcd (pid 812) waited up to 4.0 s; vda's own latency" in text
    assert re.search(r"rsync \(pid 4711\) wrote ≤ (\S+) MiB/s to vda .* vda +\S+ +\1 MiB", text) and "▲" in text


async def test_the_copy_of_an_incident_is_its_whole_sentence() -> None:
    async with recorded(INCIDENT) as pilot:
        await pilot.press("y")
        assert "waited 8.0 s (at most 4.0 s at a time) in fdatasync of /var/lib/etcd/wal/0.wal; " in pilot.app.clipboard


async def test_keys_move_through_time() -> None:
    async with recorded(INCIDENT) as pilot:
        for keys, then in (
            (("left",), "13:43:10"), (("right", "right"), "13:43:30"), (("home",), "13:33:20"), (("n",), "13:43:20"),
            (("end",), "13:48:10"), (("p",), "13:43:20"), (("down", "left"), "13:42:30"), (("up", "left"), "13:42:40"),
        ):  # fmt: skip
            assert moment(await press(pilot, *keys)) == then


async def test_a_calm_moment_shows_the_calm_figures() -> None:
    async with recorded(INCIDENT) as pilot:
        text = "\n".join(await press(pilot, "home", "right"))
    assert "Nothing unusual at this moment. The recording has 1 incident (press n or p)." in text
    assert "etcd (pid 812)" in text and "2.0 ms" in text


async def test_charts_fill_their_width_after_a_resize() -> None:
    async with recorded(INCIDENT) as pilot:
        for columns, cells in ((50, 10), (120, 78), (80, 40)):
            await pilot.resize_terminal(columns, 24)
            found = 0
            for _ in range(100):  # another process reads the records
                await pilot.app.workers.wait_for_complete()
                lines = await press(pilot)
                if (found := max(len(re.findall("[⠁-⣿]", line)) for line in lines)) == cells:
                    break
                await pilot.pause()
            assert found == cells


async def test_a_huge_screen_draws_the_seconds_around_the_moment() -> None:
    async with recorded(INCIDENT, (200, 50)) as pilot:
        text = "\n".join(screen_lines(pilot.app))
    assert "one column is 10 s" in text and "one column is 1 s" in text
    assert "▲ vda ──" in text and "▲ 13:43:21" in text


async def test_every_chart_has_an_axis() -> None:
    async with recorded(INCIDENT) as pilot:
        ends = [line.split("┤")[0].split() for line in screen_lines(pilot.app) if "┤" in line]
    assert ends[:2] == [["longest", "wait", "5", "s"], ["5", "ms"]]
    assert ends[2:4] == [["a", "write", "takes", "500", "ms"], ["1", "ms"]]


async def test_click_on_an_incident_goes_there() -> None:
    async with recorded(calm(windows=at((300, 600), stalled())), (120, 40)) as pilot:
        before = screen_lines(pilot.app)
        y = next(y for y, line in enumerate(before) if "2 incidents, by time" in line)
        await pilot.click(offset=(9, y + 2))
        lines = await press(pilot)
    assert moment(before) == "13:38:10" and moment(lines) == "13:43:10"
    assert "13:38:14–13:38:18" in lines[y + 1] and "13:43:14–13:43:18" in lines[y + 2]


@pytest.mark.parametrize(
    "cause",
    [
        "vda completed writes as usual. So the delay was probably in the filesystem. Not the cause: a lack of memory.",
        "the delay was probably in the filesystem, while vda completed writes as usual. Not the cause: a lack of CPU.",
    ],
)
def test_rows_of_incidents_show_only_the_cause(cause: str) -> None:
    sentence = f"etcd waited 8.0 s; {cause}"
    first = Incident(start=BEGIN, end=BEGIN + 5, sentence=sentence, cause="device", program="etcd", longest_s=4.0)
    both = (first, replace(first, start=BEGIN + 30, end=BEGIN + 35))
    _, *lines = incidents(RecordingView(replace(ANSWER, incidents=both), BEGIN, BEGIN), 200, 9)
    assert len(lines) == 2
    assert all(line.plain.rstrip().endswith(" etcd, 4.0 s: the delay was probably in the filesystem") for line in lines)


async def test_close_incidents_have_their_own_headline() -> None:
    other = stalled(RecordedWait(program="app", pid=9, device="vdb", below=("vdb",), file="/srv/app"), ms=2000)
    windows = {600: (stalled(),), 610: (other,)}
    async with recorded(calm(windows=lambda at_s: window(at_s, *windows[at_s]) if at_s in windows else None)) as pilot:
        first = "\n".join(await press(pilot, "home", "n"))
        second = "\n".join(await press(pilot, "n", "down"))
    assert "etcd (pid 812) waited up to 4.0 s" in first and "app (pid 9) waited up to 2.0 s" in second
    assert second.index("app (pid 9)  ") < second.index("etcd (pid 812)  ")


async def test_charts_show_the_device_of_the_incident() -> None:
    slow = disk(900.0, writes=20)
    seconds = between(596, 608, slow, disk(990.0, name="vdb")), between(1, 900, disk(), disk(990.0, name="vdb"))
    records = calm(lambda at_s: seconds[0](at_s) or seconds[1](at_s), at((600, 610), stalled()))
    async with recorded(records, (200, 50)) as pilot:
        lines = screen_lines(pilot.app)
        calm_lines = await press(pilot, "home")
    assert any("one column is 10 s" in line and "▲ vda ──" in line for line in lines)
    assert any("one column is 10 s" in line and "▲ vdb ──" in line for line in calm_lines)


async def test_charts_and_tables_show_the_same_column() -> None:
    """Some seconds have more writes than others: the mean of all writes is not the mean of the seconds."""
    busy = between(596, 598, disk(9.0, writes=2000, written_kib=8000))
    async with recorded(calm(busy, at((600,), stalled())), (120, 40)) as pilot:
        for keys in ((), ("down",)):
            lines = await press(pilot, *keys)
            charts = (
                next(line for line in lines if f" {name} " in line and "┤" in line)
                for name in ("longest wait", "a write takes")
            )
            wait, write = (" ".join(line.rstrip("│ ").split()[-2:]) for line in charts)
            assert wait == "4.0 s" and wait in next(line for line in lines if line.startswith("│   etcd"))
            assert write in next(line for line in lines if line.startswith("│   vda"))


async def test_a_wait_is_never_longer_than_the_sum_of_waits() -> None:
    running = stalled(waited_ms=1100, longest_ms=900, in_flight_ms=4900)
    async with recorded(calm(windows=at((600, 610), running)), (120, 40)) as pilot:
        row = next(line for line in screen_lines(pilot.app) if line.startswith("│   etcd (pid 812)"))
    assert "4.9 s    6.0 s" in row


def view_of_window(*rows: RecordedWait, **changes: object) -> RecordingView:
    return RecordingView(ANSWER, BEGIN, BEGIN, window=window(10, *rows, **changes))


def test_waits_shorter_than_a_millisecond_are_not_zero() -> None:
    view = view_of_window(
        replace(ETCD, waited_ms=0, longest_ms=0), replace(ETCD, program="x", syncs=0, waited_ms=0, longest_ms=0)
    )
    etcd, other = (text.plain for text in waits(view, 80)[2:4])
    assert etcd.count("< 1 ms") == 2 and "0 ns" not in etcd + other and "–" in other


def test_the_device_of_the_incident_is_always_listed_first() -> None:
    view = replace(view_of_window(), second=second(10), device="vdb")
    assert devices(view, 80)[2].plain.split()[:2] == ["vdb", "–"]


def test_programs_that_were_traced_in_part_are_marked() -> None:
    view = view_of_window(replace(ETCD, partly_traced=True), replace(ETCD, program="mariadbd"))
    title, _, etcd, mariadbd = (text.plain for text in waits(view, 80))
    assert "≥ traced in part" in title
    assert "≥ 400" in etcd and "≥" not in mariadbd


@pytest.mark.parametrize(("waited_ms", "explained"), [(10_400, True), (9_900, False)])
def test_a_sum_of_waits_above_the_column_is_explained(waited_ms: int, explained: bool) -> None:
    shown = "\n".join(text.plain for text in waits(view_of_window(stalled(waited_ms=waited_ms, in_flight_ms=0)), 80))
    assert ("WAITED adds up threads" in shown) == explained


def test_a_limited_program_is_marked() -> None:
    limited = replace(ETCD, limits=("vdb wbps 1", "vda riops 9", "vda wbps 150000"))
    _, head, etcd, other = (text.plain for text in waits(view_of_window(limited, replace(ETCD, program="x")), 80))
    assert "I/O LIMIT" in head and "146.5 KiB/s" in etcd and "KiB" not in other


def test_a_limited_program_has_no_second_amount() -> None:
    """Its bytes in memory, in whole folios, are far more than the limit of the row above."""
    limited = replace(ETCD, limits=("vda wbps 150000",))
    process = replace(RSYNC, program="etcd", cgroup=ETCD.cgroup)
    shown = [text.plain for text in waits(view_of_window(limited, processes=(process, RSYNC)), 80)]
    assert shown[-2:] == ["   etcd (pid 4711) wrote", "   rsync (pid 4711) wrote ≤ 295.6 MiB/s"]


@pytest.mark.parametrize("width", [50, 80])
def test_programs_of_the_same_name_differ_in_their_pid(width: int) -> None:
    rows = (stalled(program="python3", pid=pid) for pid in (12851, 12852))
    shown = "\n".join(text.plain for text in waits(view_of_window(*rows), width))
    assert "12851" in shown and "12852" in shown


def test_an_unknown_wait_for_a_cpu_is_not_zero() -> None:
    worker = stalled(program="kworker", kernel=True)
    _, _, first, second = (text.plain.split() for text in waits(view_of_window(worker, replace(ETCD, cpu_ms=20)), 120))
    assert first[-2] == "–" and second[-3:-1] == ["20.0", "ms"]


def test_what_is_not_read_yet_is_not_called_missing() -> None:
    for is_read, words in ((False, "reading …"), (True, "not recorded")):
        view = RecordingView(ANSWER, BEGIN, BEGIN, is_read=is_read)
        for draw in (waits, devices):
            assert words in "\n".join(text.plain for text in draw(view, 80))


async def test_labels_of_the_time_axis_do_not_overlap() -> None:
    async with recorded(INCIDENT) as pilot:
        for keys in (("home",), ("right",) * 3, ("end",)):
            axis = next(line for line in (await press(pilot, *keys))[1:] if "▲" in line and "──" not in line)
            assert all(re.fullmatch(r"▲|\d\d:\d\d", label) for label in axis.split()), axis
            assert moment(screen_lines(pilot.app))[:5] in axis


async def test_a_tiny_terminal_keeps_the_app_alive() -> None:
    async with recorded(INCIDENT) as pilot:
        await pilot.resize_terminal(30, 8)
        for key in ("home", "end", "down", "down"):
            await press(pilot, key)
        await pilot.resize_terminal(80, 24)
        for _ in range(100):  # another process reads the records
            await pilot.app.workers.wait_for_complete()
            if any("one column is 30 s" in line for line in await press(pilot)):
                return
            await pilot.pause()
    pytest.fail("the charts are missing")


async def test_columns_of_a_short_recording_are_wider() -> None:
    async with recorded(INCIDENT) as pilot:
        lines = await press(pilot, "down")
    name = next(y for y, line in enumerate(lines) if " a write takes " in line)
    assert len(re.findall("[⠁-⣿]", lines[name - 1])) == 40, "16 minutes fill the width"
    assert any(re.search(r" 13:33 .*▲ 13:43 .* 13:48$", line.rstrip()) for line in lines), "it ends at the last record"


async def test_the_times_below_a_short_recording_have_seconds() -> None:
    short = [one for one in calm() if one.at <= BEGIN + 60]
    async with recorded(short) as pilot:
        lines = await press(pilot, "home", *["right"] * 3)
    assert any(re.search(r" 13:33:20 .*▲ 13:33:50 .* 13:34:20$", line.rstrip()) for line in lines)


async def test_a_gap_is_named() -> None:
    pause = [one for one in calm() if not 13 < (one.at - calm()[0].at) < 700]
    async with recorded(pause) as pilot:
        text = " ".join(await press(pilot, "home", *["right"] * 6))
    assert "the host was suspended, or records are missing" in text


async def test_without_a_recording_it_says_how_to_make_one() -> None:
    async with recorded([]) as pilot:
        text = " ".join(" ".join(screen_lines(pilot.app)).split())
        assert "fstui record'." in text and "now: 'fstui watch'" in text
        assert "▲" not in " ".join(await press(pilot, "left", "n", "down", "y"))


async def test_without_root_it_says_what_is_missing() -> None:
    async with recorded(calm(untraced="only root may trace the kernel")) as pilot:
        assert "not traced" in "\n".join(screen_lines(pilot.app))


async def test_names_from_the_system_are_no_markup() -> None:
    hostile = stalled(program="[red]\x1b[31m", file="/srv/[bold]x\x07")
    async with recorded(calm(windows=at((600,), hostile)), (120, 40)) as pilot:
        text = "\n".join(screen_lines(pilot.app))
    assert "[red]" in text and "\x1b" not in text and "\x07" not in text
