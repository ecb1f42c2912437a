"""What each program would lose if the power failed now, on one filesystem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container

from fstui.model.at_risk import AtRiskSecond
from fstui.model.storage import Target
from fstui.model.watch import WatchEvent
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT
from fstui.tui.drawing import at_risk as drawing
from fstui.tui.drawing.cells import paragraph, rule
from fstui.tui.iostats import RecentSamples
from fstui.tui.screens.watch import FollowingScreen
from fstui.tui.widgets.lines import UNBOUNDED, Draw

if TYPE_CHECKING:
    from fstui.runs.watch import Watching


class AtRiskScreen(FollowingScreen):
    """Files and programs above, charts below."""

    KEYS = (BACK, HELP, QUIT, PAGE_UP, PAGE_DOWN)
    SCROLLED_PART = "files"
    HELP_TEXT = (
        "What each program would lose if the power failed now, on this filesystem. ≤ UNWRITTEN: dirty bytes in the "
        "page cache, or names of files that were created, renamed or linked in a directory that was not synced: they "
        "may be missing after a crash. ≤ IN CACHE: bytes that the disk's volatile cache may still hold, because the "
        "disk has not been flushed since they were written. The files of a program in one directory share a row. The "
        "bar shows their bytes relative to the largest row. OLDEST is the age of the oldest of these bytes or names. A "
        "program that syncs each write has no row. For a database with a write-ahead log, only its log matters. NOTE: "
        "bytes in the file that the program syncs most often, usually its log, and O_DIRECT writes that may still be "
        "in the disk's cache. fstui reads no file and syncs nothing. See the page at-risk."
    )

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.view = drawing.RiskView(target)
        self._recent = RecentSamples[drawing.Moment]()
        self._max_heights: dict[str, int] = {}
        """The height of each table. It never decreases, because each change of a height repaints the screen."""

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, _: [drawing.title(self.view, width)], classes="line")
        yield self.lines("total", lambda width, _: drawing.total(self.view, width))
        with Container(id="both"):
            yield self.lines(
                "files",
                self._draw_files,
                classes="rest",
                full_height=lambda: self._height_of("files", self._draw_files),
                frame=True,
            )
            yield self.lines(
                "programs",
                self._draw_programs,
                full_height=lambda: self._height_of("programs", self._draw_programs),
                frame=True,
            )
        with Container(id="below"):
            yield self.lines("minutes", self._draw_minutes, classes="rest", frame=True)
            yield self.lines("about", self._draw_about, classes="huge", frame=True)
        yield self.footer_lines()

    async def start(self) -> Watching:
        return await self.fstui.session.watch_risk(directory=self.view.target.path)

    def apply(self, event: WatchEvent) -> None:
        if isinstance(event, AtRiskSecond):
            self.view = replace(self.view, state=event.second, caveats=event.limits)
            moment = drawing.moment_of(event.second)
            self._recent.add(event.second.elapsed_s - self._recent.end_s, moment)
            self.redraw()

    def _draw_files(self, width: int, height: int) -> list[Text]:
        top = [rule(width, "files and directories")] if self.part("files").has_frame else []
        return [*top, *drawing.rows(self.view, width)]

    def _draw_programs(self, width: int, height: int) -> list[Text]:
        return drawing.programs(self.view, width, height)

    def _height_of(self, name: str, draw: Draw) -> int:
        part = self.part(name)
        width = (part.size.width or self.size.width) - 2 * part.has_frame
        self._max_heights[name] = max(self._max_heights.get(name, 0), len(draw(width, UNBOUNDED)))
        return max(self._max_heights.values()) if self.has_class("-huge") else self._max_heights[name]

    def _draw_minutes(self, width: int, height: int) -> Sequence[Text]:
        return drawing.last_minutes(self._recent, width, height)

    def _draw_about(self, width: int, height: int) -> list[Text]:
        sentences = (f"{sentence}." for sentence in self.HELP_TEXT.removesuffix(".").split(". "))
        return [rule(width, "how to read it"), *(part for sentence in sentences for part in paragraph(sentence, width))]
