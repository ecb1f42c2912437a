"""The lessons, and which of them were taken."""

from __future__ import annotations

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll

from fstui.runs import lessons
from fstui.runs.lessons import Lesson, Planned, Taken
from fstui.tui.commands import BACK, HELP, LIST, QUIT, Command
from fstui.tui.drawing import lesson as drawing
from fstui.tui.drawing.cells import rule
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.lesson import LessonScreen
from fstui.tui.widgets.table import Rows, Table


class LessonsScreen(BaseScreen):
    """A row for each lesson, and what the selected one is about."""

    KEYS = (Command("lessons.take", "enter", "take", "take", "Take this lesson."), HELP, BACK, QUIT, *LIST)
    HELP_TEXT = (
        "Twelve lessons of five to seven minutes about what makes data durable, on simulated disks. Nothing is written "
        "to this host except which lessons you have taken."
    )

    def __init__(self, pace: float = 1.0) -> None:
        super().__init__()
        self.table = Table(self._draw_lessons, id="lessons")
        self.taken: dict[str, Taken] | None = None
        """None until it has been read."""
        self.planned: dict[str, list[Planned]] = {}
        """The plans of each lesson's runs, by the lesson's name."""
        self._pace = pace

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title)
        with Container(id="pair"):
            yield self.table
            with VerticalScroll(id="about", can_focus=False):
                yield self.lines("selected", self._draw_selected)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.plan_all()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.read_taken()

    @work(exclusive=True, group="taken")
    async def read_taken(self) -> None:
        before = self.taken
        with self.fstui.reporting():
            self.taken = await lessons.taken()
        if before != self.taken:
            self.table.refill()
            self._select_next()
        self.redraw()

    def _select_next(self) -> None:
        """Select the first lesson after this one that was not taken, if this one was."""
        names = [lesson.name for lesson in lessons.lessons()]
        taken = self.taken or {}
        at = names.index(self.chosen.name)
        if names[at] in taken:
            self.table.choose(next((name for name in (*names[at:], *names[:at]) if name not in taken), None))

    @property
    def chosen(self) -> Lesson:
        return lessons.find(self.table.chosen or lessons.lessons()[0].name)

    def on_data_table_row_highlighted(self) -> None:
        self.query_one("#about").scroll_home(animate=False)
        self.redraw()

    def action_move(self, by: int) -> None:
        self.table.move(by)

    def action_scroll(self, by: int) -> None:
        self.query_one("#about").scroll_relative(y=by, animate=False)

    def action_take(self) -> None:
        self.app.push_screen(LessonScreen(self.chosen, self._pace, self.planned.get(self.chosen.name)))

    @work(exclusive=True, group="planned")
    async def plan_all(self) -> None:
        """Plan the runs of all lessons. Their disks are simulated, so nothing is touched."""
        for lesson in lessons.lessons():
            self.planned[lesson.name] = await lessons.planned(lesson)
        self.redraw()

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.progress(lessons.lessons(), self.taken or {}, width), rule(width)]

    def _draw_lessons(self, width: int) -> Rows:
        return drawing.listed(lessons.lessons(), self.taken or {}, width)

    def _draw_selected(self, width: int, height: int) -> list[Text]:
        planned, done = self.planned.get(self.chosen.name, []), (self.taken or {}).get(self.chosen.name)
        return drawing.about(self.chosen, planned, done, width)
