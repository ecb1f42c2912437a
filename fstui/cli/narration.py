"""What a headless run tells on stderr while it goes: lines, and a bar where stderr is a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fstui.cli.output import say
from fstui.model import (
    Event,
    FindingsChanged,
    IdleMeasured,
    Plan,
    RunFinished,
    RunStarted,
    StepFinished,
    StepPreparing,
    StepProgressed,
    StepStarted,
    Target,
)
from fstui.quantities import duration_ns, plain, rate, seconds
from fstui.report import figures
from fstui.report import plain as report
from fstui.report.text import verdict_words

if TYPE_CHECKING:
    from rich.progress import Progress


class Narration:
    """Lines as the steps finish. ``verdict`` is False where the result itself goes to the same terminal."""

    def __init__(self, plan: Plan, target: Target, *, verdict: bool) -> None:
        self._plan = plan
        self._target = target
        self._verdict = verdict
        self._begun = False

    def hear(self, event: Event) -> None:
        """Tell what is worth a line."""
        match event:
            case RunStarted():
                self.tell("\n".join(report.plan_head(self._plan, self._target)))
            case FindingsChanged(judgement=judgement) if not self._begun:
                self._begun = True
                for found in judgement.findings:
                    if found.verdict in ("lost", "not-durable", "suspicious"):
                        words = f"{verdict_words(found.verdict, found.confidence)}: {plain(found.sentence)}"
                        self.tell(f"before the first step: {words}")
            case StepFinished(step=step):
                self.tell(report.step_line(step, self._target))
            case RunFinished(run=run) if self._verdict:
                self.tell(f"{verdict_words(run.verdict, run.confidence)}: {plain(run.sentence)}")

    def tell(self, line: str) -> None:
        """One line, or several."""
        say(line)


class BarNarration(Narration):
    """The same above a progress bar. It redraws when an event comes, and so starts no thread beside the measurement."""

    def __init__(self, plan: Plan, target: Target, progress: Progress, *, verdict: bool) -> None:
        super().__init__(plan, target, verdict=verdict)
        self._progress = progress
        self._task = progress.add_task("looking at the idle devices", total=None)

    def hear(self, event: Event) -> None:
        match event:
            case IdleMeasured():
                self._draw("starting")
            case StepPreparing(name=name, done=done, total=total):
                self._draw(f"{plain(name)}: writing its file", done, total)
            case StepStarted(name=name):
                self._draw(plain(name))
            case StepProgressed(snapshot=now):
                words = plain(now.name)
                if figures.rated(self._plan.steps[now.index].probe):
                    words += f" {rate(now.rate_per_s)}/s"
                    words += f" p50 {duration_ns(now.latency_ns.p50)}" if now.latency_ns else ""
                if now.stall:
                    words = f"{plain(now.name)}: {plain(now.stall.call)} in flight for {seconds(now.stall.elapsed_s)}"
                self._draw(words, now.elapsed_s, now.length_s)
            case RunFinished():
                self._progress.stop()
        super().hear(event)

    def tell(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def _draw(self, words: str, done: float = 0, total: float | None = None) -> None:
        self._progress.update(self._task, description=words, completed=done, total=total, refresh=True)


@contextmanager
def narrating(plan: Plan, target: Target, *, stdout_shows: str | None) -> Iterator[Narration]:
    """A bar where stderr is a terminal that can redraw a line and no events stream there; else lines alone.

    ``stdout_shows`` is the format that goes to stdout, None where it goes to a file.
    """
    on_stdout = stdout_shows if _is_terminal(1) else None
    verdict = on_stdout != "plain"
    redraws = _is_terminal(2) and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    if not redraws or on_stdout == "events":
        yield Narration(plan, target, verdict=verdict)
        return
    from rich.console import Console  # noqa: PLC0415  not needed without a terminal
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    console = Console(stderr=True)
    bar = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*bar, console=console, auto_refresh=False, transient=True) as progress:
        yield BarNarration(plan, target, progress, verdict=verdict)


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False
