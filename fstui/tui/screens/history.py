"""The runs that were saved, newest first."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult

from fstui.model import Run
from fstui.quantities import counted, plain
from fstui.state import runs
from fstui.tui.commands import BACK, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing.cells import Column, ends, heading, line, row, shown, window, wrapped
from fstui.tui.glyphs import HEAD, of_verdict
from fstui.tui.screens.face import Face
from fstui.tui.screens.reading import comparison_screen

COLUMNS = (
    Column("WHEN", 16, gap=0),
    Column("VERDICT", 11, gap=2),
    Column("SCENARIO", 14, gap=2),
    Column("TARGET", gap=2),
    Column("HOST", 12, gap=2, from_width=92),
)


class HistoryScreen(Face):
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
        self.rows: list[runs.Summary] = []
        self.selected = 0

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("runs", self._draw_runs, classes="rest")
        yield self.lines("where", self._draw_where)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.rows = runs.history()
        self.redraw()

    def action_move(self, by: int) -> None:
        self.selected = max(0, min(self.selected + by, len(self.rows) - 1))
        self.redraw()

    def action_scroll(self, by: int) -> None:
        self.action_move(by)

    def action_open(self) -> None:
        run = self._read()
        if run is None:
            return
        if self.against is None:
            self.fstui.open_result(run, self.rows[self.selected].path, run.target.path if run.target else None)
        elif run.id == self.against.id:
            self.say("That is the run itself: choose another one.")
        else:
            self.app.push_screen(comparison_screen([self.against, run]))

    def action_compare(self) -> None:
        if self.against is not None:
            self.action_open()
            return
        self.against = self._read()
        self.redraw()

    async def action_back(self) -> None:
        if self.against is not None and not self._opened_to_compare:
            self.against = None
            self.redraw()
        else:
            await self.fstui.action_back()

    def _read(self) -> Run | None:
        """The selected run; says why where it cannot be read."""
        if not self.rows:
            return None
        try:
            return runs.read(Path(self.rows[self.selected].path))
        except (runs.RunNotFound, runs.UnreadableRun) as trouble:
            self.say(plain(str(trouble)))
            return None

    def _draw_title(self, width: int, height: int) -> list[Text]:
        what = f"  compare {plain(self.against.id)} with …" if self.against else "  history"
        return [ends([" ", ("fstui", HEAD), what], counted(len(self.rows), "saved run"), width)]

    def _draw_runs(self, width: int, height: int) -> list[Text]:
        if not self.rows:
            return [line(), line("  No run is saved yet.")]
        columns = shown(COLUMNS, width - 4)
        rows = [_row(summary, columns, index == self.selected) for index, summary in enumerate(self.rows)]
        return [heading(columns, margin="   "), *window(rows, self.selected, height - 1)]

    def _draw_where(self, width: int, height: int) -> list[Text]:
        if not self.rows:
            return [line()]
        chosen = self.rows[self.selected]
        words = plain(chosen.unreadable) if chosen.unreadable else plain(chosen.path)
        return [line(part) for part in wrapped(words, width - 2, indent=" ")]


def _row(summary: runs.Summary, columns: tuple[Column, ...], selected: bool) -> Text:
    glyph, style = of_verdict(summary.verdict)
    remarks: list[str] = [] if summary.status in (None, "finished") else [summary.status]
    remarks += ["simulated"] * (summary.simulated is not None)
    values = {
        "WHEN": _moment(summary.started_at),
        "VERDICT": "unreadable" if summary.unreadable else summary.verdict or "",
        "SCENARIO": plain(summary.scenario),
        "TARGET": (f"({', '.join(remarks)}) " if remarks else "") + plain(summary.target or Path(summary.path).name),
        "HOST": plain(summary.hostname),
    }
    words = row(columns, values)
    return line(("▌" if selected else " ", HEAD), (f"{glyph} ", style), (words, HEAD if selected else ""))


def _moment(started_at: str) -> str:
    try:
        return datetime.fromisoformat(started_at).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""
