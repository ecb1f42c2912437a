"""The saved runs, newest first."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import ClassVar

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.widget import Widget

from fstui.model.errors import Refused
from fstui.model.quantities import counted
from fstui.model.run import Run
from fstui.report.history import NO_TREND, repeated_series, trend_report
from fstui.runs import history
from fstui.runs.history import Summary
from fstui.tui.commands import BACK, COPY, HELP, LIST, QUIT, RECORDING, TREND, Command
from fstui.tui.drawing import history as drawing
from fstui.tui.drawing.cells import MIN_FRAME_WIDTH, line, paragraph, title_line
from fstui.tui.drawing.result import SHORT_LINES
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.page_screen import comparison_screen
from fstui.tui.widgets.table import DrawnTable, TableContent

MAX_COMPARED = 6
_MAX_SHORT_LINES = SHORT_LINES + 3
"""With the title, the verdict and the speed above the explanation."""
NO_RUN = "No run is saved yet. Run a scenario first."
NO_MATCH = "No saved run matches the filter. Press / to change it."


class HistoryScreen(BaseScreen):
    """A row for each saved run. Enter opens its result, or compares it with the runs that were marked."""

    KEYS: ClassVar[tuple[Command, ...]] = (
        Command("history.open", "enter", "open", "open", "Show the result of this run."),
        Command("history.compare", "c", "compare", "compare", "Compare this run with the next one that you open."),
        Command("history.mark", "space", "mark", "", f"Mark this run for a comparison of at most {MAX_COMPARED} runs."),
        Command("history.filter", "slash", "filter", "filter", "Show only the runs that contain the words you type."),
        TREND,
        Command("history.note", "n", "note", "note", "Save a note with this run."),
        RECORDING,
        Command("history.delete", "d", "delete", "delete", "Delete this run, after a confirmation."),
        HELP,
        BACK,
        QUIT,
        *LIST,
    )
    NAME = "history"
    DOUBLE_CLICK_ACTION = "open"
    SCROLLED_PART = "selected"
    HELP_TEXT = (
        "Every run is saved as one document. On the command line: fstui history, fstui show, fstui compare. "
        "× PRIOR: the rate divided by the median of the earlier runs with the same scenario, settings and target. "
        "'fstui show --again' judges a saved run again with the rules of this version."
    )

    def __init__(self, compared_run: Run | None = None) -> None:
        super().__init__()
        self.table = DrawnTable(self._draw_rows, id="runs")
        self.table.border_title = "saved runs"
        self.compared_run = compared_run
        self.marked: list[Summary] = []
        self.filter_text = ""
        self.shows_all_evidence = False
        """Whether all of the evidence is shown, because the user scrolls it."""
        self.rows: list[Summary] | None = None
        self._all_runs: list[Summary] = []
        self._empty_text = "Reading the saved runs …"
        self._documents: dict[str, Run | None] = {}
        """The documents read so far, by path; None for one that cannot be read."""
        self._is_reading = False
        self._sort = "WHEN"

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.table
        yield self.lines("empty", self._draw_empty_message)
        yield self.lines("selected", self._draw_selected, frame=True)
        yield self.lines("file", self._draw_file)
        yield self.footer_lines()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.list_runs()  # another screen may have saved one

    @work(exclusive=True, group="list")
    async def list_runs(self) -> None:
        await self._list()

    async def _list(self) -> None:
        with self.fstui.reporting():
            self._all_runs = await history.summaries()
            if (run := self.compared_run) and self.rows is None:
                scenario = run.scenario.name if run.scenario else None
                directory = run.target.path if run.target else None
                self.table.choose(_counterpart(self._all_runs, run.id, run.started_at, scenario, directory))
            self.rows = history.matches(self._all_runs, self.filter_text)
        if self.rows is None:
            self._empty_text = "The saved runs could not be read."
        self._show_rows()

    def on_data_table_header_selected(self, selected: DrawnTable.HeaderSelected) -> None:
        self._sort = self.table.titles[selected.column_index]
        self._show_rows()

    def _show_rows(self) -> None:
        self.rows = drawing.sorted_by(self.rows, self._sort) if self.rows else self.rows
        self.table.refill()
        self._show_chosen()

    def action_scroll(self, lines: int) -> None:
        """Scroll the selected run. If its explanation is short, the first key press shows the complete one."""
        becomes_complete = not self.shows_all_evidence and self.part("selected").size.height <= _MAX_SHORT_LINES
        self.shows_all_evidence = True
        super().action_scroll(0 if becomes_complete else lines)

    def on_data_table_row_highlighted(self) -> None:
        self.shows_all_evidence = False
        self.part("selected").scroll_to_top()
        self._show_chosen()

    def _show_chosen(self) -> None:
        self.redraw()
        if not self._is_reading:
            self.read_chosen()

    @work(group="document")
    async def read_chosen(self) -> None:
        """Read the document of the selected run. Repeat this if another run was selected before it was read."""
        self._is_reading = True
        while (chosen := self.chosen) and chosen.path not in self._documents and not chosen.unreadable:
            try:
                self._documents[chosen.path] = (await history.find(chosen.path)).run
            except (OSError, Refused):
                self._documents[chosen.path] = None  # the row already shows the reason
            self.redraw()
        self._is_reading = False

    @property
    def chosen(self) -> Summary | None:
        return next((run for run in self.rows or () if run.path == self.table.chosen_key), None)

    @work(exclusive=True, group="read")
    async def action_open(self) -> None:
        if self.chosen is None:
            return
        summaries = self.marked if self.chosen in self.marked else [*self.marked, self.chosen]
        saved: list[history.SavedRun] = []
        with self.fstui.reporting():
            saved = [await history.find(summary.path) for summary in summaries]
        if not saved or not self.is_active:
            return
        runs = [*([self.compared_run] if self.compared_run else []), *(entry.run for entry in saved)]
        if not self._is_comparing:
            self.fstui.open_saved(saved[0])
        elif len({run.id for run in runs}) < 2:
            self.say("This is the same run. Choose another one.")
        else:
            self.marked, self.compared_run = [], None  # the next Enter opens a run
            self.app.push_screen(comparison_screen(runs, self.size.height))

    @property
    def _is_comparing(self) -> bool:
        return self.compared_run is not None or bool(self.marked)

    def footer_commands(self) -> Iterable[Command]:
        """Omit the palette on a narrow screen, so that more of the screen's own keys are shown."""
        commands = self.KEYS if self.size.width < MIN_FRAME_WIDTH else super().footer_commands()
        if not self._is_comparing:
            return commands
        others = (command for command in commands if command.id not in ("history.open", "history.compare"))
        return replace(self.KEYS[0], label="compare"), *others

    def action_compare(self) -> None:
        if self._is_comparing:
            self.action_open()
        elif (chosen := self.chosen) and not chosen.unreadable:
            self.action_mark()
            others = self.rows or ()
            self.table.choose(_counterpart(others, chosen.id, chosen.started_at, chosen.scenario, chosen.target))

    def action_mark(self) -> None:
        if len(self.marked) >= MAX_COMPARED - 1:
            self.say(f"At most {MAX_COMPARED} runs can be compared. Press Enter to compare them.")
        elif self.chosen and not self.chosen.unreadable and self.chosen not in self.marked:
            self.marked.append(self.chosen)
            self._show_rows()

    async def action_filter(self) -> None:
        hint = "words in the id, scenario, target, host, verdict or note"
        await self.open_prompt(hint, value=self.filter_text, change=self._filter)

    def _filter(self, text: str) -> None:
        self.filter_text = text
        self.rows = history.matches(self._all_runs, text)
        self.table.choose(0)
        self._show_rows()

    async def action_note(self) -> None:
        if (chosen := self.chosen) and not chosen.unreadable:
            hint = f"a note for {chosen.id}; leave it empty to remove the note"
            await self.open_prompt(hint, lambda note: self.change(history.save_note(chosen.path, note)), chosen.note)

    def action_trend(self) -> None:
        if self.rows is None or repeated_series(self.rows):
            self.app.push_screen(TrendScreen(self.filter_text))
        else:
            self.say(NO_TREND)

    async def action_delete(self) -> None:
        if (chosen := self.chosen) is None:
            return
        question = f"Delete {chosen.id or chosen.path} permanently? Press {self.key_of('delete')} again to delete it."
        if self._just_closed != question:
            self.ask(question)
            return
        self.change(history.delete(chosen.path))

    @work(group="change")
    async def change(self, change: Coroutine[None, None, None]) -> None:
        with self.fstui.reporting():
            await change
        await self._list()

    async def go_back(self) -> None:
        if self.filter_text:
            self.filter_text = ""
            self.list_runs()
        elif self.marked:
            self.marked = []
            self._show_rows()
        else:
            await super().go_back()

    @property
    def _marked_ids(self) -> list[str]:
        return [run.id for run in (self.compared_run, *self.marked) if run]

    @property
    def _number_text(self) -> str:
        return counted(len(self.rows or ()), "saved run")

    @property
    def _has_notes(self) -> bool:
        """Whether a table shows the notes."""
        return "NOTE" in self.table.titles

    def _draw_rows(self, width: int) -> TableContent:
        return drawing.rows(self.rows or (), self._all_runs, self._marked_ids, width)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        name = f"compare {', '.join(self._marked_ids)} with …" if self._is_comparing else self.NAME
        number = "" if self.rows is None else self._number_text
        number = f"“{self.filter_text}”: {number}" if self.filter_text else number
        return [title_line(name, "", number, width)]

    def _draw_empty_message(self, width: int, height: int) -> list[Text]:
        if self.rows:
            return []
        return [line(f"  {self._empty_text if self.rows is None else NO_MATCH if self.filter_text else NO_RUN}")]

    def _draw_selected(self, width: int, height: int) -> list[Text]:
        chosen = self.chosen
        run = self._documents.get(chosen.path) if chosen else None
        return drawing.selected_run(chosen, run, width, height, all_evidence=self.shows_all_evidence) if chosen else []

    def _draw_file(self, width: int, height: int) -> list[Text]:
        if self._is_comparing:
            return [drawing.marked_line(run, width) for run in self._all_runs if run.id in self._marked_ids]
        return drawing.note_lines(self.chosen, width, in_table=self._has_notes) if self.chosen else [line()]


def _counterpart(
    runs: Iterable[Summary], run_id: str, started_at: str, scenario: str | None, directory: str | None
) -> str | None:
    """Return the path of the run to compare a run with: the run before, if possible of its scenario and directory."""
    others = [run for run in runs if run.id != run_id and not run.unreadable]
    others.sort(key=lambda run: run.started_at, reverse=True)
    others.sort(key=lambda run: (run.scenario != scenario, run.target != directory, run.started_at > started_at))
    return others[0].path if others else None


class TrendScreen(HistoryScreen):
    """A row for each series of runs, and a bar for each run of the selected series. Enter opens the selected run."""

    KEYS = (
        HistoryScreen.KEYS[0],
        Command("trend.earlier", "left", "choose_run(-1)", "run", "Select the run before this one.", shown_as="←→"),
        Command("trend.later", "right", "choose_run(1)", "", "Select the run after this one."),
        *(command for command in HistoryScreen.KEYS[1:] if command is not TREND),
        COPY,
    )
    HELP_TEXT = (
        "A series is at least two finished runs of one scenario with the same settings on one filesystem, without "
        "--max-rate or --idle. CHANGE is the last rate divided by the first. OLD→NEW draws the rates of the last "
        "seven runs on a logarithmic scale. Below are the runs of the selected series, the newest first: with bars "
        "from 0, or on a larger screen with a chart of each step by date. On the command line: fstui history trend."
    )
    NAME = "trend"

    def __init__(self, filter_text: str) -> None:
        super().__init__()
        self.table.border_title = "series of runs"
        self.filter_text = filter_text
        self._series: list[list[Summary]] = []
        self._run_indexes: dict[str, int] = {}
        """The index of the selected run of a series, from its end, by the path of its last run."""

    def compose(self) -> Iterable[Widget]:
        for part in super().compose():
            if part.id == "selected":
                yield self.lines("trend", self._draw_trend, frame=True)
            yield part

    @property
    def chosen(self) -> Summary | None:
        runs, index = self._chosen_series, self._run_indexes.get(self.table.chosen_key or "", -1)
        return runs[max(index, -len(runs))] if runs else None

    @property
    def _chosen_series(self) -> list[Summary]:
        return next((runs for runs in self._series if runs[-1].path == self.table.chosen_key), [])

    def _show_rows(self) -> None:
        self._series = repeated_series(self.rows or ())
        super()._show_rows()

    def action_choose_run(self, offset: int) -> None:
        if chosen := self.chosen:
            runs = self._chosen_series
            index = runs.index(chosen) - len(runs) + offset
            self._run_indexes[runs[-1].path] = max(min(index, -1), -len(runs))
            self._show_chosen()

    def action_choose_row(self, part: str, row: int) -> None:
        """Select the clicked run."""
        self._run_indexes[self._chosen_series[-1].path] = -1 - row
        self._show_chosen()

    def action_trend(self) -> None:
        """Do nothing: this screen is the trend."""

    def action_copy(self) -> None:
        sections = trend_report(self.rows or ()).sections
        self.copy("\n\n".join("\n".join((section.title, *section.lines)) for section in sections))

    @property
    def _number_text(self) -> str:
        return f"{len(self._series)} series"

    @property
    def _has_notes(self) -> bool:
        return not self.has_class("-narrow")

    def _draw_rows(self, width: int) -> TableContent:
        return drawing.series_rows(self._series, width)

    def _draw_empty_message(self, width: int, height: int) -> list[Text]:
        return [] if self._series else paragraph(self._empty_text if self.rows is None else NO_TREND, width, "  ")

    def _draw_trend(self, width: int, height: int) -> list[Text]:
        chosen = self.chosen
        if chosen is None:
            return []
        return drawing.trend(self._chosen_series, self._all_runs, chosen, width, height)
