"""The result of a run, fresh or from the history."""

from __future__ import annotations

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal

from fstui.model.judgement import Finding
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import comparison, formats
from fstui.report.findings import ordered
from fstui.tui.commands import BACK, COPY, HELP, HISTORY, LIST, QUIT, Command, bindings
from fstui.tui.drawing import result as drawing
from fstui.tui.drawing.cells import line, rule, wrapped
from fstui.tui.drawing.report import Section, sections_of
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import HEAD
from fstui.tui.widgets.lines import UNBOUNDED

MAP_LINES = 14
"""Of the picture on a page that is scrolled."""


class ResultScreen(BaseScreen):
    """Word, sentence, because, next; findings; steps. The selected finding or step explains itself."""

    KEYS = (
        replace(COPY, help="Copy a few lines for a channel (OSC 52); Y copies all of it."),
        Command("result.markdown", "Y", "copy_markdown", "", "Copy the whole result as Markdown, for a ticket."),
        Command("result.again", "r", "again", "again", "Run the same again, on the same directory."),
        Command("result.explain", "x", "explain", "explain", "What the selected rule looks at, and why."),
        Command("result.powercut", "w", "power_cut", "power cut", "Prove it: pull the plug with a witness elsewhere."),
        Command(
            "result.export",
            "e",
            "export",
            "export",
            "Write the run into the current directory, as a file of each format.",
        ),
        Command("result.compare", "c", "compare", "compare", "Put another saved run beside this one."),
        Command("result.view", "v", "view", "", "What is selected, whole, on a page of its own."),
        Command("result.open", "enter", "open", "", "The same; the first one asks, as it may be the run's last."),
        HISTORY,
        HELP,
        BACK,
        QUIT,
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "The verdict covers the seconds measured, and no test inside a box proves durability: only a power cut with a "
        "witness does. Beneath it stands whether it is slow, and by what. Move through findings, steps, and what "
        "stands beneath them: what changed since the run before, the way down the stack with what was asked for, "
        "passed on and dropped, why it is slow or not, tables of databases, and where this storage stands among "
        "published rates; the selected one is shown above, and Enter shows it on a page, of a step with its latencies. "
        "FLUSH/SYNC: flushes at the lowest devices for each sync asked for. BYTES: bytes that arrived there for each "
        "byte written."
    )

    def __init__(
        self,
        run: Run,
        saved_to: str | None,
        directory: str | None,
        save_error: str | None = None,
        before: Run | None = None,
    ) -> None:
        """``before``: the run that this one is again."""
        super().__init__()
        self.result = run
        self.saved_to = saved_to
        self.directory = directory
        self.save_error = save_error
        self.findings = list(ordered(run))
        self.before = before
        self.more = sections_of(run, before)
        self.selected = 0
        self.whole = False
        """All of the evidence is shown, to be scrolled."""
        self._asked = False

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, height: [drawing.title(self.result, width)], classes="line")
        yield self.lines("verdict", lambda width, height: [drawing.verdict(self.result, width)], classes="line")
        yield self.lines("speed", lambda width, height: drawing.speed(self.result, width))
        with Horizontal(id="answer"):
            yield self.lines("detail", self._draw_detail)
            yield self.lines("picture", self._draw_picture, classes="wide")
        with Horizontal(id="found"):
            yield self.lines("findings", self._draw_findings)
            yield self.lines("way", self._draw_way, classes="huge")
        yield self.lines("steps", self._draw_steps, classes="rest")
        yield self.lines("saved", self._draw_saved, classes="line")
        yield self.footer_lines()

    def on_mount(self) -> None:
        if self.before is not None:
            self.say(comparison.headline(self.before, self.result))

    @property
    def rows(self) -> list[Finding | Step | Section]:
        return [*self.findings, *self.result.steps, *self.more]

    @property
    def chosen(self) -> Finding | Step | Section | None:
        return self.rows[self.selected] if self.rows else None

    def action_move(self, by: int) -> None:
        self.selected = max(0, min(self.selected + by, len(self.rows) - 1))
        self.whole = False
        self.part("detail").to_top()
        self.redraw()

    def choose_row(self, part: str, row: int) -> None:
        """Findings and steps are one list in two parts."""
        super().choose_row(part, row + len(self.findings) * (part == "steps"))

    def action_scroll(self, by: int) -> None:
        self.whole = True
        self.part("detail").scroll_lines(by)

    def action_copy(self) -> None:
        self._copy("brief")

    def action_copy_markdown(self) -> None:
        self._copy("markdown")

    def _copy(self, format_: str) -> None:
        self.copy(str(formats.render(format_, self.result, self.saved_to)))

    @work(exclusive=True, group="export")
    async def action_export(self) -> None:
        from fstui.tui.exports import export  # noqa: PLC0415

        self.say(await export(self.result))

    @work(exclusive=True, group="again")
    async def action_again(self) -> None:
        self.say("Looking at the directory …")
        if trouble := await self.fstui.run_again(self.result, self.directory):
            self.say(trouble)

    def action_power_cut(self) -> None:
        if self.directory is None or self.result.target is None:
            self.say("The saved run does not say where it was measured.")
        else:
            self.fstui.open_power_cut(self.directory, self.result.target, {})

    def action_compare(self) -> None:
        from fstui.tui.screens.history import HistoryScreen  # noqa: PLC0415

        self.app.push_screen(HistoryScreen(against=self.result))

    def action_explain(self) -> None:
        from fstui.runs.rules import has_page  # noqa: PLC0415
        from fstui.tui.screens.page_screen import explain_screen  # noqa: PLC0415

        if isinstance(self.chosen, Section) and self.chosen.page:
            self.app.push_screen(explain_screen(self.chosen.page))
        elif not isinstance(self.chosen, Finding):
            self.say("Choose a finding: only findings have a rule to explain.")
        elif not has_page(self.chosen.rule):
            self.say(f"This version has no rule {self.chosen.rule}: fstui judge judges the run again, with its own.")
        else:
            self.app.push_screen(explain_screen(self.chosen.rule))

    def action_open(self) -> None:
        """An Enter that was meant for the end of the run arrives here: the verdict stays."""
        if self._asked:
            self.action_view()
        else:
            self._asked = True
            self.say("Enter again shows the selected row whole.")

    def action_view(self) -> None:
        from fstui.tui.screens.page_screen import PageScreen  # noqa: PLC0415

        chosen = self.chosen
        self.app.push_screen(
            PageScreen(lambda width: [*_named(chosen, width), *self._explained(chosen, width, UNBOUNDED)])
        )

    def _draw_detail(self, width: int, height: int) -> list[Text]:
        return self._explained(self.chosen, width, UNBOUNDED if self.whole else height)

    @property
    def _step(self) -> Step | None:
        """The step that the pictures are of."""
        chosen = self.chosen
        if isinstance(chosen, Step) and chosen.timeline:
            return chosen
        return drawing.told_by(self.result, chosen if isinstance(chosen, Finding) else None)

    def _draw_picture(self, width: int, height: int) -> list[Text]:
        return drawing.picture(self.result, self._step, width, height)

    def _draw_way(self, width: int, height: int) -> list[Text]:
        return drawing.io_path_of(self.result, self._step, width)

    def _explained(self, chosen: Finding | Step | Section | None, width: int, height: int) -> list[Text]:
        if isinstance(chosen, Section):
            return chosen.lines(width)
        if isinstance(chosen, Step):
            more = drawing.picture(self.result, chosen, width, MAP_LINES) if height == UNBOUNDED else []
            return [*drawing.step_detail(chosen, self.result, width), *more]
        return drawing.explanation(self.result, chosen, width, height)

    def _draw_findings(self, width: int, height: int) -> list[Text]:
        at = self.selected if self.selected < len(self.findings) else None
        return drawing.findings(self.findings, at, width, height)

    def _draw_steps(self, width: int, height: int) -> list[Text]:
        at = self.selected - len(self.findings)
        return drawing.steps(self.result, self.more, at if at >= 0 else None, width, height)

    def _draw_saved(self, width: int, height: int) -> list[Text]:
        return [drawing.saved(self.result, self.saved_to, self.save_error, width)]


def _named(chosen: Finding | Step | Section | None, width: int) -> list[Text]:
    """The finding's title, which its row has no room for on a small terminal."""
    if not isinstance(chosen, Finding):
        return []
    return [rule(width, chosen.rule), *(line((part, HEAD)) for part in wrapped(chosen.title, width - 2, indent=" "))]
