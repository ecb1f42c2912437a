"""Print the progress of a run without a screen to stderr: lines, and a progress bar if stderr is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from fstui.cli.output import is_terminal, is_writable, say
from fstui.model.events import (
    Event,
    FindingsChanged,
    IdleMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepPreparing,
    StepProgressed,
    StepStarted,
)
from fstui.model.judgement import NOT_TRUSTED
from fstui.model.plan import Plan
from fstui.model.quantities import duration_ns, rate, seconds
from fstui.model.run import Evidence
from fstui.model.storage import Target
from fstui.report import replicas
from fstui.report.characters import escape_controls, join_lines
from fstui.report.figures import Counts, step_line
from fstui.report.formats import plain
from fstui.report.plans import plan_head
from fstui.report.run import FILESYSTEM_PREFIX
from fstui.report.text import WIDTH, speed_line, verdict_line, wrap

if TYPE_CHECKING:
    from rich.progress import Progress


class Narration:
    """Prints a line when a step finishes."""

    def __init__(self, plan: Plan, target: Target, *, verdict: bool) -> None:
        self._plan = plan
        self._target = target
        self._prints_verdict = verdict
        self._configuration_printed = False
        self._evidence = Evidence(target=target)

    def on_event(self, event: Event) -> None:
        match event:
            case RunStarted(untraced=untraced):
                self.print(*plain.lines(plan_head(self._plan, self._target), WIDTH))
                if untraced:
                    self.print(f"not traced by the kernel: {untraced}")
            case FindingsChanged(judgement=judgement) if not self._configuration_printed:
                self._configuration_printed = True
                for finding in judgement.findings:
                    if finding.verdict in NOT_TRUSTED:
                        verdict = verdict_line(finding.verdict, finding.confidence)
                        self.print(f"before the first step: {verdict}: {finding.sentence}")
            case IdleMeasured(idle=idle):
                self._evidence = replace(self._evidence, idle=idle)
            case StepFinished(step=step):
                self._evidence = replace(self._evidence, steps=(*self._evidence.steps, step))
                self.print(step_line(step, Counts(self._evidence)))
            case RunFinished(run=run) if self._prints_verdict:
                if lost := replicas.headline(run):
                    self.print(f"{lost.title}: {lost.sentence}")
                self.print(
                    f"{FILESYSTEM_PREFIX if lost else ''}{verdict_line(run.verdict, run.confidence)}: {run.sentence}"
                )
                self.print(*filter(None, [speed_line(run.speed)]))

    def print(self, *lines: str) -> None:
        for line in lines:
            say(line)


class BarNarration(Narration):
    """Prints the lines above a progress bar. Events redraw the bar; a thread could disturb the measurement."""

    def __init__(self, plan: Plan, target: Target, progress: Progress, *, verdict: bool) -> None:
        super().__init__(plan, target, verdict=verdict)
        self._progress = progress
        self._task = progress.add_task("watching the idle devices", total=None)

    def on_event(self, event: Event) -> None:
        match event:
            case IdleMeasured():
                self._draw("starting")
            case StepPreparing(name=name, server_s=server_s) if server_s:
                self._draw(f"{name}: starting its server, {seconds(server_s)}")
            case StepPreparing(name=name, done=done, total=total, silent_s=silent_s):
                silence = f", no answer for {seconds(silent_s)}" if silent_s else ""
                self._draw(f"{name}: writing its file{silence}", done, total)
            case StepStarted(name=name):
                self._draw(name)
            case StepProgressed(snapshot=now):
                description = now.name
                if self._plan.steps[now.index].settings.uniform:
                    description += f" {rate(now.rate_per_s)}/s"
                    description += f" p50 {duration_ns(now.latency_ns.p50)}" if now.latency_ns else ""
                if now.stall:
                    description = f"{now.name}: {now.stall.call} has not returned for {seconds(now.stall.elapsed_s)}"
                self._draw(description, now.elapsed_s, now.length_s)
            case RunFinished():
                self._progress.stop()
        super().on_event(event)

    def print(self, *lines: str) -> None:
        console = self._progress.console
        text = join_lines(part for line in lines for part in wrap(line, console.width) or [""])
        console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True, end="")

    def _draw(self, state: str, done: float = 0, total: float | None = None) -> None:
        self._progress.update(self._task, description=escape_controls(state), completed=done, total=total, refresh=True)


@contextmanager
def narrating(plan: Plan, target: Target, *, stdout_format: str | None) -> Iterator[Narration]:
    """Yield a narration, with a bar if stderr can redraw a line. ``stdout_format``: the format printed to stdout."""
    on_stdout = stdout_format if is_terminal(sys.stdout) else None
    verdict = on_stdout != "plain"  # the plain result on the same terminal contains the verdict
    redraws = is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    if not redraws or on_stdout == "events":
        yield Narration(plan, target, verdict=verdict)
        return
    from rich.console import Console  # noqa: PLC0415  not needed without a terminal
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    console = Console(file=cast("IO[str]", _NonBlockingStderr(sys.stderr)))
    bar = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*bar, console=console, auto_refresh=False, transient=True) as progress:
        yield BarNarration(plan, target, progress, verdict=verdict)


class _NonBlockingStderr:
    """stderr, but text is dropped while the terminal is stopped (Ctrl-S)."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> None:
        if is_writable(self._stream.fileno()):
            self._stream.write(text)
            self._stream.flush()

    def flush(self) -> None:
        """Do nothing: write flushes."""
