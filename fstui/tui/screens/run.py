"""The run screen: live latencies, both ends of the I/O path, and the findings so far."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container

from fstui.model.errors import Refused
from fstui.report import latency_map
from fstui.report.latency_map import Mark
from fstui.runs.runner import RunInProgress
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT, Command
from fstui.tui.drawing import io_path, latency
from fstui.tui.drawing import run as drawing
from fstui.tui.drawing.cells import rule
from fstui.tui.drawing.latency import LatencyView
from fstui.tui.progress import Progress
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.widgets.lines import Slices

DRAW_INTERVAL_S = 0.25
"""Time between two updates of the terminal."""
_OVERRUN_FACTOR = 1.02
"""A step may exceed its planned time by this factor before its time axis becomes longer."""
PAUSE = Command("run.hold", "space", "pause", "pause view", "Pause the view. The measurement continues.")
PLUG = Command("run.plug", "p", "plug", "pull plug", "Cut the simulated disk's power, and see what it lost.")
CHANGE = Command("run.turn", "t", "change", "change", "Change a parameter of the simulated disk during the run.")


class RunScreen(BaseScreen):
    KEYS = (
        PAUSE,
        Command("run.next", "n", "next_step", "next step", "End this step and continue with the next one."),
        Command("run.stop", "s", "stop", "stop", "Stop the run, remove its files and judge the steps so far."),
        PLUG,
        CHANGE,
        HELP,
        replace(BACK, label=""),
        QUIT,
        Command("run.result", "enter", "result", "", "Show the result after the end of the run."),
        PAGE_UP,
        PAGE_DOWN,
    )
    SCROLLED_PART = "layers"
    SHOWS_RUN = True
    HELP_TEXT = (
        "At the top is the verdict so far. Below are the steps: operations per second, the latency of a whole "
        "operation (write and sync), and the flushes per requested sync at the devices that the verdict is about. In "
        "the middle is latency over time. The colour of a dot shows which share of the operations at that time, at "
        "least 50, had this latency. An arrow next to a percentile points to its value. Red is a stall; "
        "yellow is faster than the device can be. Horizontal lines are references. 'revolution': one revolution of "
        "the disk. 'half rev.': half of one, the mean wait at random offsets. 'last run': the mean of the previous "
        "run. 'published': the median of published results. 'idle flush': the mean time of a flush of other processes "
        "before the run. At the right are the percentiles. The table LAYER, at the bottom or at the right of a wide "
        "screen, compares what fstui requested with what the kernel counted at each layer. The kernel also counts the "
        "I/O of other processes. '+ others': other processes also flushed, so the flushes per sync are not known."
    )

    def __init__(self, running: RunInProgress) -> None:
        super().__init__()
        self.run_in_progress = running
        self.progress = Progress(running.plan, running.target)
        self.view = self.progress
        """The progress that is drawn: a copy while the view is paused."""
        self.is_over = False
        self._has_changed = True
        self._marks: dict[int, tuple[Mark, ...]] = {}

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("finding", lambda width, height: drawing.finding(self.view, width))
        with Container(id="both"):
            with Container(id="main"):
                yield self.lines("table", lambda width, height: drawing.steps(self.view, width, height), frame=True)
                yield self.lines("rule", self._draw_rule, classes="line", frame=True)
                yield Slices("map", self._draw_map)
            with Container(id="side"):
                yield self.lines("layers", self._draw_layers, frame=True)
                yield self.lines("about", self._draw_about, frame=True)
                yield self.lines("head", lambda width, height: [rule(width, f"{self._operations}/s")], frame=True)
                yield Slices("rates", lambda width, height: latency.rates(self._latency_view(), width, height))
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.set_interval(DRAW_INTERVAL_S, self.draw_changes)
        self.follow()

    @work(exit_on_error=False)
    async def follow(self) -> None:
        """Handle the runner's events until the run has removed its files."""
        try:
            async for event in self.run_in_progress.events():
                self.progress.apply(event)
                self._has_changed = True
        except Refused as refusal:
            self.progress.trouble = str(refusal)
        except Exception as error:  # a fault in fstui must not leave the terminal in a bad state
            self.fstui.fault = error
            self.progress.trouble = f"An error in fstui ended the run: {type(error).__name__}: {error}"
        finally:
            self.call_later(self._finish)

    def _finish(self) -> None:
        progress = self.progress
        trouble = None if self.fstui.fault else progress.trouble  # a fault is printed anyway
        self.fstui.run_ended(progress.run, progress.saved_to, progress.save_error, trouble)
        self.is_over = True
        self._has_changed = True
        if self.progress.trouble:  # the header has room for its beginning only
            self.say(self.progress.trouble)
        self.part("rule").redraw()  # a paused view changes this line only
        self._show_result()

    def on_screen_resume(self) -> None:
        """Show the result, in case the run ended while another screen was in front."""
        self._show_result()

    def _show_result(self) -> None:
        if self.is_over and not self.is_paused:
            self.action_result()

    def draw_changes(self) -> None:
        """Draw changes, unless the view is paused or the terminal has not kept up."""
        if self._has_changed and not self.is_paused and self.terminal_is_ready():
            self._has_changed = False
            self.redraw()

    @property
    def is_paused(self) -> bool:
        return self.view is not self.progress

    def action_pause(self) -> None:
        self.view = self.progress if self.is_paused else copy(self.progress)
        self.redraw()
        self._show_result()

    def action_next_step(self) -> None:
        self.run_in_progress.skip_step()

    def action_stop(self) -> None:
        if self.progress.run is not None:
            self.say("The run is over. Press Enter to see its result.")
            return
        self.run_in_progress.stop()
        self.say("Stopping: fstui ends the step, removes its files and judges the steps so far.")

    def action_plug(self) -> None:
        with self.fstui.reporting():
            self.run_in_progress.pull_plug()

    async def action_change(self) -> None:
        await self.open_prompt("KEY=VALUE, such as disk.platter.rpm=5400 or disk.cache.flush=ignored", self._change)

    def _change(self, setting: str) -> None:
        with self.fstui.reporting():
            self.run_in_progress.change(setting)

    async def go_back(self) -> None:
        if self.is_over:
            await super().go_back()
        else:
            self.say("The run continues. Press s to stop it.")

    def action_result(self) -> None:
        progress = self.progress
        if progress.run is not None and self.is_active:
            self.fstui.open_result(progress.run, progress.saved_to, progress.target.path, progress.save_error)

    def footer_commands(self) -> Iterable[Command]:
        simulated = self.progress.target.simulated is not None
        shown = (command for command in self.KEYS if command not in (PLUG, CHANGE) or simulated)
        pause = replace(PAUSE, label="continue") if self.is_paused else PAUSE
        return (pause if command is PAUSE else command for command in shown)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.view, self.fstui.session.simulated, width)]

    def _draw_rule(self, width: int, height: int) -> list[Text]:
        pause = f"paused: Space {'shows the result' if self.progress.run else 'continues'}" if self.is_paused else ""
        return [drawing.map_rule(self.view, pause, width)]

    def _draw_layers(self, width: int, height: int) -> list[Text]:
        others = not self.has_class("-narrow")  # there, the map needs the line more
        return drawing.requested_and_counted(self.view, width, height, others=others)

    def _draw_map(self, width: int, height: int) -> list[Text]:
        rates_name = None if self.has_class("-huge") else self._operations  # there, they have a chart of their own
        return latency.chart(self._latency_view(), width, height, rates_name)

    @property
    def _operations(self) -> str:
        index = self.view.map_index
        return (index is not None and self.view.plan.steps[index].settings.operation_name) or "operations"

    def _draw_about(self, width: int, height: int) -> list[Text]:
        disk = getattr(self.fstui.session.machine, "parameters", None)  # of a simulated disk, which is known
        return io_path.expected_path(self.progress.plan, self.progress.target, width, disk)

    def _latency_view(self) -> LatencyView:
        progress = self.view
        index = progress.map_index
        if index is None:
            return LatencyView()
        planned = progress.plan.steps[index]
        running = progress.snapshot if index == progress.current_index else None
        step = running or progress.finished_steps.get(index)
        length_s = None if progress.plan.seconds is None else planned.settings.seconds
        if running is not None:
            length_s = running.length_s
        marks = self._marks_of(index)
        if step is None:
            return LatencyView(length_s=length_s, marks=marks)
        planned_s = length_s or 0.0
        while length_s and length_s * _OVERRUN_FACTOR < step.elapsed_s:
            length_s += planned_s / 4  # extend the axis in large parts, so that it rarely changes
        stall = running.stall if running else None
        failed = running is None and progress.finished_steps[index].error is not None
        return LatencyView(latency.timeline(step), step.elapsed_s, length_s, marks, step.latency_ns, stall, failed)

    def _marks_of(self, index: int) -> tuple[Mark, ...]:
        """Return the reference values of a step. They do not change during the step, so they are computed once."""
        if index not in self._marks:
            planned = self.view.plan.steps[index]
            self._marks = {index: latency_map.marks(self.view.evidence, planned.name, planned.settings)}
        return self._marks[index]
