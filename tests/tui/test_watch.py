import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from fstui.model.host import Host
from fstui.model.storage import Target
from fstui.model.watch import WatchCounts, WatchedSecond, WatchEvent, WatchFinished, WatchReport, WatchStarted
from fstui.runs.machine.local import LocalMachine
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.machine.simulated import SimulatedMachine
from fstui.simulate.parameters import load
from fstui.state import ledger
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.screens.watch import WatchScreen
from fstui.tui.styles import WARNING
from tests.factories import screens
from tests.factories.storage import on_loop
from tests.factories.watched import SECOND
from tests.trace.instances import is_there
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines

SENTENCE = "The program waits for the disk: sdb itself takes 38.0 ms of the 40.0 ms that mariadbd waits for a sync."


class PreparedWatching:
    """A watch that yields these events and then waits until it is stopped."""

    def __init__(self, *events: WatchEvent) -> None:
        self._events = events
        self.stopped = asyncio.Event()

    def stop(self) -> None:
        self.stopped.set()

    async def events(self, seconds: float | None = None) -> AsyncIterator[WatchEvent]:
        for event in self._events:
            yield event
        await self.stopped.wait()
        report = WatchReport(
            started_at="",
            version="",
            host=Host(),
            total=WatchCounts(),
            culprit="disk",
            sentence="In all: the disk is slow.",
        )
        yield WatchFinished(report=report)


def watch_this(app: PreparedApp, *events: WatchEvent) -> None:
    prepared = PreparedWatching(*events)

    async def watch(pid: int | None = None, directory: str | None = None) -> Any:
        return prepared

    app.session.watch = watch  # type: ignore[method-assign]


@asynccontextmanager
async def watching(*events: WatchEvent, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[int]]:
    app = PreparedApp()
    watch_this(app, *events)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        yield pilot


async def test_a_watch_that_ended_below_another_screen_is_left() -> None:
    async with watching(WatchStarted(host=Host()), WatchedSecond(second=SECOND, sentence=SENTENCE)) as pilot:
        watch = pilot.app.screen
        await pilot.press("question_mark")
        assert isinstance(watch, WatchScreen) and watch._watching
        watch._watching.stop()
        await pilot.pause()
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, StorageScreen)


async def test_t_opens_the_watch_and_escape_shows_the_conclusion() -> None:
    seen = WatchedSecond(second=SECOND, sentence=SENTENCE)
    async with watching(WatchStarted(host=Host()), seen, seen) as pilot:
        assert isinstance(pilot.app.screen, WatchScreen)
        lines = screen_lines(pilot.app)
        assert lines[0].endswith("0:02")
        assert any(line.startswith("   mariadbd (50)") and line.endswith("logfile0") for line in lines)
        assert any(line.startswith("   sdb") and "38.0 ms" in line for line in lines)
        assert any("journal of dm-2: 24.0 commits/s" in line for line in lines)
        assert "The program waits for the disk" in " ".join(lines)
        after = await press(pilot, "escape")
        assert isinstance(pilot.app.screen, StorageScreen)
        assert after[-2] == " In all: the disk is slow."
        assert "Enter run here" in after[-1], "the keys stay below a notice"


@pytest.mark.parametrize(("waited_s", "is_coloured"), [(0.2, True), (0.19, False)])
def test_a_program_that_waits_long_is_coloured(waited_s: float, is_coloured: bool) -> None:
    screen = WatchScreen(on_loop())
    row = replace(SECOND.waits[0], waited_ns=int(waited_s * 1e9))
    screen._second = replace(SECOND, elapsed_s=1.0, waits=(row,))
    assert [span.style for span in screen._waits(120)[1].spans].count(WARNING) == 2 * is_coloured


async def test_lines_of_an_earlier_sentence_do_not_stay_blank() -> None:
    long, short = (WatchedSecond(second=SECOND, sentence=text) for text in (" ".join([SENTENCE] * 3), SENTENCE))
    async with watching(WatchStarted(host=Host())) as pilot:
        screen, heights = pilot.app.screen, []
        assert isinstance(screen, WatchScreen)
        for event, times in ((long, 1), (short, 1), (short, 10)):
            for _ in range(times):
                screen.apply(event)
            await pilot.pause()
            heights.append(screen.part("sentence").size.height)
    assert heights[0] == heights[1] > heights[2] == 2


async def test_only_the_devices_of_the_filesystem_are_shown() -> None:
    sda = replace(SECOND.devices[0], device="sda")
    loop = replace(sda, device="loop0", flushes=11)
    seen = replace(SECOND, devices=(loop, replace(loop, device="loop7"), replace(sda, flushes=22)))
    app = PreparedApp()
    watch_this(app, WatchStarted(host=Host()), *[WatchedSecond(second=seen)] * 4)
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(WatchScreen(on_loop()))
        await pilot.pause()
        lines = screen_lines(app)
    devices = {line.split()[1] for line in lines if " MiB " in line}
    assert devices == {"loop0", "sda"}
    assert any("all programs · loop0 ─" in line for line in lines)
    assert any("flushes/s" in line and "peak 11 " in line for line in lines), "no flush is counted twice"


async def test_no_waiting_program_is_reported() -> None:
    async with watching(WatchStarted(host=Host()), WatchedSecond(second=WatchCounts(elapsed_s=1.0))) as pilot:
        assert any("no program waits for a sync" in line for line in screen_lines(pilot.app))


async def test_without_a_trace_the_writers_are_shown() -> None:
    refused = WatchStarted(host=Host(), untraced="only root may trace the kernel")
    async with watching(
        refused, WatchedSecond(second=SECOND, sentence="fstui cannot see which program waits.")
    ) as pilot:
        lines = screen_lines(pilot.app)
        assert lines.count("   not traced by the kernel: only root may trace the kernel") == 1
        assert any(line.startswith("   rsyslogd (700)") for line in lines)
        assert not any("mariadbd" in line for line in lines)


async def test_a_replayed_run_cannot_be_watched() -> None:
    app = PreparedApp(ReplayMachine(screens.RUN, pace=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        lines = await press(pilot, "t")
        assert lines[-2] == " This is the replay of a saved run: there is nothing to watch."
        await pilot.press("escape")
        assert isinstance(app.screen, StorageScreen)


async def test_a_simulated_disk_can_be_watched() -> None:
    machine = SimulatedMachine(load("hdd-7200"), pace=0.0)
    app = PreparedApp(machine, flags={})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        await seconds_seen(pilot, 2)
        assert screen_lines(app)[0].startswith(" fstui  SIMULATED  watch   /simulated/hdd-7200")
        await pilot.press("escape")
        while not isinstance(app.screen, StorageScreen):
            await pilot.pause()
        await pilot.pause()
        assert " The program waits for the disk: sda itself takes " in "".join(screen_lines(app)[-4:])


async def seconds_seen(pilot: Pilot[int], count: int) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, WatchScreen)
    while screen.elapsed_s < count - 0.5:
        await pilot.pause(0.05)


@pytest.mark.root
async def test_closing_the_screen_ends_its_child() -> None:
    app = PreparedApp(LocalMachine())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        target = Target(path=os.getcwd(), mount_point="/", fstype="ext4", source="", stack=())
        app.push_screen(WatchScreen(target))
        await pilot.pause()
        await seconds_seen(pilot, 1)
        (entry,) = ledger.entries()
        assert is_there(entry.what)
        await pilot.press("escape")
        while not isinstance(app.screen, StorageScreen):
            await pilot.pause()
        assert not is_there(entry.what)
        assert ledger.entries() == []
