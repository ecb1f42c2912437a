"""Watches whose output has no reader any more, or no space."""

import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from fstui.cli.delivery import EventLines
from fstui.cli.output import ReaderGone
from fstui.cli.watch import _follow, _watch
from fstui.model.host import Host
from fstui.model.watch import WatchEvent, WatchFinished, WatchReport, WatchStarted
from fstui.runs.watch import Watching
from tests.factories.watched import SECOND

REPORT = WatchReport(started_at="", version="", host=Host(), total=SECOND, culprit="disk", sentence="")


class MadeUp(Watching):
    """A watch that begins and ends at once."""

    def __init__(self, reader: int = -1) -> None:
        self.reader, self.ended = reader, False

    async def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        try:
            yield WatchStarted(host=Host())
            yield WatchFinished(report=REPORT)
            os.close(self.reader)
        finally:
            self.ended = True


async def test_a_reader_that_leaves_after_the_last_event_is_noticed() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, bytes(4096))

    async def start() -> Watching:
        return MadeUp(reading)

    with pytest.raises(ReaderGone):
        await _watch(start, None, "events", Path(f"/proc/self/fd/{writing}"))
    os.close(writing)


async def test_a_watch_ends_before_an_error_of_its_output_is_raised() -> None:
    watching = MadeUp()
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        await _follow(watching, None, EventLines(Path("/dev/full")))
    assert watching.ended
