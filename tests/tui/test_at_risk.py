"""The screen with what each program would lose if the power failed now."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from fstui.model.at_risk import AtRisk, AtRiskStarted
from fstui.model.host import Host
from fstui.model.watch import WatchEvent, WatchStarted
from fstui.runs.machine.simulated import SimulatedMachine
from fstui.simulate.parameters import load
from fstui.trace.at_risk import bytes_in_log
from fstui.tui.drawing.at_risk import Moment, RiskView, last_minutes, moment_of, rows, total
from fstui.tui.iostats import RecentSamples
from fstui.tui.screens.at_risk import AtRiskScreen
from fstui.tui.screens.watch import WatchScreen
from fstui.tui.styles import BAD, WARNING
from tests.factories import screens
from tests.factories.at_risk import MIB, SECOND, UNSAFE, file, program
from tests.tui.conftest import PreparedApp
from tests.tui.screen import screen_lines
from tests.tui.test_watch import watch_this


class PreparedRisk:
    """A watch that yields one second and waits until it is stopped."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    def stop(self) -> None:
        self.stopped.set()

    async def events(self, seconds: float | None = None) -> AsyncIterator[WatchEvent]:
        yield AtRiskStarted(host=Host())
        yield SECOND
        await self.stopped.wait()


def watch_risk(app: PreparedApp) -> PreparedRisk:
    """Let the watch of the app yield a prepared second."""
    prepared = PreparedRisk()

    async def start(pid: int | None = None, directory: str | None = None) -> Any:
        return prepared

    watch_this(app, WatchStarted(host=Host()))
    app.session.watch_risk = start  # type: ignore[method-assign]
    return prepared


async def test_r_shows_the_risk_and_escape_returns_to_the_watch() -> None:
    app = PreparedApp()
    prepared = watch_risk(app)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert "r at risk" in screen_lines(app)[-1]
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, AtRiskScreen)
        text = " ".join(" ".join(screen_lines(app)).split())
        assert "postgres (700): O_DIRECT writes to 2 files are not counted: at most 3.0 MiB in the disk's" in text
        assert "[red]" in text, "names are data"
        assert "bytes peak 48 MiB" in text and "the oldest, at least peak 118 s" in text
        assert any("cp (950)" in line and "/backup " in line for line in screen_lines(app))
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, WatchScreen) and prepared.stopped.is_set()


def test_files_of_a_program_in_one_directory_share_a_row() -> None:
    files = [file(f"/tmp/{name}", "mypy (2724)", dirty_bytes=4096, oldest_s=2.0) for name in "abc"]
    state = AtRisk(files=(*files, file("/tmp/synced", "mypy (2724)"), file("/srv/d", "dd (9)", dirty_bytes=4096)))
    head, *lines = (text.plain for text in rows(RiskView(screens.DATA, state), 96, 3))
    assert "≤ IN CACHE" not in head, "no file has any"
    assert lines[0].split() == ["mypy", "(2724)", "2.0", "s", "12", "KiB", "0", "/tmp", "(3", "files)"]
    assert len(lines) == 2 and lines[1].split()[-1] == "/srv/d"


def test_a_few_files_have_rows_of_their_own() -> None:
    files = tuple(file(f"/tmp/{name}", "mypy (2724)", dirty_bytes=4096) for name in "abc")
    for max_files, number in ((3, 3), (2, 1)):
        _, *lines = (text.plain for text in rows(RiskView(screens.DATA, AtRisk(files=files)), 96, max_files))
        assert len(lines) == number


def test_closed_files_of_one_path_share_a_row() -> None:
    """An exporter writes one file after the other, and renames each."""
    ages = (9.0, 17.0, 25.0)
    parts = [file("/tmp/part", "exporter (7)", dirty_bytes=MIB, oldest_s=age, closed=age > 9.0) for age in ages]
    _, *lines, note = rows(RiskView(screens.DATA, AtRisk(files=tuple(parts))), 120, 9)
    assert [text.plain.split("part")[-1].strip() for text in lines] == [
        "(2 closed)",
        "",
    ]
    assert note.plain.endswith("were renamed or deleted since")
    coloured = {text.plain[span.start : span.end] for text in lines for span in text.spans if span.style == WARNING}
    assert coloured == {"25.0 s", "2.0 MiB"}


def test_unsafe_filesystem_warns_in_red_in_the_first_line() -> None:
    view = RiskView(screens.DATA, AtRisk(), unsafe=(UNSAFE,))
    first, *_ = lines = total(view, 80)
    assert first.plain.strip().startswith("✗ NOT DURABLE: even synced data on /srv/queue is at risk.")
    assert any(span.style == BAD and span.end > 50 for span in first.spans)
    shown = " ".join(text.plain for text in (*lines, *rows(view, 80, 9)))
    assert "No counted file" not in shown and "has bytes at risk" not in shown
    assert "unsynced bytes; synced bytes are not counted" in shown


def test_only_shown_columns_are_explained() -> None:
    screen = AtRiskScreen(screens.DATA)
    for dirty, cached, has_column in ((MIB, 0, False), (MIB, 4096, False), (0, 4096, True)):
        exposed = file("/srv/d", "dd (9)", dirty_bytes=dirty, cached_bytes=cached)
        shown = rows(replace(screen.view, state=AtRisk(files=(exposed,))), 100, 9)
        explained = screen._draw_path(100, 0)
        assert all(("IN CACHE" in "\n".join(map(str, part))) is has_column for part in (shown, explained))


def test_a_single_row_has_no_bar() -> None:
    files = [file(f"/srv/{name}/data", f"{name} (9)", dirty_bytes=MIB) for name in ("one", "two")]
    for number in (1, 2):
        screen = AtRiskScreen(screens.DATA)
        shown = rows(replace(screen.view, state=AtRisk(files=tuple(files[:number]))), 120, 9)
        assert ("━" in str(shown[1])) is (number == 2)


def test_an_age_that_may_be_too_low_is_charted() -> None:
    recent = RecentSamples[Moment]()
    for at_s in range(1, 41):
        unwritten = file("/srv/d", "dd (9)", dirty_bytes=MIB, oldest_s=float(at_s), may_be_older=at_s < 20)
        recent.add(1.0, moment_of(AtRisk(files=(unwritten,))))
    *_, lowest, _ = (text.plain for text in last_minutes(recent, None, 80, 12))
    _, unwritten_bytes, ages = lowest.split("┤")
    assert re.match(" {9}⢸⣿{19} ", unwritten_bytes), "40 of 60 s"
    assert re.match(" {9}⢀", ages), "a lower bound from the first second"


def test_charts_show_the_highest_age_and_number_of_names() -> None:
    recent = RecentSamples[Moment]()
    for moment in (Moment(9 * MIB, 1.0, 1), Moment(0, 12.0, 7)) * 150:
        recent.add(0.1, moment)
    text = "\n".join(line.plain for line in last_minutes(recent, None, 160, 12))
    assert "peak 9 MiB" in text and "peak 12 s" in text and "peak 7" in text


def test_the_last_column_of_a_chart_is_the_last_second() -> None:
    recent = RecentSamples[Moment]()
    for _ in range(40):
        recent.add(1.0, Moment(9 * MIB, 9.0, 0))
    *_, above, lowest, times = (text.plain for text in last_minutes(recent, Moment(MIB, 9.0, 0), 80, 12))
    assert times.split()[:4] == ["60", "s", "ago", "now"]
    assert re.search("│ {9}⢸⣿{18}  ", above) and re.search("0 ┤ {9}⢸⣿{19} ", lowest), "9 MiB before, 1 MiB now"
    assert not any("new names" in text.plain for text in last_minutes(recent, None, 200, 12)), "there are none"


def test_the_log_of_a_program_is_named_below_the_table() -> None:
    database = program("postgres", 7, dirty_bytes=8192, log="/srv/data/wal/0001", log_bytes=4096)
    state = AtRisk(files=(file("/srv/data/base/1", "postgres (7)", dirty_bytes=4096),), programs=(database,))
    *_, row, note = (text.plain for text in rows(RiskView(screens.DATA, state), 120, 9))
    assert row.split()[-1] == "base/1", "paths are relative to the mount point"
    assert note == f"   postgres (7): {bytes_in_log(database)}", "as on the command line"
    assert "4 KiB of its unsynced bytes are in …/wal/0001, the file that it syncs most often" in note


async def test_a_simulated_disk_has_no_programs_to_examine() -> None:
    app = PreparedApp(SimulatedMachine(load("hdd-7200")), flags={})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        await pilot.press("r")
        await pilot.pause()
        assert any("No program runs on a simulated disk" in line for line in screen_lines(app))
        await pilot.press("escape")
        assert isinstance(app.screen, WatchScreen)


async def test_a_key_before_the_screen_is_ready_is_ignored() -> None:
    app = PreparedApp()
    watch_risk(app)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.push_screen(AtRiskScreen(screens.DATA))
        await app.run_action("scroll(5)", app.screen)
        await pilot.pause()
        assert "Esc back" in screen_lines(app)[-1]
