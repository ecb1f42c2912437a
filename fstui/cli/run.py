"""``fstui run SCENARIO DIR``"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import click
import msgspec

from fstui.cli.asking import agreed, yes_option
from fstui.cli.events import EventLines
from fstui.cli.execution import BROKEN_PIPE
from fstui.cli.failing import CODE as FAILED_ON
from fstui.cli.failing import fail_on_option, fails
from fstui.cli.interruption import Interruption
from fstui.cli.narration import narrating
from fstui.cli.output import ReaderGone, put, say
from fstui.cli.output_file import check_output, deliver
from fstui.cli.rendering import format_option
from fstui.cli.restraint import restraint_of, restraint_options
from fstui.cli.settings import pairs
from fstui.cli.simulating import session_on, simulate_option
from fstui.cli.trust import trust_option
from fstui.model.counters import Idle
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.events import Event, RunFinished, StepStarted
from fstui.model.plan import Plan
from fstui.model.storage import CACHES, MEDIA
from fstui.report import formats, json
from fstui.report import plan as planned
from fstui.session import Session, caution, company, power_cut
from fstui.session.running import RunInProgress, Site


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The command line."""

    scenario: str
    directory: str | None
    settings: dict[str, str]
    medium: str | None
    write_cache: str | None
    plan_only: bool
    format: str
    output: Path | None
    fail_on: tuple[str, ...]
    like: int | None
    trace: Literal["auto", "off"]
    trust_dir: bool
    max_rate: str | None
    idle: bool
    yes: bool
    simulate: str | None
    pull_plug: float | None


@click.command("run")
@click.argument("scenario")
@click.argument("directory", metavar="DIR", required=False)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change a setting of the scenario.")
@click.option("--medium", type=click.Choice(MEDIA), help="What the lowest devices really are.")
@click.option("--write-cache", type=click.Choice(CACHES), help="Their write cache, really.")
@click.option("--like", type=int, metavar="PID", help="Measure in that process's io cgroup (root).")
@click.option(
    "--trace", type=click.Choice(("auto", "off")), default="auto", help="The kernel's own trace as a witness (root)."
)
@trust_option
@restraint_options
@yes_option
@simulate_option
@click.option("--pull-plug", type=float, metavar="S", help="Of the simulated disk, so long after the first step began.")
@click.option("--plan", "plan_only", is_flag=True, help="Say what would be done, and write nothing.")
@format_option(*formats.names(), "events")
@click.option("--output", type=Path, metavar="FILE", help="Write there instead of to stdout.")
@fail_on_option()
def command(settings: Sequence[str], format_: str, **asked: object) -> int:
    """Run SCENARIO in the directory DIR and judge the storage under it.

    SCENARIO is a name from 'fstui scenarios', or a file where it has a slash or ends in .toml. All writing happens in
    a directory that fstui makes in DIR and removes. Exit: 0 done, 1 a step failed, 2 refused, 3 see --fail-on.
    """
    if asked["directory"] is None and asked["simulate"] is None:
        raise click.UsageError("Missing argument 'DIR'.")
    if asked["pull_plug"] is not None and asked["simulate"] is None:
        raise Refused("--pull-plug is for a simulated disk: of a real one 'fstui powercut' proves what it keeps")
    if asked["directory"] == "":  # an unset variable; resolved, it would be the current directory
        raise Refused("DIR is empty: name a directory on the storage in question")
    if asked["scenario"] == power_cut.NAME:
        raise Refused(power_cut.NEEDS_A_PERSON)
    wanted = msgspec.convert({**asked, "settings": pairs(settings), "format": format_}, Asked)
    if not wanted.plan_only and wanted.settings.keys() & {"host", "port", "socket"}:
        _ask_for_password()
    if wanted.output is not None:
        asyncio.run(check_output(wanted.output))
    if wanted.plan_only and wanted.format not in ("plain", "json"):
        raise click.UsageError("--plan is printed as plain or json.")
    return asyncio.run(_Headless(wanted).go())


def _ask_for_password() -> None:
    """Of an existing database server, on a terminal, where the environment does not have it. Never in argv."""
    from fstui.session.servers import PASSWORD  # noqa: PLC0415  only where it is wanted

    if PASSWORD not in os.environ and sys.stdin.isatty():
        os.environ[PASSWORD] = click.prompt(
            "Password on the database server (empty: its option file, or none)",
            hide_input=True,
            default="",
            show_default=False,
            err=True,
        )


def _pull_plug(running: RunInProgress) -> None:
    try:
        running.pull_plug()
    except Refused as refusal:
        say(f"fstui: {refusal}")


def _here(asked: Asked) -> Session:
    return Session.here(
        like=asked.like,
        trace=asked.trace != "off",
        trusting=asked.trust_dir,
        restraint=restraint_of(asked.max_rate, asked.idle),
    )


class _Headless:
    """One headless run: its events to stdout, its story to stderr."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        if asked.simulate is not None:
            self._session, place = session_on(asked.simulate)
            say(f"SIMULATED: {self._session.simulated}. None of this is measured on storage.")
        else:
            self._session, place = _here(asked), ""
        self._directory = asked.directory or place
        self._interruption = Interruption()
        self._reader_gone = False

    async def go(self) -> int:
        """Returns the exit code. Raises Refused before a byte is written."""
        preparing = asyncio.current_task()
        assert preparing is not None
        self._interruption.listen(preparing.cancel)
        try:
            asked = self._asked
            said = Declaration.of(asked.medium, asked.write_cache)
            site, plan = await self._session.planned(asked.scenario, self._directory, asked.settings, said)
            idle, concerns = await self._looked(site, plan)
        except asyncio.CancelledError:
            if (code := self._interruption.exit_code) is None:
                raise
            say("fstui: stopped before the run began; nothing was written")
            return code
        if self._session.trouble:
            say(f"fstui: {self._session.trouble}")
        if self._session.home_hangs and not asked.plan_only:
            raise Refused(
                f"{self._session.home_hangs}. Runs are noted and saved there: set XDG_STATE_HOME to another disk"
            )
        if asked.plan_only:
            await self._deliver(json.indented(plan) if asked.format == "json" else planned.render(plan, site.target))
            return 0
        self._ask(concerns)
        for other in await company.beside(self._session, site):
            say(f"fstui: {other}")
        running = self._session.start(plan, site, idle)
        self._interruption.instead(
            running.stop, f"{site.place.path} has not answered yet, or what it held is being removed"
        )
        try:
            with narrating(plan, site.target, stdout_shows=self._stdout_shows) as narration:
                finished = await self._follow(running, narration.hear)
        except Refused as refusal:
            if (code := self._interruption.exit_code) is None:
                raise
            say(f"fstui: stopped before the run began: {refusal}")
            return code
        return await self._concluded(finished)

    async def _looked(self, site: Site, plan: Plan) -> tuple[Idle | None, tuple[str, ...]]:
        """What the devices do now, and what speaks against a run; nothing where that was answered before."""
        if self._asked.plan_only or self._asked.yes or self._session.simulated:
            return None, ()
        return await caution.look(self._session, site, plan.room_bytes)

    def _ask(self, concerns: Sequence[str]) -> None:
        """Raises Refused where there are any, and nobody wants it all the same."""
        if not concerns:
            return
        what = f"{self._asked.directory}: {', '.join(concerns)}"
        self._interruption.let_go()  # a question is left by Ctrl-C like any other
        if not agreed(what, "Run it all the same?", yes=False):
            raise Refused(f"{what}. Nothing was written; --yes runs it all the same")
        self._interruption.listen(lambda: None)  # the run is what stops, once it has begun

    @property
    def _stdout_shows(self) -> str | None:
        return None if self._asked.output else self._asked.format

    async def _follow(self, running: RunInProgress, hear: Callable[[Event], None]) -> RunFinished:
        """Every event to the narration, and to the reader where events are the data. Returns the last one."""
        finished = None
        lines = EventLines(self._asked.output)
        try:
            async for event in running.events():
                if isinstance(event, StepStarted) and not event.index and self._asked.pull_plug is not None:
                    asyncio.get_running_loop().call_later(self._asked.pull_plug, _pull_plug, running)
                with suppress(OSError):  # stderr is gone: the run goes on
                    hear(event)
                if self._asked.format == "events":
                    lines.write(event)
                if lines.reader_gone and not self._reader_gone:
                    self._reader_gone = True
                    running.stop()
                if isinstance(event, RunFinished):
                    finished = event
            self._interruption.let_go()
        finally:
            lines.close(self._interruption.patience_s)
        assert finished is not None, "a run ends with RunFinished"
        return finished

    async def _concluded(self, finished: RunFinished) -> int:
        """Print the document; the exit code: a signal before --fail-on before a failure."""
        run = finished.run
        if finished.save_error:
            say(f"fstui: {finished.save_error}")
        for left in run.left_behind:
            say(f"fstui: {left}")
        if self._asked.format != "events":
            try:
                await self._deliver(formats.render(self._asked.format, run, finished.saved_to))
            except ReaderGone:
                self._reader_gone = True
            except OSError as trouble:
                if self._interruption.signal is None:
                    raise
                say(f"fstui: {trouble.filename}: {trouble.strerror}")
        if (interrupted := self._interruption.exit_code) is not None:
            return interrupted
        if fails(run.verdict, run.speed.answer, self._asked.fail_on):
            return FAILED_ON
        if self._reader_gone:
            return BROKEN_PIPE
        return 1 if run.status == "failed" or finished.save_error or run.left_behind else 0

    async def _deliver(self, document: str | bytes) -> None:
        if self._asked.output is None:
            put(document, self._interruption.patience_s)
        else:
            await deliver(self._asked.output, document, self._interruption.patience_s)
