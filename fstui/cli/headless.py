"""One run off the screen: its events to stdout, its story to stderr, at the end its document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from fstui.cli.events import EventLines
from fstui.cli.execution import BROKEN_PIPE
from fstui.cli.interruption import Interruption
from fstui.cli.narration import narrating
from fstui.cli.options import FAILED_ON, agreed, fails, rate_limit_of, session_on
from fstui.cli.output import ReaderGone, put, say
from fstui.cli.output_file import deliver
from fstui.model.counters import Idle
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.events import Event, RunFinished, StepStarted
from fstui.model.plan import Plan
from fstui.model.run import Round, Run
from fstui.report import formats
from fstui.report.plans import of_plan
from fstui.runs import caution
from fstui.runs.runner import RunInProgress
from fstui.runs.session import Session
from fstui.runs.site import Site


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
        rate_limit=rate_limit_of(asked.max_rate, asked.idle),
    )


class Headless:
    """One headless run."""

    def __init__(self, asked: Asked, round_: Round | None = None, *, quiet: bool = False) -> None:
        """``round_``: it is one of several, and printed with them. ``quiet``: a plan is made, and not printed."""
        self._asked = asked
        if asked.simulate is not None:
            self._session, place = session_on(asked.simulate, round_)
            if not quiet and (round_ is None or round_.number == 1):
                say(f"SIMULATED: {self._session.simulated}. None of this is measured on storage.")
        else:
            self._session, place = _here(asked), ""
        self._directory = asked.directory or place
        self._interruption = Interruption()
        self._reader_gone = False
        self._round = round_
        self._quiet = quiet
        self.run: Run | None = None
        """Once it is over."""

    @property
    def interrupted(self) -> bool:
        """By a signal."""
        return self._interruption.signal is not None

    @property
    def patience_s(self) -> float | None:
        """So long a reader is waited for who takes nothing; None: as long as he likes."""
        return self._interruption.patience_s

    async def go(self) -> int:
        """Returns the exit code. Raises Refused before a byte is written."""
        return await self._interruption.ending(self._go(), "fstui: stopped before the run began; nothing was written")

    async def _go(self) -> int:
        asked = self._asked
        said = Declaration.of(asked.medium, asked.write_cache)
        site, plan = await self._session.planned(asked.scenario, self._directory, asked.settings, said)
        idle, concerns = await self._looked(site, plan)
        if self._session.trouble:
            say(f"fstui: {self._session.trouble}")
        if self._session.home_hangs and not asked.plan_only:
            raise Refused(
                f"{self._session.home_hangs}. Runs are noted and saved there: set XDG_STATE_HOME to another disk"
            )
        if asked.plan_only and not self._quiet:
            plan = await self._introduced(plan, site)
            await self._deliver(formats.render_report(asked.format, of_plan(plan, site.target)))
        if asked.plan_only:
            return 0
        self._ask(concerns)
        for other in await caution.other_runs(self._session, site):
            say(f"fstui: {other}")
        running = self._session.start(plan, site, idle, self._round)
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

    async def _introduced(self, plan: Plan, site: Site) -> Plan:
        """With what an existing server says of itself, where one is wanted."""
        if plan.server is None or self._session.simulated:
            return plan
        from fstui.runs import servers  # noqa: PLC0415  only where it is wanted

        return await servers.introduced(plan, site)

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
        return None if self._asked.output or self._round else self._asked.format

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
        run = self.run = finished.run
        if finished.save_error:
            say(f"fstui: {finished.save_error}")
        for left in run.left_behind:
            say(f"fstui: {left}")
        if self._asked.format != "events" and self._round is None:
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
