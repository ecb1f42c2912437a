"""What each program would lose if the power failed now, on one filesystem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import ItemGrid

from fstui.model.at_risk import AtRiskSecond
from fstui.model.storage import Target
from fstui.model.watch import WatchEvent
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT
from fstui.tui.drawing import at_risk as drawing
from fstui.tui.drawing.at_risk import RiskView
from fstui.tui.drawing.cells import paragraph, rule
from fstui.tui.iostats import RecentSamples
from fstui.tui.screens.watch import COLUMNS_KEPT_S, LiveWatchScreen

if TYPE_CHECKING:
    from fstui.runs.watch import WatchInProgress


_LEGEND = {
    "≤ BYTES": "≤ BYTES: bytes in the page cache and in the disk's cache that would be lost if the power failed now.",
    "≤ IN CACHE": "≤ IN CACHE: the part that may be in the disk's volatile cache, because no flush has followed.",
}
"""Sentences by the titles of the columns that they explain."""


class AtRiskScreen(LiveWatchScreen):
    """Files and the I/O path above, charts below."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012  Textual's own type
    KEYS = (BACK, HELP, QUIT, PAGE_UP, PAGE_DOWN)
    SCROLLED_PART = "files"
    HELP_TEXT = (
        f"{' '.join(_LEGEND.values())} A number of names: files that were created, renamed or linked in a directory "
        "that was not synced. If there are many, a program's files in one directory share a row. Paths start at the "
        "mount point. A bar compares the bytes with the largest row. OLDEST is the age of the oldest of these bytes or "
        "names. A program that syncs each write has no row. A database can restore its data files from its "
        "write-ahead log, so only the log matters. A line below the table names the file that a program syncs most "
        "often, and the O_DIRECT writes that may still be in the disk's cache. fstui reads no file and syncs nothing. "
        "More: 'fstui explain at-risk'."
    )

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.view = RiskView(target)
        self._recent = RecentSamples[drawing.Moment]()

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, _: [drawing.title(self.view, width)], classes="line")
        yield self.lines("total", lambda width, _: drawing.total(self.view, width), shrinks_late=True)
        with ItemGrid(id="both"):
            yield self.lines("files", self._draw_files, frame=True, shrinks_late=True)
            yield self.lines("path", self._draw_path, classes="huge", frame=True, shrinks_late=True)
        yield self.lines("minutes", self._draw_minutes, classes="rest", frame=True)
        yield self.footer_lines()

    async def start(self) -> WatchInProgress:
        return await self.fstui.session.watch_risk(directory=self.view.target.path)

    def apply(self, event: WatchEvent) -> None:
        if isinstance(event, AtRiskSecond):
            # after a while, a column without values is hidden again
            used = self.view.used_columns if round(event.second.elapsed_s) % COLUMNS_KEPT_S else {}
            self.view = RiskView(self.view.target, event.second, event.limits, event.unsafe, used)
            self._recent.add(event.second.elapsed_s - self._recent.end_s, drawing.moment_of(event.second))
            self.redraw()

    def _draw_files(self, width: int, height: int) -> list[Text]:
        top = [rule(width, "files and directories")] if self.part("files").has_frame else []
        return [*top, *drawing.rows(self.view, width, self.size.height // 4)]

    def _draw_minutes(self, width: int, height: int) -> Sequence[Text]:
        now = drawing.moment_of(self.view.state) if self.view.state else None
        return drawing.last_minutes(self._recent, now, width, height)

    def _draw_path(self, width: int, height: int) -> list[Text]:
        sentences = [sentence for title, sentence in _LEGEND.items() if title in self.view.used_columns]
        legend = [part for sentence in sentences for part in paragraph(sentence, width)]
        return [*drawing.path(self.view, width), *([rule(width, "how to read it"), *legend] if legend else [])]
