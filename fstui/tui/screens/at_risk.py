"""What each program would lose if the power failed now, on one filesystem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container

from fstui.model.at_risk import AtRiskSecond
from fstui.model.storage import Target
from fstui.model.watch import WatchEvent
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT
from fstui.tui.drawing import at_risk as drawing
from fstui.tui.drawing.cells import rule
from fstui.tui.screens.watch import FollowingScreen

if TYPE_CHECKING:
    from fstui.runs.watch import Watching


class AtRiskScreen(FollowingScreen):
    """Files above, programs below. Esc ends it."""

    KEYS = (BACK, HELP, QUIT, PAGE_UP, PAGE_DOWN)
    SCROLLED = "files"
    HELP_TEXT = (
        "What each program would lose if the power failed now, on this filesystem. ≤ UNWRITTEN: dirty bytes in the "
        "page cache, or names of files that were created, renamed or linked in a directory that was not synced: they "
        "may be missing after a crash. ≤ IN CACHE: bytes that the disk's volatile cache may still hold, because the "
        "disk has not been flushed since. The files of a program in one directory share a row. The bar shows their "
        "bytes relative to the largest row. OLDEST is the age of the oldest of these bytes or names. A program that "
        "syncs each write has no row. For a database with a write-ahead log, only its log matters. NOTE: the bytes in "
        "the file that the program syncs most, usually its log, and the O_DIRECT writes that may still be in the "
        "disk's cache. fstui reads no file and syncs nothing. See the page at-risk."
    )

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.view = drawing.RiskView(target)

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, _: [drawing.title(self.view, width)], classes="line")
        yield self.lines("total", lambda width, _: drawing.total(self.view, width))
        with Container(id="both"):
            yield self.lines("files", self._draw_files, classes="rest", frame=True)
            yield self.lines("programs", lambda width, height: drawing.programs(self.view, width, height), frame=True)
        yield self.footer_lines()

    async def start(self) -> Watching:
        return await self.fstui.session.watch_risk(directory=self.view.target.path)

    def apply(self, event: WatchEvent) -> None:
        if isinstance(event, AtRiskSecond):
            self.view = drawing.RiskView(self.view.target, event.second, event.limits)
            self.redraw()

    def _draw_files(self, width: int, height: int) -> list[Text]:
        top = [rule(width, "files and directories")] if self.part("files").has_frame else []
        return [*top, *drawing.rows(self.view, width)]
