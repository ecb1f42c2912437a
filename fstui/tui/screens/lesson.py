"""One lesson, taken by keyboard: predict, run, compare, explain, and a question. Its disks are simulated."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container
from textual.worker import Worker, WorkerError

from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.runs import lessons, lessons_taken, simulation
from fstui.runs.lessons import Lesson, Planned
from fstui.runs.runner import RunInProgress
from fstui.tui.commands import BACK, GLOSSARY, HELP, PAGE_DOWN, PAGE_UP, QUIT, Command, bindings
from fstui.tui.drawing import latency
from fstui.tui.drawing import lesson as drawing
from fstui.tui.drawing.cells import line, rule
from fstui.tui.drawing.lesson import STAGES
from fstui.tui.progress import Progress
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.widgets.lines import UNBOUNDED
from fstui.tui.widgets.slices import Slices

DRAW_S = 0.25
LEAST_MAP = 6
"""Lines."""


class LessonScreen(BaseScreen):
    """A page for each of its stages; Enter leads on, Esc back to the list."""

    KEYS = (
        Command("lesson.next", "enter", "next", "go on", "To the next page, once this one is answered."),
        Command("lesson.answer", "1,2,3,4", "answer", "answer", "Choose an answer.", "1-3"),
        Command("lesson.plug", "p", "plug", "", "Pull the plug of the simulated disk, where the lesson asks for it."),
        replace(GLOSSARY, label="words"),
        HELP,
        BACK,
        QUIT,
        Command("lesson.up", "up,k", "scroll(-1)", "", "Scroll up."),
        Command("lesson.down", "down,j", "scroll(1)", "", "Scroll down."),
        PAGE_UP,
        PAGE_DOWN,
    )
    BINDINGS = bindings(command for command in KEYS if command.id not in ("lesson.answer", GLOSSARY.id))
    HELP_TEXT = (
        "A lesson asks what you expect, runs it on simulated disks in real time, shows what came of it, says why, and "
        "asks once more. None of its numbers was measured on storage; the disks follow their physics. What you have "
        "taken is kept."
    )

    def __init__(self, lesson: Lesson, pace: float = 1.0, planned: list[Planned] | None = None) -> None:
        """``planned``: by the list of lessons, where it has come so far."""
        super().__init__()
        self.lesson = lesson
        self.stage = STAGES[0]
        self.predicted: int | None = None
        self.answered: int | None = None
        self.results: dict[str, Run] = {}
        self._under_way: dict[str, Progress] = {}
        self._now: RunInProgress | None = None
        self._plug_at: str | None = None
        """The run whose plug is to be pulled now."""
        self._noting: Worker[None] | None = None
        self._pace = pace
        self._planned = planned or []
        self._disks = {run.label: run.title or simulation.named(run.disk).title for run in lesson.runs}

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, height: drawing.title(self.lesson, self.stage, width))
        with Container(id="pair"):
            yield self.lines("body", self._body)
            yield self.lines("beside", self._draw_beside, classes="wide")
        yield Slices(self._draw_map, id="map")
        yield self.lines("prompt", lambda width, height: [self._prompt()], classes="line")
        yield self.footer_lines()

    async def on_mount(self) -> None:
        self._planned = self._planned or await lessons.planned(self.lesson)
        self.set_interval(DRAW_S, self._draw_run)
        self.call_after_refresh(self._room_for_the_map)
        self.redraw()

    def on_key(self, event: object = None) -> None:  # the digits: as many as there are answers
        super().on_key()
        key = getattr(event, "key", "")
        if key.isdigit():
            self.answer(int(key))

    def answer(self, number: int) -> None:
        """Choose the answer of that number, while that can be changed."""
        if self.stage == "predict" and 1 <= number <= len(self.lesson.predict.choices):
            self.predicted = number
        elif self.stage == "question" and self.answered is None and 1 <= number <= len(self.lesson.question.choices):
            self.answered = number
            self._noting = self.app.run_worker(self.note(), group="note")  # goes on where the screen is left at once
        self._room_for_the_map()
        self.redraw()

    def action_answer(self, number: int = 0) -> None:
        """By a click on one."""
        self.answer(number)

    def footer_commands(self) -> Iterable[Command]:
        """Digits only where they choose something."""
        waits = self.stage == "predict" or (self.stage == "question" and self.answered is None)
        return [command for command in super().footer_commands() if waits or command.id != "lesson.answer"]

    def on_resize(self) -> None:
        self.call_after_refresh(self._room_for_the_map)

    async def action_next(self) -> None:
        if self.stage == "predict" and self.predicted is None:
            self.say("Answer first: press the digit of what you expect.")
        elif self.stage == "run" and len(self.results) < len(self.lesson.runs):
            self.say("It still runs." if self._plug_at is None else "Press p: pull the plug.")
        elif self.stage == "question":
            if self.answered is None:
                self.say("Answer first: press a digit.")
            else:
                await self._noted()
                self.app.pop_screen()
        else:
            self.stage = STAGES[STAGES.index(self.stage) + 1]
            self.part("body").to_top()
            self._room_for_the_map()
            if self.stage == "run":
                self.run_all()
            self.redraw()

    def action_plug(self) -> None:
        if self._plug_at is not None and self._now is not None:
            try:
                self._now.pull_plug()
                self._plug_at = None
            except Refused as refusal:
                self.say(str(refusal))
        else:
            self.say("There is no plug to be pulled now.")

    def action_scroll(self, by: int) -> None:
        self.part("body").scroll_lines(by)

    async def go_back(self) -> None:
        if self._now is not None:
            self._now.stop()
        await super().go_back()

    @work(exclusive=True, group="lesson", exit_on_error=False)
    async def run_all(self) -> None:
        for run in self.lesson.runs:
            try:
                plan, running = await lessons.start(self.lesson, run, self._pace)
                progress = self._under_way[run.label] = Progress(plan, running.target)
                self._now, self._plug_at = running, run.label if run.plug else None
                async for event in running.events():
                    progress.apply(event)
            except Refused as refusal:
                self.say(str(refusal))
                return
            finally:
                self._now = self._plug_at = None
            assert progress.run is not None, "a run ends with RunFinished"
            self.results[run.label] = progress.run
        self.redraw()

    async def _noted(self) -> None:
        """The list of lessons reads what is kept."""
        if self._noting is not None:
            with suppress(WorkerError):
                await self._noting.wait()

    async def note(self) -> None:
        right = (self.predicted == self.lesson.predict.right) + (self.answered == self.lesson.question.right)
        try:
            await lessons_taken.note(self.lesson.name, right, self.results)
        except (OSError, Refused) as trouble:
            self.fstui.tell(f"It could not be kept: {trouble}")

    def _draw_run(self) -> None:
        if self.stage == "run" and self._now is not None:
            self.redraw()

    def _body(self, width: int, height: int) -> list[Text]:
        """The page, and beneath it a picture where there is room and no other place for it."""
        drawn = self._page(width)
        for more in [] if self._is_wide else self._pictures(width):
            if len(drawn) + len(more) <= height:
                drawn = [*drawn, *more]
        if self.stage == "explain" and height < UNBOUNDED:
            drawn = [*drawn, *drawing.meanings(self.lesson, width, height - len(drawn))]
        return drawn

    def _draw_beside(self, width: int, height: int) -> list[Text]:
        """On a wide terminal the pictures stand at the page's side."""
        drawn: list[Text] = []
        for more in self._pictures(width):
            part = more if drawn else more[1:]  # which begins with a blank line
            drawn += part if len(drawn) + len(part) <= height else []
        if self.stage == "explain" and height < UNBOUNDED:
            return [*drawn, line(), *self._spread(width, height - len(drawn) - 1)]
        return drawn

    def _page(self, width: int) -> list[Text]:
        lesson = self.lesson
        match self.stage:
            case "predict":
                return drawing.asked(lesson.text, lesson.predict, self.predicted, width)
            case "run":
                return drawing.runs(lesson.runs, self._under_way, self._disks, width)
            case "compare":
                claims = [lessons.found(claim, self.results) for claim in lesson.claims]
                return drawing.compared(lesson.predict, self.predicted, claims, width)
            case "explain":
                return drawing.explained(lesson, width)
        return drawing.asked("", lesson.question, self.answered, width, told="right" if self.answered else "")

    def _pictures(self, width: int) -> list[list[Text]]:
        """What is asked, what was measured, and why it is so."""
        if self.stage == "run" and not self._is_wide:
            return []
        disks = drawing.disks(self.lesson, self._planned, width)
        if self.stage in ("predict", "run"):
            return [drawing.ways(self.lesson, self._planned, width, told=False), disks]
        runs = drawing.runs(self.lesson.runs, self._under_way, self._disks, width)
        measured = [line(), rule(width, "what was measured", "simulated"), *runs]
        told = drawing.ways(self.lesson, self._planned, width, told=True)
        return [told, measured, disks] if self.stage == "explain" else [measured, told, disks]

    def _spread(self, width: int, height: int) -> list[Text]:
        steps = drawing.spreads(self.lesson.runs, self._under_way)
        return latency.distributions(steps, width, latency.distributions_height(len(steps), height))

    def _draw_map(self, width: int, height: int) -> list[Text]:
        """The latencies of what runs now, else those of all steps."""
        if self.stage != "run":
            return self._spread(width, height)
        progress = next(reversed(self._under_way.values()), None)
        return drawing.live(progress, width, height) if progress and height >= LEAST_MAP else []

    def _room_for_the_map(self) -> None:
        """What the page, and on a wide terminal its side, leave."""
        below = self.query_one(Slices)
        free = self.query_one("#pair").size.height + below.size.height
        if self.stage == "run":
            left = free - self._lines_of_the_page() - len(self.lesson.runs)  # which get a verdict each
            below.styles.height = left if left >= LEAST_MAP else 0
        elif self._is_wide and self.stage != "explain":
            steps = sum(len(run.steps) for run in self.lesson.runs)
            below.styles.height = latency.distributions_height(steps, free - self._lines_of_the_page() - 1)
        else:
            below.styles.height = 0

    def _lines_of_the_page(self) -> int:
        body, beside = self.part("body"), self.part("beside")
        if not self._is_wide:
            return len(self._page(self.size.width))
        return max(len(self._page(body.size.width)), len(self._draw_beside(beside.size.width, UNBOUNDED)))

    @property
    def _is_wide(self) -> bool:
        return self.part("beside").display

    def _prompt(self) -> Text:
        waiting = {
            "predict": "What do you expect? A digit, then Enter runs it.",
            "run": "It runs …",
            "question": "Your answer? A digit.",
        }
        words = waiting.get(self.stage, "Enter goes on.")
        if self.stage == "run" and len(self.results) == len(self.lesson.runs):
            words = "Enter compares."
        elif self._plug_at is not None:
            words = f"{self._plug_at}: p pulls the plug, whenever you like."
        elif (self.stage == "question" and self.answered) or (self.stage == "predict" and self.predicted):
            words = "Enter runs it." if self.stage == "predict" else "Enter ends the lesson."
        return drawing.prompt(words)
