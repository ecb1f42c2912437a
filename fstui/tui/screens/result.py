"""The result screen, for a new run or a saved one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from fstui.model.judgement import TOO_SLOW, Finding
from fstui.model.quantities import counted
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import comparison, formats, replicas
from fstui.report.findings import ordered
from fstui.report.io_path import shown_step
from fstui.report.io_path import title as path_title
from fstui.tui.commands import BACK, COPY, HELP, HISTORY, LIST, PALETTE, QUIT, Command
from fstui.tui.drawing import result as drawing
from fstui.tui.drawing.cells import MIN_FRAME_WIDTH, Card, draw_frame, line, paragraph
from fstui.tui.drawing.latency import timeline
from fstui.tui.drawing.report import IO_PATH, Detail, card_lines, details
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import FAINT, HEAD
from fstui.tui.widgets.lines import UNBOUNDED

MAP_LINES = 14
_NARROW, _SHORT_TABLE_LINES = 80, 3
_MIN_SECTION_LINES = 6
"""A section is cut to fill the empty part of a frame, but not to fewer lines than this."""
_CONTINUATION = " " * 13
"""The second and the following lines of a labelled point begin with it."""


class ResultScreen(BaseScreen):
    """The verdict, the findings and the steps. The explanation of the selected row is above them."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-middle"), (36, "-high")]  # noqa: RUF012  Textual's own type
    KEYS = (
        Command("result.again", "r", "again", "again", "Repeat the run on the same directory."),
        Command("result.explain", "x", "explain", "explain", "Explain the rule of the selected or the first finding."),
        Command("result.compare", "c", "compare", "compare", "Compare with another saved run."),
        Command("result.powercut", "w", "power_cut", "power cut", "Test this storage with a power cut."),
        HISTORY,
        Command("result.export", "e", "export", "export", "Write one file per format. The first press names them."),
        replace(COPY, help="Copy a short summary (OSC 52). Y copies the whole result."),
        Command("result.markdown", "Y", "copy_markdown", "", "Copy the whole result as Markdown, for a ticket."),
        Command("result.view", "v", "view", "", "Show the selected row on a page of its own."),
        Command("result.open", "enter", "open", "", "Show the row on its own page. The first time, press Enter twice."),
        HELP,
        BACK,
        replace(QUIT, label=""),
        *LIST,
    )
    DOUBLE_CLICK_ACTION = "view"
    SHOWS_RUN = True
    HELP_TEXT = (
        "The verdict covers the measured seconds and is not proof: only power cuts show whether acknowledged data "
        "survives. The line below the verdict says whether the storage is slow. Select a finding, a step or a section "
        "to see its explanation at the top. The sections are: changes since the previous run, if any; the I/O path, "
        "with the requests that were passed on and dropped; why the storage is slow or not; tables of databases; and "
        "a comparison with published rates. Enter shows the selected row on a page of its own (the first time, press "
        "Enter twice). FLUSH/SYNC is the number of flushes per requested sync at the devices that the verdict is "
        "about. W-AMP (write amplification) is the number of bytes that arrived there per byte written; it is less "
        "than 1.00 if several writes of one block arrived as one. The heading of P99 OVER TIME shows the scale of all "
        "curves. * marks the steps that the verdict is based on, unless it is based on all steps."
    )

    def __init__(
        self,
        run: Run,
        saved_to: str | None,
        directory: str | None,
        save_error: str | None = None,
        repeated_run: Run | None = None,
        *,
        from_history: bool = False,
    ) -> None:
        """``repeated_run``: the run that this run repeats. ``from_history``: the title says "saved run"."""
        super().__init__()
        self.result = run
        self.saved_to = saved_to
        self.directory = directory
        self.save_error = save_error
        self.findings = list(ordered(run))
        self.repeated_run = repeated_run
        self.from_history = from_history
        self.details = details(run, repeated_run)
        answers = (index for index, row in enumerate(self.rows) if isinstance(row, Detail) and row.answers)
        self.selected = next(answers, 0)
        table = self.chosen if isinstance(self.chosen, Detail) and self.chosen.is_table else None
        self.set_class(table is not None, "-table")
        self.set_class(table is not None and len(table.draw(_NARROW)) <= _SHORT_TABLE_LINES, "-short")
        self.set_class(replicas.headline(run) is not None, "-replicas")
        self.shows_all_evidence = False
        """Whether all of the evidence is shown, because the user scrolls it."""
        self._enter_confirmed = False

    def compose(self) -> ComposeResult:
        yield self.lines(
            "title", lambda width, _: [drawing.title(self.result, width, is_saved=self.from_history)], classes="line"
        )
        power_cut = "power cut: press r, then p" if self.result.simulated else "power-cut test: press w"
        yield self.lines(
            "verdict", lambda width, height: [drawing.verdict(self.result, width, power_cut)], classes="line"
        )
        yield self.lines("speed", lambda width, height: drawing.speed(self.result, width))
        with Horizontal(id="answer"):
            with Vertical(id="words"):
                yield self.lines("detail", self._draw_detail, frame=True)
                yield self.lines("path", self._draw_io_path, frame=True)
            yield self.lines("picture", self._draw_picture, classes="wide", frame=True)
        yield self.lines("findings", self._draw_findings, frame=True)
        yield self.lines("steps", self._draw_steps, frame=True)
        yield self.lines("saved", self._draw_saved, classes="line")
        yield self.footer_lines()

    def footer_commands(self) -> Iterable[Command]:
        """Omit what a simulated run cannot do: a power cut and, if it is not saved, a comparison."""
        useless = {"result.powercut"} if self.result.simulated else set()
        useless |= {"result.compare"} if self.result.simulated and self.saved_to is None else set()
        own = (command for command in self.KEYS if command.id not in useless)
        return own if self.size.width < MIN_FRAME_WIDTH else (*own, PALETTE)

    def on_mount(self) -> None:
        if self.repeated_run is not None:
            self.say(comparison.headline(self.repeated_run, self.result))

    @property
    def rows(self) -> list[Finding | Step | Detail]:
        return [*self.findings, *self.result.steps, *self.details]

    @property
    def chosen(self) -> Finding | Step | Detail | None:
        return self.rows[self.selected] if self.rows else None

    def action_move(self, offset: int) -> None:
        self.selected = max(0, min(self.selected + offset, len(self.rows) - 1))
        self.shows_all_evidence = False
        self.part("detail").scroll_to_top()
        self.redraw()

    def action_choose_row(self, part: str, row: int) -> None:
        """Select a row. The findings and the steps are one list, drawn in two parts."""
        super().action_choose_row(part, row + (len(self.findings) if part == "steps" else 0))

    def action_scroll(self, lines: int) -> None:
        """Scroll the explanation. If it is short, the first key press shows the complete one."""
        detail = self.part("detail")
        becomes_complete = not self.shows_all_evidence and detail.size.height <= drawing.SHORT_LINES
        self.shows_all_evidence = True
        detail.scroll_lines(0 if becomes_complete else lines)

    def action_copy(self) -> None:
        self._copy("brief")

    def action_copy_markdown(self) -> None:
        self._copy("markdown")

    def _copy(self, format_: str) -> None:
        self.copy(str(formats.render(format_, self.result, self.saved_to)))

    def action_export(self) -> None:
        files = formats.files(self.result)
        first, *others = files
        names = ", ".join((first, *(Path(name).suffix for name in others)))
        key = self.key_of("export")
        question = f"Press {key} again to write {counted(len(files), 'file')} into {self.fstui.cwd}: {names}."
        if self._just_closed != question:
            self.ask(question)
        else:
            self.fstui.save_files(files)

    @work(exclusive=True, group="again")
    async def action_again(self) -> None:
        self.say("Checking the directory …")
        if trouble := await self.fstui.run_again(self.result, self.directory):
            self.say(trouble)

    def action_power_cut(self) -> None:
        if self.directory is None or self.result.target is None:
            self.say("The saved run does not record the directory that was measured.")
        else:
            self.fstui.open_power_cut(self.directory, self.result.target, {})

    def action_compare(self) -> None:
        from fstui.tui.screens.history import HistoryScreen  # noqa: PLC0415

        self.app.push_screen(HistoryScreen(compared_run=self.result))

    def action_explain(self) -> None:
        from fstui.runs.rules import has_page  # noqa: PLC0415
        from fstui.tui.screens.page_screen import explain_screen  # noqa: PLC0415

        finding = self.chosen if isinstance(self.chosen, Finding) else next(iter(self.findings), None)
        explained = self.chosen if isinstance(self.chosen, Detail) and self.chosen.page else finding
        page = explained.page if isinstance(explained, Detail) else explained.rule if explained else ""
        if not page:
            self.say("This run has no finding, so there is no rule to explain.")
        elif not has_page(page):
            self.say(f"This version has no rule {page}. Judge the run again with fstui show --again.")
        else:
            draw = partial(self._explanation, explained, height=UNBOUNDED)
            shown = explained.finding if isinstance(explained, Detail) else explained
            says_next = bool(shown and shown.next)
            self.app.push_screen(explain_screen(page, draw, says_next=says_next))

    def action_open(self) -> None:
        """Open the selected row, but not at the first key press, which may have been meant for the run screen."""
        if self._enter_confirmed:
            self.action_view()
        else:
            self._enter_confirmed = True
            self.say("Press Enter again to see the selected row on its own page.")

    def action_view(self) -> None:
        from fstui.tui.screens.page_screen import PageScreen  # noqa: PLC0415

        run, chosen = self.result, self.chosen
        name = _title_of(chosen)

        def draw(width: int) -> list[Text]:
            title = chosen.title if isinstance(chosen, Finding) else ""
            repeats_name = title.replace(" ", "-") in name  # as in "barriers off"
            lines = [] if repeats_name else paragraph(title, width, style=HEAD)
            return [*lines, *self._explanation(chosen, width, UNBOUNDED)]

        def steps(width: int) -> list[Text]:
            has_frame = width >= MIN_FRAME_WIDTH
            lines = drawing.steps(run, (), None, width - 2 * has_frame, UNBOUNDED)
            return draw_frame(lines, width, len(lines) + 1) if has_frame else lines

        def head(width: int) -> list[Text]:
            return [drawing.verdict(run, width, ""), *drawing.speed(run, width)]

        cards: list[Card] = [("", head), (name, draw)]
        cards.append(("", steps))
        map_lines = max(MAP_LINES, self.size.height * 2 // 5)
        if step := self._pictured_step:
            cards.append((f"latency: {step.name}", lambda width: drawing.picture(run, step, width, map_lines)[1:]))
        cards += map(self._card, self._others)
        subject = f"{run.scenario_name} on {run.target_path} · {drawing.started(run)}"
        self.app.push_screen(PageScreen("result", cards, subject, pairs=len(self._others), is_panel=False))

    def _draw_detail(self, width: int, height: int) -> list[Text]:
        if height != UNBOUNDED:  # the rows of sections show which sections are open
            self.call_after_refresh(self.part("steps").redraw)
        return [part for _, lines in self._sections(width, height) for part in lines]

    def _sections(self, width: int, height: int) -> Iterator[tuple[str, list[Text]]]:
        """Yield the explanation of the selected row and those that fit below it: title, lines.

        The I/O path has a frame of its own.
        """
        title, has_frame = _title_of(self.chosen), self.part("detail").has_frame
        shown = self._explanation(self.chosen, width, UNBOUNDED if self.shows_all_evidence else height - has_frame)
        lines = card_lines((title, lambda width: shown), width) if has_frame else shown
        left = height - len(lines)
        yield title, lines
        for row in self._others if has_frame else ():
            section = card_lines(self._card(row), width)
            if _title_of(row).startswith(IO_PATH) or left < min(len(section), _MIN_SECTION_LINES):
                continue
            if len(section) > left:
                shown_lines = left - 1
                while section[shown_lines].plain.startswith(_CONTINUATION):  # do not cut within a point
                    shown_lines -= 1
                section[shown_lines:] = [line((f"   … {len(section) - shown_lines} more", FAINT))]
            left -= len(section)
            yield _title_of(row), section

    def _open_titles(self) -> set[str]:
        """Return the titles of the sections that are visible, even if their ends are cut."""
        detail = self.part("detail")
        width, height = detail.size.width - 2 * detail.has_frame, detail.size.height - detail.has_frame
        titles = {title for title, _ in self._sections(width, height)}
        return titles | ({path_title(step)} if (step := self._path_step) and self.part("path").size.height else set())

    @property
    def _others(self) -> list[Finding | Detail]:
        """The finding that the verdict is based on and all details, except the selected one."""
        rows: list[Finding | Detail] = [*self.findings[:1], *self.details]
        return [row for row in rows if row is not self.chosen]

    def _card(self, row: Finding | Detail) -> Card:
        return _title_of(row), partial(self._explanation, row, height=UNBOUNDED)

    @property
    def _step(self) -> Step | None:
        chosen = self.chosen
        if isinstance(chosen, Step) and timeline(chosen):
            return chosen
        if isinstance(chosen, Detail) and chosen.step:
            return chosen.step
        return drawing.step_of_finding(self.result, chosen if isinstance(chosen, Finding) else None)

    @property
    def _pictured_step(self) -> Step | None:
        """The step whose latency is drawn: if the storage is too slow, the step of the headline about speed."""
        is_headline = isinstance(self.chosen, Finding) and self.chosen is self.findings[0]
        if is_headline and self.result.speed.answer in TOO_SLOW:
            return drawing.step_of_speed(self.result) or self._step
        return self._step

    @property
    def _path_step(self) -> Step | None:
        """The step whose I/O path is drawn: that of the section, unless the selected row is about another step."""
        chosen = self.chosen
        is_general = chosen in self.findings[:1] or (isinstance(chosen, Detail) and chosen.step is None)
        return shown_step(self.result) if is_general else self._step

    def _draw_picture(self, width: int, height: int) -> list[Text]:
        return drawing.picture(self.result, self._pictured_step, width, height)

    def _draw_io_path(self, width: int, height: int) -> list[Text]:
        is_huge = self.has_class("-huge")
        if isinstance(self.chosen, Detail) and not is_huge:  # leave the room to the open section
            return []
        return drawing.io_path_lines(self.result, self._path_step, width, compact=not is_huge)

    def _explanation(self, chosen: Finding | Step | Detail | None, width: int, height: int) -> list[Text]:
        if isinstance(chosen, Detail) and chosen.finding is None:
            return chosen.draw(width)
        if isinstance(chosen, Step):
            return drawing.step_detail(chosen, self.result, width)
        finding = chosen.finding if isinstance(chosen, Detail) else chosen
        return drawing.explanation(self.result, finding, width, height)

    def _draw_findings(self, width: int, height: int) -> list[Text]:
        index = self.selected if self.selected < len(self.findings) else None
        return drawing.findings(self.findings, index, width, height)

    def _draw_steps(self, width: int, height: int) -> list[Text]:
        index = self.selected - len(self.findings)
        selected = index if index >= 0 else None
        return drawing.steps(self.result, self.details, selected, width, height, open_titles=self._open_titles())

    def _draw_saved(self, width: int, height: int) -> list[Text]:
        return [drawing.saved(self.result, self.saved_to, self.save_error, width)]


def _title_of(chosen: Finding | Step | Detail | None) -> str:
    if isinstance(chosen, Finding):
        return chosen.rule
    return chosen.name if isinstance(chosen, Step) else chosen.title if chosen else ""
