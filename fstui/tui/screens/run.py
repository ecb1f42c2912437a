"""The run: live latency, both ends, the finding so far. What it shows can be held; what it measures cannot."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.message import Message

from fstui.model.errors import Refused
from fstui.model.events import Event
from fstui.model.plan import Plan
from fstui.model.storage import Target
from fstui.report import latency_map
from fstui.report.latency_map import Mark
from fstui.runs.runner import RunInProgress
from fstui.runs.simulation import name_of
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT, Command, bindings
from fstui.tui.drawing import latency
from fstui.tui.drawing import run as drawing
from fstui.tui.drawing.latency import View
from fstui.tui.progress import Progress
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.widgets.slices import Slices

DRAW_S = 0.25
"""At most four updates a second go to the terminal."""
HOLD = Command("run.hold", "space", "hold", "hold view", "Hold the view; the measurement goes on.")
PLUG = Command(
    "run.plug", "p", "plug", "pull plug", "Pull a simulated disk's plug, and see what is left of its promises."
)
TURN = Command("run.turn", "t", "turn", "turn", "Change a parameter of the simulated disk while it runs: KEY=VALUE.")


class RunScreen(BaseScreen):
    """Steps above, the strip, both ends, the finding so far."""

    KEYS = (
        HOLD,
        Command("run.next", "n", "next_step", "next step", "End this step here and go on with the next."),
        Command("run.stop", "s", "stop", "stop", "Stop the run: its files are removed, the steps so far are judged."),
        PLUG,
        TURN,
        HELP,
        replace(BACK, label=""),
        QUIT,
        Command("run.result", "enter", "result", "", "The result, once the run is over."),
        PAGE_UP,
        PAGE_DOWN,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "Above, every step: operations per second, the latency of a whole operation (write and sync), and the flushes "
        "that the lowest device completed for each sync that fstui asked for. In the middle, latency over time: a dot "
        "stands where operations lie, its colour says how many; red is a stall, yellow is sooner than the device can "
        "be. Lines across: limit, one turn of the disk; last, the run before; publ., what was published of the same; "
        "idle, a flush of others. Beside it the percentiles. "
        "Below, both ends: what fstui asked for and what the kernel counted at each layer meanwhile; a layer that "
        "does not count flushes says so. Other programs' writes are counted there too."
    )

    def __init__(self, running: RunInProgress, plan: Plan, target: Target) -> None:
        super().__init__()
        self.running = running
        self.progress = Progress(plan, target)
        self.held = False
        self.over = False
        self._changed = True
        self._marks: dict[int, tuple[Mark, ...]] = {}

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("table", self._draw_steps)
        yield self.lines("rule", self._draw_rule, classes="line")
        yield Slices(lambda width, height: latency.heat_map(self._view(), width, height), id="map")
        yield self.lines("ends", lambda width, height: drawing.both_ends(self.progress, width, height))
        yield self.lines("finding", lambda width, height: [drawing.finding(self.progress, width)], classes="line")
        yield self.lines("others", lambda width, height: [drawing.others(self.progress, width)], classes="line")
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.set_interval(DRAW_S, self.draw_changes)
        self.follow()

    @work(exit_on_error=False)
    async def follow(self) -> None:
        """Take the runner's events until the run has cleaned up after itself."""
        try:
            async for event in self.running.events():
                self.post_message(RunAdvanced(event))
        except Refused as refusal:
            self.progress.trouble = str(refusal)
        except Exception as error:  # a fault of ours: it must not take the terminal with it
            self.fstui.fault = error
            self.progress.trouble = f"a fault in fstui ended the run: {type(error).__name__}: {error}"
        finally:
            # posted messages are handled after this; what was saved stands in the last of them
            self.call_later(self._over)

    def _over(self) -> None:
        self.fstui.run_ended(self.progress.run, self.progress.saved_to)
        self.over = True
        self._changed = True
        if self.progress.trouble:  # whole: its line on the screen has room for the beginning
            self.say(self.progress.trouble)
        self.part("rule").redraw()  # of what is held, that line alone
        self._show_result()

    def on_screen_resume(self) -> None:
        """The run may have ended while the help stood in front."""
        self._show_result()

    def _show_result(self) -> None:
        if self.over and not self.held:
            self.action_result()

    def on_run_advanced(self, message: RunAdvanced) -> None:
        self.progress.apply(message.event)
        self._changed = True

    def draw_changes(self) -> None:
        """Draw what has changed since the last time, unless the view is held or the line is behind."""
        if self._changed and not self.held and self.line_is_free():
            self._changed = False
            self.redraw()

    def action_hold(self) -> None:
        self.held = not self.held
        self._changed = True
        self.part("rule").redraw()
        self.part("footer").redraw()
        self.draw_changes()
        self._show_result()

    def action_next_step(self) -> None:
        self.running.skip_step()

    def action_stop(self) -> None:
        if self.progress.run is not None:
            self.say("The run is over: enter shows its result.")
            return
        self.running.stop()
        self.say("Stopping: the step ends, its files are removed, the steps so far are judged.")

    def action_plug(self) -> None:
        try:
            self.running.pull_plug()
        except Refused as refusal:
            self.say(str(refusal))

    async def action_turn(self) -> None:
        await self.ask_for("KEY=VALUE, such as disk.platter.rpm=5400 or disk.cache.flush=ignored", self._turn)

    def _turn(self, setting: str) -> None:
        try:
            self.running.turn(setting)
        except Refused as refusal:
            self.say(str(refusal))

    async def go_back(self) -> None:
        if self.over:
            await super().go_back()
        else:
            self.say("The run goes on: s stops it.")

    def action_result(self) -> None:
        progress = self.progress
        if progress.run is not None and self.is_active:
            self.fstui.open_result(progress.run, progress.saved_to, progress.target.path, progress.save_error)

    def action_scroll(self, by: int) -> None:
        self.part("ends").scroll_lines(by)

    def footer_commands(self) -> Iterable[Command]:
        simulated = name_of(self.progress.target) is not None
        shown = (command for command in self.KEYS if command not in (PLUG, TURN) or simulated)
        return (replace(HOLD, label="go on") if command is HOLD and self.held else command for command in shown)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.progress, self.fstui.session.simulated, width)]

    def _draw_steps(self, width: int, height: int) -> list[Text]:
        return drawing.steps(self.progress, self.progress.shown, width, height)

    def _draw_rule(self, width: int, height: int) -> list[Text]:
        return [drawing.map_rule(self.progress, self.held, width)]

    def _view(self) -> View:
        progress = self.progress
        index = progress.shown
        if index is None:
            return View()
        planned = progress.plan.steps[index]
        seen = progress.snapshot or progress.done.get(index)
        length_s = None if progress.plan.seconds is None else planned.settings.seconds
        if progress.snapshot is not None:
            length_s = progress.snapshot.length_s
        marks = self._marks_of(index)
        if seen is None:
            return View(length_s=length_s, marks=marks)
        while length_s and length_s * 1.1 < seen.elapsed_s:
            length_s *= 2  # a step that goes on halves its columns, now and then, not with every drawing
        timeline = (seen.figures.timeline() if seen.figures else ()) or seen.timeline
        stall = progress.snapshot.stall if progress.snapshot else None
        failed = progress.snapshot is None and progress.done[index].error is not None
        return View(timeline, seen.elapsed_s, length_s, marks, seen.latency_ns, stall, failed)

    def _marks_of(self, index: int) -> tuple[Mark, ...]:
        """What the step is held against, worked out once: it does not change while it runs."""
        if index not in self._marks:
            planned = self.progress.plan.steps[index]
            self._marks = {index: latency_map.marks(self.progress.evidence, planned.name, planned.settings)}
        return self._marks[index]


class RunAdvanced(Message):
    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event
