"""Print the progress of a run without a screen to stderr: lines, and a bar if stderr is a terminal."""

import sys

from msgspec.structs import replace

from fstui.cli.output import can_redraw, clear_status, draw_status, is_terminal, say
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
from fstui.model.steps import Snapshot
from fstui.model.storage import Target
from fstui.report import replicas
from fstui.report.comparison import bar
from fstui.report.figures import Counts, step_line
from fstui.report.formats import plain
from fstui.report.plans import plan_head
from fstui.report.run import FILESYSTEM_PREFIX
from fstui.report.text import WIDTH, speed_line, verdict_line

_BAR_WIDTH = 30


class Narration:
    """Prints a line when a step finishes. In between, a line that is redrawn shows the current step."""

    def __init__(self, plan: Plan, target: Target, *, stdout_format: str | None) -> None:
        """``stdout_format``: the format that is printed to stdout."""
        on_stdout = stdout_format if is_terminal(sys.stdout) else None
        self._plan = plan
        self._target = target
        self._prints_verdict = on_stdout != "plain"  # the plain result on the same terminal contains the verdict
        self._redraws = on_stdout != "events" and can_redraw()
        self._configuration_printed = False
        self._evidence = Evidence(target=target)
        if self._redraws:
            draw_status("watching the idle devices")

    def on_event(self, event: Event) -> None:
        if self._redraws:
            self._draw(event)
        self._print(event)

    def _print(self, event: Event) -> None:
        match event:
            case RunStarted(untraced=untraced):
                for line in plain.lines(plan_head(self._plan, self._target), WIDTH):
                    say(line)
                if untraced:
                    say(f"not traced by the kernel: {untraced}")
            case FindingsChanged(judgement=judgement) if not self._configuration_printed:
                self._configuration_printed = True
                for finding in judgement.findings:
                    if finding.verdict in NOT_TRUSTED:
                        verdict = verdict_line(finding.verdict, finding.confidence)
                        say(f"before the first step: {verdict}: {finding.sentence}")
            case IdleMeasured(idle=idle):
                self._evidence = replace(self._evidence, idle=idle)
            case StepFinished(step=step):
                self._evidence = replace(self._evidence, steps=(*self._evidence.steps, step))
                say(step_line(step, Counts(self._evidence)))
            case RunFinished(run=run) if self._prints_verdict:
                if lost := replicas.headline(run):
                    say(f"{lost.title}: {lost.sentence}")
                say(f"{FILESYSTEM_PREFIX if lost else ''}{verdict_line(run.verdict, run.confidence)}: {run.sentence}")
                if speed := speed_line(run.speed):
                    say(speed)

    def _draw(self, event: Event) -> None:
        match event:
            case IdleMeasured():
                draw_status("starting")
            case StepPreparing(name=name, server_s=server_s) if server_s:
                draw_status(f"{name}: starting its server, {seconds(server_s)}")
            case StepPreparing(name=name, done=done, total=total, silent_s=silent_s):
                silence = f", no answer for {seconds(silent_s)}" if silent_s else ""
                draw_status(f"{name}: writing its file{silence}{_bar(done, total)}")
            case StepStarted(name=name):
                draw_status(name)
            case StepProgressed(snapshot=now):
                draw_status(f"{self._progress(now)}{_bar(now.elapsed_s, now.length_s)}")
            case RunFinished():
                clear_status()

    def _progress(self, now: Snapshot) -> str:
        if now.stall:
            return f"{now.name}: {now.stall.call} has not returned for {seconds(now.stall.elapsed_s)}"
        if not self._plan.steps[now.index].settings.uniform:
            return now.name
        p50 = f" p50 {duration_ns(now.latency_ns.p50)}" if now.latency_ns else ""
        return f"{now.name} {rate(now.rate_per_s)}/s{p50}"


def _bar(done: float, total: float | None) -> str:
    return f" {bar(min(done / total, 1.0), _BAR_WIDTH)}" if total else ""
