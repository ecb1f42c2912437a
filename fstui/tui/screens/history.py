"""The runs that were saved, newest first."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult

from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.quantities import counted
from fstui.session import history
from fstui.session.history import ALTERED, Saved, Summary
from fstui.tui.commands import BACK, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing.cells import Column, ends, heading, line, row, shown, window_of, wrapped
from fstui.tui.glyphs import HEAD, of_verdict
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.page_screen import comparison_screen

COLUMNS = (
    Column("WHEN", 16, gap=0),
    Column("VERDICT", 11, gap=2),
    Column("SLOW?", 7, gap=2, from_width=70),
    Column("SCENARIO", 14, gap=2),
    Column("TARGET", gap=2, cut="left"),
    Column("HOST", 12, gap=2, from_width=92),
)


class HistoryScreen(BaseScreen):
    """One row per saved run; Enter opens its result, or compares it with the run that was chosen before."""

    KEYS = (
        Command("history.open", "enter", "open", "open", "The result of this run."),
        Command("history.compare", "c", "compare", "compare", "Put this run beside another: Enter on the other one."),
        HELP,
        replace(BACK, action="back"),
        QUIT,
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "Every run is saved as one document. On the command line: fstui history, fstui show, fstui compare, and "
        "fstui judge, which judges a saved run again with today's rules."
    )

    def __init__(self, against: Run | None = None) -> None:
        super().__init__()
        self.against = against
        """The next run that is opened is put beside it."""
        self._opened_to_compare = against is not None
        self.rows: list[Summary] | None = None
        """None until they have been read."""
        self._unlisted = "Reading the saved runs …"
        self.selected = 0

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("runs", self._draw_runs, classes="rest")
        yield self.lines("where", self._draw_where)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.list_runs()

    @work(exclusive=True, group="list")
    async def list_runs(self) -> None:
        """Their disk may hang: a child reads them."""
        try:
            self.rows = await history.listed()
        except (OSError, Refused) as trouble:
            self._unlisted = "The saved runs could not be read."
            self.say(str(trouble))
        self.redraw()

    @property
    def chosen(self) -> Summary | None:
        """What the cursor is on."""
        return self.rows[self.selected] if self.rows else None

    def action_move(self, by: int) -> None:
        self.selected = max(0, min(self.selected + by, len(self.rows or ()) - 1))
        self.redraw()

    def action_scroll(self, by: int) -> None:
        self.action_move(by)

    @work(exclusive=True, group="read")
    async def action_open(self) -> None:
        """The chosen run's result, or the chosen one beside another."""
        saved = await self._read()
        if saved is None or not self.is_active:
            return
        run = saved.run
        if self.against is None:
            self.fstui.open_result(run, saved.path, run.target.path if run.target else None)
        elif run.id == self.against.id:
            self.say("That is the run itself: choose another one.")
        else:
            self.app.push_screen(comparison_screen([self.against, run]))

    def action_compare(self) -> None:
        if self.against is not None:
            self.action_open()
        else:
            self.choose_first()

    @work(exclusive=True, group="read")
    async def choose_first(self) -> None:
        """The next run that is opened is put beside the chosen one."""
        saved = await self._read()
        self.against = saved.run if saved else None
        self.redraw()

    async def action_back(self) -> None:
        if self.against is not None and not self._opened_to_compare:
            self.against = None
            self.redraw()
        else:
            await self.fstui.action_back()

    async def _read(self) -> Saved | None:
        """The chosen run; says why where it cannot be read."""
        if self.chosen is None:
            return None
        try:
            return await history.find(self.chosen.path)
        except (OSError, Refused) as trouble:
            self.say(str(trouble))
            return None

    def _draw_title(self, width: int, height: int) -> list[Text]:
        what = f"  compare {self.against.id} with …" if self.against else "  history"
        number = "" if self.rows is None else counted(len(self.rows), "saved run")
        return [ends([" ", ("fstui", HEAD), what], number, width)]

    def _draw_runs(self, width: int, height: int) -> list[Text]:
        if not self.rows:
            return [line(), line(f"  {self._unlisted if self.rows is None else 'No run is saved yet.'}")]
        rows, columns = self.rows, shown(COLUMNS, width - 4)

        def draw(at: int) -> Text:
            return _row(rows[at], columns, at == self.selected)

        return [heading(columns, margin="   "), *window_of(range(len(rows)), draw, self.selected, height - 1)]

    def _draw_where(self, width: int, height: int) -> list[Text]:
        if (chosen := self.chosen) is None:
            return [line()]
        words = chosen.unreadable or (f"{chosen.path}: {ALTERED}" if chosen.altered else chosen.path)
        return [line(part) for part in wrapped(words, width - 2, indent=" ")]


def _row(summary: Summary, columns: tuple[Column, ...], selected: bool) -> Text:
    glyph, style = of_verdict(summary.verdict)
    remarks: list[str] = [] if summary.status in (None, "finished") else [summary.status]
    remarks += ["simulated"] * (summary.simulated is not None) + ["altered"] * summary.altered
    values = {
        "WHEN": _moment(summary.started_at),
        "VERDICT": "unreadable" if summary.unreadable else summary.verdict or "",
        "SLOW?": summary.speed or "",
        "SCENARIO": summary.scenario,
        "TARGET": (f"({', '.join(remarks)}) " if remarks else "") + (summary.target or Path(summary.path).name),
        "HOST": summary.hostname,
    }
    words = row(columns, values)
    return line(("▌" if selected else " ", HEAD), (f"{glyph} ", style), (words, HEAD if selected else ""))


def _moment(started_at: str) -> str:
    try:
        return datetime.fromisoformat(started_at).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""
