"""A modal dialog that asks for confirmation before a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from fstui.tui.commands import BACK, QUIT, Command
from fstui.tui.drawing.cells import line, paragraph
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import WARNING


class QuestionScreen(BaseScreen, ModalScreen[None]):
    """Reasons not to start a run. Enter starts it, and Esc returns to the plan."""

    KEYS = (
        Command("question.run", "enter", "confirm", "run anyway", "Start the run in spite of the warning."),
        BACK,
        replace(QUIT, label=""),
    )
    SHOWS_RUN = True
    BLANK = False  # the plan is visible around the dialog

    def __init__(self, title: str, warnings: Sequence[str], consequence: str, on_confirm: Callable[[], object]) -> None:
        super().__init__()
        self._title = title
        self._warnings = warnings
        self._consequence = consequence
        self._on_confirm = on_confirm

    def compose(self) -> ComposeResult:
        with Vertical(id="question") as box:
            box.border_title = Text(self._title)
            yield self.lines("reasons", self._draw_reasons)
            yield self.footer_lines()
        yield self.lines("cover", lambda width, height: [line()])  # hides the keys of the screen below

    def action_confirm(self) -> None:
        self._on_confirm()

    def footer_commands(self) -> Sequence[Command]:
        return self.KEYS

    def _draw_reasons(self, width: int, height: int) -> list[Text]:
        sentences = (f"{warning[:1].upper()}{warning[1:]}." for warning in self._warnings)
        warnings = [part for sentence in sentences for part in paragraph(sentence, width, " ! ", WARNING)]
        return [*warnings, line(), *paragraph(self._consequence, width), line()]
