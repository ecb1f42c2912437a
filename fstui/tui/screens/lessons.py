"""The lessons, and which of them were taken."""

from __future__ import annotations

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container

from fstui.model.errors import Refused
from fstui.runs import lessons, lessons_taken
from fstui.runs.lessons import Planned
from fstui.runs.lessons_taken import Taken
from fstui.tui.commands import BACK, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing import lessons as drawing
from fstui.tui.drawing.cells import rule, window
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.lesson import LessonScreen
from fstui.tui.widgets.lines import UNBOUNDED


class LessonsScreen(BaseScreen):
    """A row for each; Enter takes it."""

    KEYS = (
        Command("lessons.take", "enter", "take", "take", "Take this lesson."),
        HELP,
        replace(BACK, action="app.back"),
        QUIT,
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "Twelve lessons of five to seven minutes on what makes data durable, each on simulated disks: nothing is "
        "written to this box but which lessons you have taken."
    )

    def __init__(self, pace: float = 1.0) -> None:
        super().__init__()
        self.taken: dict[str, Taken] | None = None
        """None until it was looked up."""
        self.planned: dict[str, list[Planned]] = {}
        """What each of their runs will do, by the lesson's name."""
        self.selected = 0
        self._pace = pace

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title)
        with Container(id="pair"):
            yield self.lines("lessons", self._draw_lessons)
            yield self.lines("about", self._draw_about)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.plan_all()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.look()

    @work(exclusive=True, group="taken")
    async def look(self) -> None:
        """Which were taken."""
        before = self.taken
        try:
            self.taken = await lessons_taken.recall()
        except (OSError, Refused) as trouble:
            self.say(str(trouble))
        if before != self.taken:
            self._stand_on_the_next()
        self.redraw()

    def _stand_on_the_next(self) -> None:
        """After the last one taken, where there is one that was not."""
        names = [lesson.name for lesson in lessons.lessons()]
        taken = self.taken or {}
        if names[self.selected] in taken:
            order = [*range(self.selected, len(names)), *range(self.selected)]
            self.selected = next((at for at in order if names[at] not in taken), self.selected)

    def action_move(self, by: int) -> None:
        self.selected = max(0, min(self.selected + by, len(lessons.lessons()) - 1))
        self.redraw()

    action_scroll = action_move

    def action_take(self) -> None:
        chosen = lessons.lessons()[self.selected]
        self.app.push_screen(LessonScreen(chosen, self._pace, self.planned.get(chosen.name)))

    @work(exclusive=True, group="planned")
    async def plan_all(self) -> None:
        """What each will do: its disks are simulated, so that nothing is touched."""
        for lesson in lessons.lessons():
            self.planned[lesson.name] = await lessons.planned(lesson)
        self.redraw()

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.progress(lessons.lessons(), self.taken or {}, width), rule(width)]

    def _draw_lessons(self, width: int, height: int) -> list[Text]:
        rows = drawing.listed(lessons.lessons(), self.taken or {}, self.selected, width)
        drawn = window(rows, self.selected, height)
        if height == UNBOUNDED or height <= len(rows):
            return drawn
        return drawing.asking(lessons.lessons(), drawn, width, height)

    def _draw_about(self, width: int, height: int) -> list[Text]:
        chosen = lessons.lessons()[self.selected]
        done = (self.taken or {}).get(chosen.name)
        return drawing.about(chosen, self.planned.get(chosen.name, []), done, width, height)
