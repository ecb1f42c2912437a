"""The runs that were saved, newest first."""

from __future__ import annotations

from collections.abc import Coroutine

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container

from fstui.model.errors import Refused
from fstui.model.quantities import counted
from fstui.model.run import Run
from fstui.report.sections import Report, Section
from fstui.runs import history
from fstui.runs.history import Summary
from fstui.tui.commands import BACK, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing import history as drawing
from fstui.tui.drawing.cells import ends, line
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.page_screen import comparison_screen, report_screen
from fstui.tui.styles import HEAD
from fstui.tui.widgets.table import Rows, Table

LEAST_CHART, MOST_CHART = 7, 24
"""Lines."""
MOST_MARKED = 5
"""Beside which one more can be opened."""
NO_TREND = Report("", (Section(lines=("No scenario has finished twice on one filesystem yet.",)),), None)
NOTHING = "No run is saved that is shown here: Esc drops the filter, else run something first."


class HistoryScreen(BaseScreen):
    """One row per saved run; Enter opens its result, or compares it with the run that was chosen before."""

    KEYS = (
        Command("history.open", "enter", "open", "open", "The result of this run."),
        Command("history.compare", "c", "compare", "compare", "Put this run beside another: Enter on the other one."),
        Command("history.mark", "space", "mark", "", "One more to put beside the others, six at most."),
        Command("history.filter", "slash", "filter", "filter", "Only the runs that hold these words."),
        Command("history.trend", "t", "trend", "trend", "How each storage has done from run to run."),
        Command("history.note", "n", "note", "note", "Keep a line beside this run."),
        Command("history.delete", "d", "delete", "delete", "Remove this run for good; asks first."),
        HELP,
        BACK,
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
        self.table = Table(self._draw_runs, id="runs")
        self.against = against
        """The next run that is opened is put beside this one"""
        self.marked: list[Summary] = []
        """and beside these."""
        self.words = ""
        """Those that the rows hold."""
        self._every: list[Summary] = []
        self.rows: list[Summary] | None = None
        """None until they have been read."""
        self._unlisted = "Reading the saved runs …"
        self._read: dict[str, Run | None] = {}
        """Documents of runs that the cursor stood on, by their paths."""
        self._reading = False

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.table
        yield self.lines("nothing", self._draw_nothing)
        with Container(id="below"):
            yield self.lines("trend", self._draw_trend)
            yield self.lines("told", self._draw_told)
        yield self.lines("where", self._draw_where)
        yield self.footer_lines()

    def on_screen_resume(self) -> None:
        """List the runs again: another screen may have added one."""
        super().on_screen_resume()
        self.list_runs()

    @work(exclusive=True, group="list")
    async def list_runs(self) -> None:
        await self._list()

    async def _list(self) -> None:
        """Their disk may hang: a child reads them."""
        try:
            self._every = await history.listed()
            self.rows = history.matching(self._every, self.words)
        except (OSError, Refused) as trouble:
            self._unlisted = "The saved runs could not be read."
            self.say(str(trouble))
        self._show_rows()

    def _show_rows(self) -> None:
        self.table.refill()
        self._show_chosen()

    def on_data_table_row_highlighted(self) -> None:
        self._show_chosen()

    def _show_chosen(self) -> None:
        """Draw, and read what the cursor stands on now unless another is being read: that one is followed by this."""
        self.redraw()
        if not self._reading:
            self.read_chosen()

    @work(group="told")
    async def read_chosen(self) -> None:
        """Until the cursor stands on what has been read."""
        self._reading = True
        while (chosen := self.chosen) and chosen.path not in self._read and not chosen.unreadable:
            try:
                self._read[chosen.path] = (await history.find(chosen.path)).run
            except (OSError, Refused):
                self._read[chosen.path] = None  # the row says so already
            self.redraw()
        self._reading = False

    @property
    def chosen(self) -> Summary | None:
        return next((one for one in self.rows or () if one.path == self.table.chosen), None)

    def action_move(self, by: int) -> None:
        self.table.move(by)

    def action_scroll(self, by: int) -> None:
        self.action_move(by)

    @work(exclusive=True, group="read")
    async def action_open(self) -> None:
        """The chosen run's result, or the chosen one beside another."""
        if self.chosen is None:
            return
        beside = self.marked if self.chosen in self.marked else [*self.marked, self.chosen]
        try:
            runs = [await history.find(one.path) for one in beside]
        except (OSError, Refused) as trouble:
            self.say(str(trouble))
            return
        if not self.is_active:
            return
        found = [*([self.against] if self.against else []), *(saved.run for saved in runs)]
        if not self._comparing:
            run, path = runs[0].run, runs[0].path
            self.fstui.open_result(run, path, run.target.path if run.target else None)
        elif len({run.id for run in found}) < 2:
            self.say("That is the run itself: choose another one.")
        else:
            self.app.push_screen(comparison_screen(found))

    @property
    def _comparing(self) -> bool:
        return self.against is not None or bool(self.marked)

    def action_compare(self) -> None:
        if self._comparing:
            self.action_open()
        else:
            self.action_mark()

    def action_mark(self) -> None:
        """The next run that is opened is put beside the chosen one, and beside those that were chosen before."""
        if len(self.marked) >= MOST_MARKED:
            self.say(f"{MOST_MARKED + 1} runs are compared at most here: Enter does.")
        elif self.chosen and not self.chosen.unreadable and self.chosen not in self.marked:
            self.marked.append(self.chosen)
            self.redraw()

    async def action_filter(self) -> None:
        hint = "words of an id, a scenario, a target, a host, a verdict, a note"
        await self.ask_for(hint, value=self.words, typed=self._filter)

    def _filter(self, words: str) -> None:
        self.words = words
        self.rows = history.matching(self._every, words)
        self.table.choose(0)
        self._show_rows()

    async def action_note(self) -> None:
        if (chosen := self.chosen) and not chosen.unreadable:
            hint = f"a note for {chosen.id}; leave it empty to remove the note"
            await self.ask_for(hint, lambda words: self.change(history.note(chosen.path, words)), chosen.note)

    def action_trend(self) -> None:
        from fstui.report import history as saved  # noqa: PLC0415

        report = saved.of_trends(self.rows or [])
        self.app.push_screen(report_screen("trend", lambda _: report if report.sections else NO_TREND))

    async def action_delete(self) -> None:
        if (chosen := self.chosen) is None:
            return
        question = f"Delete {chosen.id or chosen.path} for good? The same key again does."
        if self._answered != question:
            self.say(question)
            return
        self.change(history.delete(chosen.path))

    @work(group="change")
    async def change(self, doing: Coroutine[None, None, None]) -> None:
        try:
            await doing
        except (OSError, Refused) as trouble:
            self.say(str(trouble))
        await self._list()

    async def go_back(self) -> None:
        if self.words:
            self.words = ""
            self.list_runs()
        elif self.marked:
            self.marked = []
            self.redraw()
        else:
            await super().go_back()

    def _draw_title(self, width: int, height: int) -> list[Text]:
        marked = ", ".join([*([self.against.id] if self.against else []), *(one.id for one in self.marked)])
        what = f"  compare {marked} with …" if marked else "  history"
        number = "" if self.rows is None else counted(len(self.rows), "saved run")
        number = f"“{self.words}” holds {number}" if self.words else number
        return [ends([" ", ("fstui", HEAD), what], number, width)]

    def _draw_runs(self, width: int) -> Rows:
        return drawing.rows(self.rows or (), width)

    def _draw_nothing(self, width: int, height: int) -> list[Text]:
        return [] if self.rows else [line(f"  {self._unlisted if self.rows is None else NOTHING}")]

    def _draw_trend(self, width: int, height: int) -> list[Text]:
        if (chosen := self.chosen) is None:
            return []
        others = drawing.elsewhere(self._every, chosen, width, height - LEAST_CHART)
        drawn = drawing.chart(self._every, chosen, width, min(height - len(others), MOST_CHART))
        return [*drawn, *others]

    def _draw_told(self, width: int, height: int) -> list[Text]:
        if (chosen := self.chosen) is None:
            return []
        return drawing.told(chosen, self._read.get(chosen.path), width, height)

    def _draw_where(self, width: int, height: int) -> list[Text]:
        return drawing.where(self.chosen, width) if self.chosen else [line()]
