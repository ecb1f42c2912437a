"""Watches whose output has no reader any more, or no space."""

import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.cli.delivery import EventLines
from fstui.cli.output import ReaderGone
from fstui.cli.watch import _follow, _watch
from fstui.model.host import Host
from fstui.model.storage import Target
from fstui.model.watch import WatchCounts, WatchedSecond, WatchEvent, WatchFinished, WatchReport, WatchStarted
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.watch import WatchInProgress
from tests.factories import screens
from tests.factories.storage import on_loop
from tests.factories.watched import SECOND

REPORT = WatchReport(started_at="", version="", host=Host(), total=SECOND, culprit="disk", sentence="")


class MadeUp(WatchInProgress):
    """A watch that begins and ends at once."""

    def __init__(self, reader: int = -1, *seconds: WatchCounts, target: Target | None = None) -> None:
        super().__init__(ReplayMachine(screens.RUN), target=target)
        self.reader, self.ended, self.seconds = reader, False, seconds

    async def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        try:
            yield WatchStarted(host=Host())
            for second in self.seconds:
                yield WatchedSecond(second=second)
            yield WatchFinished(report=REPORT)
            if self.reader >= 0:
                os.close(self.reader)
        finally:
            self.ended = True


async def test_a_reader_that_leaves_after_the_last_event_is_noticed() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, bytes(4096))

    async def start() -> WatchInProgress:
        return MadeUp(reading)

    with pytest.raises(ReaderGone):
        await _watch(start, None, "events", Path(f"/proc/self/fd/{writing}"))
    os.close(writing)


async def test_a_watch_ends_before_an_error_of_its_output_is_raised() -> None:
    watching = MadeUp()
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        await _follow(watching, None, EventLines(Path("/dev/full")))
    assert watching.ended


async def test_a_line_counts_no_flush_of_stacked_devices_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, disk = (replace(SECOND.devices[0], device=name, flushes=11) for name in ("loop0", "sda"))
    reading, writing = os.openpty()
    with os.fdopen(reading), os.fdopen(writing, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        await _follow(MadeUp(-1, replace(SECOND, devices=(loop, disk)), target=on_loop()), 1.0, None)
        assert os.read(reading, 4096).decode().rstrip().endswith("· 11.0 flushes/s")
