"""One run without a screen: print its events or its result to stdout, and its progress to stderr."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from fstui.cli.delivery import EventLines, deliver
from fstui.cli.execution import BROKEN_PIPE, FAILED, UNACCEPTABLE, exit_status
from fstui.cli.interruption import Interruption
from fstui.cli.options import confirm, is_failure, open_session, rate_limit_of
from fstui.cli.output import ReaderGone, can_redraw, clear_status, draw_status, is_terminal, say
from fstui.model.counters import Idle
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
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
from fstui.model.run import Evidence, Round, Run
from fstui.model.steps import Snapshot
from fstui.model.storage import Target
from fstui.report import formats, replicas
from fstui.report.comparison import bar
from fstui.report.figures import Counts, step_line
from fstui.report.formats import plain
from fstui.report.plans import plan_head, plan_report
from fstui.report.run import verdict_title
from fstui.report.text import WIDTH, simulation_warning, speed_line, verdict_line
from fstui.runs import caution
from fstui.runs.runner import RunInProgress
from fstui.runs.site import Site

_BAR_WIDTH = 30
WAIT_LIMIT_S = 10.0
"""How long a step may wait before a line on stderr says so, if stderr is not a terminal."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    directory: str | None
    settings: dict[str, str]
    medium: str | None
    write_cache: str | None
    plan_only: bool
    format: str
    output: Path | None
    fail_on: tuple[str, ...]
    cgroup_of_pid: int | None
    trace: Literal["auto", "off"]
    trust_dir: bool
    max_rate: str | None
    idle: bool
    yes: bool
    simulate: str | None
    pull_plug_s: float | None


class HeadlessRun:
    def __init__(self, options: Options, round_: Round | None = None, *, quiet: bool = False) -> None:
        """``round_``: set if the run is one of several that are compared. ``quiet``: do not print the plan."""
        self._options = options
        self._session = open_session(
            options.simulate,
            round_,
            cgroup_of_pid=options.cgroup_of_pid,
            trace=options.trace != "off",
            trust_directory=options.trust_dir,
            rate_limit=rate_limit_of(options.max_rate, options.idle),
        )
        if self._session.simulated and not quiet and (round_ is None or round_.number == 1):
            say(simulation_warning(self._session.simulated))
        self._directory = options.directory or self._session.filesystems().filesystems[0].mount_point
        self.interruption = Interruption()
        self._reader_gone = False
        self._round = round_
        self._quiet = quiet
        self.run: Run | None = None

    async def go(self) -> int:
        """Run the scenario, print the result and return the exit status. Raises Refused before anything is written."""
        return await self.interruption.run_until_signal(
            self._go(), "fstui: stopped before the run started; nothing was written"
        )

    async def _go(self) -> int:
        options = self._options
        declared = Declaration.parse(options.medium, options.write_cache)
        site, plan = await self._session.plan_by_name(options.scenario, self._directory, options.settings, declared)
        self._check_plug_time(plan)
        device_activity, concerns = await self._check_activity(site, plan)
        if self._session.declarations_error:
            say(f"fstui: {self._session.declarations_error}")
        if self._session.state_directory_error and not options.plan_only:
            raise Refused(
                f"{self._session.state_directory_error}. Runs are recorded and saved there. "
                "Set XDG_STATE_HOME to another directory"
            )
        if options.plan_only:
            return await self._print_plan(plan, site)
        self._ask(concerns)
        for other in await caution.other_runs(self._session, site):
            say(f"fstui: {other}")
        running = self._session.start(plan, site, device_activity, self._round)
        self.interruption.listen(running.stop, f"{site.directory.path} does not answer, or its files are being removed")
        try:
            stdout_format = None if options.output or self._round else options.format
            narration = Narration(plan, site.target, stdout_format=stdout_format)
            finished = await self._follow(running, narration.on_event)
        except Refused as refusal:
            if (code := self.interruption.exit_code) is None:
                raise
            say(f"fstui: stopped before the run started: {refusal}")
            return code
        return await self._conclude(finished)

    async def _print_plan(self, plan: Plan, site: Site) -> int:
        if not self._quiet:
            if plan.server and not self._session.simulated:
                from fstui.runs import planner  # noqa: PLC0415  only for an existing server

                plan = await planner.with_server_facts(plan, site)
            self.interruption.release()
            await self._deliver(formats.render_report(self._options.format, plan_report(plan, site.target)))
        return self.interruption.exit_code or 0

    def _check_plug_time(self, plan: Plan) -> None:
        """Raise Refused if the power would be cut after the last step."""
        plug_time_s = self._options.pull_plug_s
        if plug_time_s is not None and plan.seconds is not None and plug_time_s >= plan.seconds:
            raise Refused(
                f"--pull-plug {seconds(plug_time_s)} is too late: the run ends after about {seconds(plan.seconds)}. "
                "Choose an earlier time or longer steps (--set seconds=…)"
            )

    async def _check_activity(self, site: Site, plan: Plan) -> tuple[Idle | None, tuple[str, ...]]:
        """Return the activity of the devices and what to confirm: nothing for a plan, with --yes or --simulate."""
        if self._options.plan_only or self._options.yes or self._session.simulated:
            return None, ()
        return await caution.check(self._session, site, plan.peak_bytes, plan.max_bytes)

    def _ask(self, concerns: Sequence[str]) -> None:
        if not concerns:
            return
        reason = f"{self._options.directory}: {', '.join(concerns)}"
        self.interruption.release()  # while fstui asks for confirmation, Ctrl-C must end it
        if not confirm(reason, "Run it anyway?", yes=False):
            raise Refused(
                f"{reason}. Nothing was written. Use --yes to run it anyway, or 'fstui check', which writes at most "
                "6 MiB"
            )
        self.interruption.listen(lambda: None)  # until the run has started

    async def _follow(self, running: RunInProgress, on_event: Callable[[Event], None]) -> RunFinished:
        """Pass each event to the narration and, with ``--format events``, to stdout. Return the last event."""
        finished = None
        lines = EventLines(self._options.output)
        try:
            async for event in running.events():
                if isinstance(event, StepStarted) and not event.index and self._options.pull_plug_s is not None:
                    asyncio.get_running_loop().call_later(self._options.pull_plug_s, _pull_plug, running)
                with suppress(OSError):  # stderr is gone: the run continues
                    on_event(event)
                if self._options.format == "events":
                    lines.write(event)
                if lines.reader_gone:
                    running.stop()
                if isinstance(event, RunFinished):
                    finished = event
            self.interruption.release()
        finally:
            lines.close(self.interruption.timeout_s)
        self._reader_gone |= lines.reader_gone
        assert finished is not None, "a run ends with RunFinished"
        return finished

    async def _conclude(self, finished: RunFinished) -> int:
        run = self.run = finished.run
        for problem in filter(None, (finished.save_error, *run.left_behind)):
            say(f"fstui: {problem}")
        pull_plug_s = self._options.pull_plug_s
        cut_missing = pull_plug_s is not None and all(step.settings.probe != "powercut" for step in run.steps)
        if cut_missing:
            say("fstui: the run ended without the power cut that --pull-plug requested")
        if self._options.format != "events" and self._round is None:
            try:
                await self._deliver(formats.render(self._options.format, run, finished.saved_to))
            except ReaderGone:
                self._reader_gone = True
        return exit_status(
            self.interruption.exit_code or 0,
            UNACCEPTABLE if is_failure(run.verdict, run.speed.answer, self._options.fail_on) else 0,
            BROKEN_PIPE if self._reader_gone else 0,
            FAILED if run.status == "failed" or finished.save_error or run.left_behind or cut_missing else 0,
        )

    async def _deliver(self, document: str | bytes) -> None:
        await deliver(self._options.output, document, self.interruption.timeout_s)


def _pull_plug(running: RunInProgress) -> None:
    try:
        running.pull_plug()
    except Refused as refusal:
        say(f"fstui: {refusal}")


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
        self._wait_limit_s = WAIT_LIMIT_S
        self._evidence = Evidence(target=target)
        if self._redraws:
            draw_status("watching the idle devices")

    def on_event(self, event: Event) -> None:
        if self._redraws:
            self._draw(event)
        else:
            self._report_wait(event)
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
                    say(f"{lost.title}: {lost.lines[0]}")
                say(f"{verdict_title(run)}: {run.sentence}")
                if speed := speed_line(run.speed):
                    say(speed)

    def _draw(self, event: Event) -> None:
        match event:
            case StepPreparing(done=done, total=total):
                draw_status(f"{self._status(event)}{_bar(done, total)}")
            case StepProgressed(snapshot=now):
                draw_status(f"{self._status(event)}{_bar(now.elapsed_s, now.length_s)}")
            case IdleMeasured() | StepStarted():
                draw_status(self._status(event))
            case RunFinished():
                clear_status()

    def _report_wait(self, event: Event) -> None:
        """Print what a step waits for, after WAIT_LIMIT_S and whenever that time has doubled."""
        match event:
            case StepPreparing(silent_s=silent_s, server_s=server_s):
                waited_s = silent_s + server_s
            case StepProgressed(snapshot=now):
                waited_s = now.stall.elapsed_s if now.stall else 0.0
            case _:
                waited_s = 0.0
        if not waited_s:
            self._wait_limit_s = WAIT_LIMIT_S
        elif waited_s >= self._wait_limit_s:
            self._wait_limit_s = 2 * waited_s
            say(self._status(event))

    def _status(self, event: Event) -> str:
        match event:
            case StepPreparing(name=name, server_s=server_s) if server_s:
                return f"{name}: starting its server, {seconds(server_s)}"
            case StepPreparing(name=name, silent_s=silent_s):
                return f"{name}: writing its file{f', no answer for {seconds(silent_s)}' if silent_s else ''}"
            case StepProgressed(snapshot=now):
                return self._progress(now)
            case StepStarted(name=name):
                return name
            case _:
                return "starting"

    def _progress(self, now: Snapshot) -> str:
        if now.stall:
            return f"{now.name}: {now.stall.call} has not returned for {seconds(now.stall.elapsed_s)}"
        if not self._plan.steps[now.index].settings.uniform:
            return now.name
        p50 = f" p50 {duration_ns(now.latency_ns.p50)}" if now.latency_ns else ""
        return f"{now.name} {rate(now.rate_per_s)}/s{p50}"


def _bar(done: float, total: float | None) -> str:
    return f" {bar(min(done / total, 1.0), _BAR_WIDTH)}" if total else ""
