"""The list of lessons, and one lesson, taken by keyboard: predict, run, compare, explain, and a question."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Key
from textual.worker import Worker, WorkerError

from fstui.model.errors import Refused
from fstui.model.events import StepStarted
from fstui.model.run import Run
from fstui.runs import lessons, simulation
from fstui.runs.lessons import CheckedClaim, Lesson, PlannedRun, TakenLesson
from fstui.runs.runner import RunInProgress
from fstui.tui.commands import BACK, GLOSSARY, HELP, LIST, PAGE_DOWN, PAGE_UP, QUIT, Command, bindings
from fstui.tui.drawing import lessons as drawing
from fstui.tui.drawing.cells import line, rule
from fstui.tui.drawing.lessons import STAGES
from fstui.tui.progress import Progress
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import KEY
from fstui.tui.widgets.lines import Slices
from fstui.tui.widgets.table import DrawnTable, TableContent

MIN_MAP_LINES = 8
_ENTER_LABELS = {"predict": "start", "run": "compare", "question": "end"}


class LessonsScreen(BaseScreen):
    KEYS = (Command("lessons.take", "enter", "take", "take", "Take this lesson."), HELP, BACK, QUIT, *LIST)
    DOUBLE_CLICK_ACTION = "take"
    SCROLLED_PART = "about"
    HELP_TEXT = (
        "The lessons show on simulated disks what makes data durable. Each takes five to seven minutes. fstui writes "
        "nothing to this host except your lesson results."
    )

    def __init__(self, pace: float = 1.0) -> None:
        super().__init__()
        self.table = DrawnTable(self._rows, id="lessons")
        self.taken: dict[str, TakenLesson] | None = None
        self.planned_runs: dict[str, list[PlannedRun]] = {}
        self._pace = pace

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title)
        with Container(id="pair"):
            yield self.table
            yield self.lines("about", self._draw_about, frame=True)
            yield self.lines("how", lambda width, _: drawing.how_it_works(width)[1:], frame=True)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.table.border_title = f"{len(lessons.lessons())} lessons"
        self.plan_all()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.read_taken()

    @work(exclusive=True, group="taken")
    async def read_taken(self) -> None:
        earlier_results = self.taken
        with self.fstui.reporting():
            self.taken = await lessons.read_taken()
        if earlier_results != self.taken:
            self.table.refill()
            self._select_next()
        self.redraw()

    def _select_next(self) -> None:
        """If this lesson was taken, select the next one that was not."""
        names = [lesson.name for lesson in lessons.lessons()]
        taken = self.taken or {}
        index = names.index(self.chosen.name)
        if names[index] in taken:
            self.table.choose(next((name for name in (*names[index:], *names[:index]) if name not in taken), None))

    @property
    def chosen(self) -> Lesson:
        return lessons.find(self.table.chosen_key or lessons.lessons()[0].name)

    on_data_table_row_highlighted = BaseScreen.show_row

    def action_take(self) -> None:
        self.app.push_screen(LessonScreen(self.chosen, self._pace))

    @work(exclusive=True, group="planned")
    async def plan_all(self) -> None:
        """Plan the runs of all lessons. Their disks are simulated, so no storage is accessed."""
        for lesson in lessons.lessons():
            self.planned_runs[lesson.name] = await lessons.plan_runs(lesson)
        self.redraw()

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.progress_line(lessons.lessons(), self.taken or {}, width)]

    def _rows(self, width: int) -> TableContent:
        return drawing.table(lessons.lessons(), self.taken or {}, width, tall=self.part("about").has_frame)

    def _draw_about(self, width: int, height: int) -> list[Text]:
        planned = self.planned_runs.get(self.chosen.name, [])
        pictures = drawing.pictures(self.chosen, planned, self._taken_lesson, width)
        how = [] if self.has_class("-wide") else drawing.how_it_works(width)  # a wide screen has it below the list
        terms = drawing.meanings if self._taken_lesson else drawing.question_terms
        return [*drawing.introduction(self.chosen, width), *pictures, *terms(self.chosen, width), *how]

    @property
    def _taken_lesson(self) -> TakenLesson | None:
        return (self.taken or {}).get(self.chosen.name)


class LessonScreen(BaseScreen):
    """A page for each stage of the lesson, with maps of the steps below it. Enter leads to the next stage."""

    BLANK = False  # on a wide terminal, the previous screen is visible around the page

    KEYS = (
        Command("lesson.next", "enter", "next", "continue", "Go to the next page after answering this one."),
        Command("lesson.answer", "1,2,3,4", "answer", "answer", "Choose an answer.", "1-3"),
        Command("lesson.plug", "p", "plug", "", "Pull the plug of the simulated disk, when the lesson says so."),
        replace(GLOSSARY, label="terms"),
        HELP,
        BACK,
        QUIT,
        Command("lesson.up", "up,k", "scroll(-1)", "", "Scroll up."),
        Command("lesson.down", "down,j", "scroll(1)", "", "Scroll down."),
        PAGE_UP,
        PAGE_DOWN,
    )
    SCROLLED_PART = "text"
    # on_key handles the digits, and the app binds the glossary
    BINDINGS = bindings(command for command in KEYS if command.id not in ("lesson.answer", GLOSSARY.id))
    HELP_TEXT = (
        "A lesson asks for a prediction, runs the experiment on simulated disks in real time, shows the result, "
        "explains it, and asks one more question. A step ends early if it has written enough data, and late if it has "
        "completed too few operations. None of the numbers were measured on real storage: the disks follow "
        "a physical model. Lessons that you have taken are remembered."
    )

    def __init__(self, lesson: Lesson, pace: float = 1.0) -> None:
        super().__init__(classes="-panel -predict")
        self.lesson = lesson
        self.stage = STAGES[0]
        self.prediction: int | None = None
        self.answer: int | None = None
        self.results: dict[str, Run] = {}
        self._progress: dict[str, Progress] = {}
        self._run_in_progress: RunInProgress | None = None
        self._plug_label: str | None = None
        """The run whose plug can be pulled now."""
        self._saver: Worker[None] | None = None
        self._pace = pace
        self._planned_runs: list[PlannedRun] = []
        self._disks = {run.label: run.title or simulation.find(run.disk).title for run in lesson.runs}

    def compose(self) -> ComposeResult:
        with Container(id="stage", classes="box"):
            yield self.lines("title", self._draw_title)
            yield self.lines("text", self._draw_page)
            yield Slices("map", self._draw_map)
        yield self.footer_lines()

    async def on_mount(self) -> None:
        self._planned_runs = await lessons.plan_runs(self.lesson)
        self.redraw()

    def on_key(self, event: Key | None = None) -> None:
        super().on_key()
        if event is not None and event.key.isdigit():
            self.action_answer(int(event.key))

    def action_answer(self, number: int = 0) -> None:
        """Choose an answer. The prediction can be changed until the runs start, the last answer cannot be changed."""
        if self.stage == "predict" and 1 <= number <= len(self.lesson.predict.choices):
            self.prediction = number
        elif self.stage == "question" and self.answer is None and 1 <= number <= len(self.lesson.question.choices):
            self.answer = number
            self._saver = self.app.run_worker(self.save(), group="note")  # continues if the user leaves the screen
        self.redraw()

    def footer_commands(self) -> Iterable[Command]:
        """Show the digits only while they select an answer, and Enter only if it opens the next page."""
        expects_answer = self.stage == "predict" or (self.stage == "question" and self.answer is None)
        for command in super().footer_commands():
            if command.id == "lesson.next" and not self._unmet_requirement:
                yield replace(command, label=_ENTER_LABELS.get(self.stage, command.label))
            elif command.id != "lesson.next" and (expects_answer or command.id != "lesson.answer"):
                yield command

    @property
    def _unmet_requirement(self) -> str:
        """What the user must do or wait for before the next page; empty if nothing."""
        if self.stage == "predict" and self.prediction is None:
            return "Answer first: press the digit of what you expect."
        if self.stage == "run" and len(self.results) < len(self.lesson.runs):
            return "It is still running." if self._plug_label is None else "Press p to pull the plug."
        return "Answer first: press a digit." if self.stage == "question" and self.answer is None else ""

    async def action_next(self) -> None:
        if self._unmet_requirement:
            self.say(self._unmet_requirement)
        elif self.stage != "question":
            self._show_stage(STAGES[STAGES.index(self.stage) + 1])
        else:
            if self._saver is not None:  # the list of lessons reads what was saved
                with suppress(WorkerError):
                    await self._saver.wait()
            self.app.pop_screen()

    def _show_stage(self, stage: str) -> None:
        self.stage = stage
        self.set_class(stage == "predict", "-predict")
        self.set_class(stage == "run", "-running")
        self.part("text").scroll_to_top()
        if stage == "run":
            self.run_all()
        self.redraw()

    def action_plug(self) -> None:
        if self._plug_label is not None and self._run_in_progress is not None:
            with self.fstui.reporting():
                self._run_in_progress.pull_plug()
                self._plug_label = None
        else:
            self.say("There is no plug to pull now.")

    async def go_back(self) -> None:
        if self._run_in_progress is not None:
            self._run_in_progress.stop()
        await super().go_back()

    @work(exclusive=True, group="lesson", exit_on_error=False)
    async def run_all(self) -> None:
        for run in self.lesson.runs:
            try:
                running = await lessons.start(self.lesson, run, self._pace)
                progress = self._progress[run.label] = Progress(running.plan, running.target)
                self._run_in_progress, self._plug_label = running, run.label if run.plug else None
                async for event in running.events():
                    progress.apply(event)
                    self.redraw()
                    if isinstance(event, StepStarted):
                        self.say("")  # "There is no plug to pull now." is no longer true
            except Refused as refusal:
                self.say(str(refusal))
                return
            finally:
                self._run_in_progress = self._plug_label = None
            assert progress.run is not None, "a run ends with RunFinished"
            self.results[run.label] = progress.run
        self.redraw()
        self.call_after_refresh(self._show_last_verdict)

    def _show_last_verdict(self) -> None:
        text = self.part("text")
        if self.stage == "run":
            lines = len(self._runs(text.size.width))  # without the lines below the runs
            text.scroll_lines(max(lines + 2 - text.size.height, 0))

    async def save(self) -> None:
        right_answers = (self.prediction == self.lesson.predict.right) + (self.answer == self.lesson.question.right)
        with self.fstui.reporting("Cannot save the result of the lesson"):
            await lessons.save_taken(self.lesson.name, right_answers, self.results)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return drawing.title(self.lesson, self.stage, width)

    def _draw_page(self, width: int, height: int) -> list[Text]:
        lesson, planned, is_narrow = self.lesson, self._planned_runs, self.has_class("-narrow")
        experiment = [rule(width, "the experiment"), *drawing.prose(lesson.text, width)]
        is_hidden = self.stage in ("predict", "run")
        reach = drawing.location_lines(lesson, planned, width, hidden=is_hidden)
        measured = [rule(width, "what was measured", "simulated"), *self._runs(width)]
        more = (
            [*drawing.disks(lesson, planned, width), *drawing.meanings(lesson, width)]
            if self.has_class("-huge")
            else []
        )
        match self.stage:
            case "predict":
                question = drawing.question(self._prompt, lesson.predict, self.prediction, width)
                terms = drawing.question_terms(lesson, width)
                return [*experiment, line(), *question, *drawing.disks(lesson, planned, width), *reach, *terms]
            case "run":
                runs = [rule(width, self._prompt, "simulated", style=KEY), *self._runs(width)]
                expected = drawing.expected(lesson.predict, self.prediction, width)
                return [*runs, *(expected[1:] if is_narrow else [*expected, line(), *experiment, *more])]
            case "compare":
                compared = drawing.comparison(lesson.predict, self.prediction, self._claims, width)
                return [*compared, line(), *measured, *reach, *more]
            case "explain":
                return [rule(width, "why"), *drawing.explanation(lesson, width), line(), *measured, *more]
        remark = "right" if self.answer else ""
        question = drawing.question(self._prompt, lesson.question, self.answer, width, remark=remark)
        return [*question, line(), *measured, *reach, *more]

    def _runs(self, width: int) -> list[Text]:
        return drawing.runs(self.lesson, self._progress, self._disks, width)

    @property
    def _claims(self) -> list[CheckedClaim]:
        return [lessons.check(claim, self.results) for claim in self.lesson.claims]

    def _draw_map(self, width: int, height: int) -> list[Text]:
        if height < MIN_MAP_LINES - 2 * self.has_class("-narrow"):
            return []
        return drawing.heat_maps(self.lesson, self._planned_runs, self._progress, width, height)

    @property
    def _prompt(self) -> str:
        """What the user must do or wait for now. It is the title of the question or of the runs."""
        match self.stage:
            case "predict" if self.prediction is None:
                return "What do you expect? Press a digit."
            case "predict":
                return f"You expect {self.prediction}. Press Enter to start."
            case "run" if self._plug_label is not None:
                return f"{self._plug_label}: press p to pull the plug."
            case "run" if self._unmet_requirement:
                done = sum(len(progress.finished_steps) for progress in self._progress.values())
                time = next((f", {drawing.elapsed(part)}" for part in self._progress.values() if not part.run), "")
                return f"Running step {done + 1} of {sum(len(run.steps) for run in self.lesson.runs)}{time} …"
            case "run":
                return "All steps are done. Press Enter to compare."
        return "Your answer? Press a digit." if self.answer is None else "the question"
