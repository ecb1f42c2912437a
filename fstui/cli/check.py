"""``fstui check [DIR…]``"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from fstui.cli import completing
from fstui.cli.events import EventLines
from fstui.cli.execution import FAILED
from fstui.cli.interruption import Interruption
from fstui.cli.options import (
    FAILED_ON,
    agreed,
    fail_on_option,
    fails,
    report_options,
    session_on,
    simulate_option,
    trust_option,
    yes_option,
)
from fstui.cli.output import put, say, width
from fstui.cli.output_file import check_output, deliver
from fstui.model.errors import Refused
from fstui.model.events import RunFinished
from fstui.report import check as report
from fstui.report import formats
from fstui.report.check import Check, Checked
from fstui.runs.checking import Checkup, Subject, followed, grouped
from fstui.runs.runner import RunInProgress
from fstui.runs.session import Session


class Printing(NamedTuple):
    """How it is to be printed, and since when it runs."""

    format: str
    output: Path | None
    began: float


@click.command("check")
@click.argument("directories", metavar="[DIR]…", nargs=-1, shell_complete=completing.directories)
@yes_option
@click.option(
    "--trace", type=click.Choice(("auto", "off")), default="auto", help="The kernel's own trace as a witness (root)."
)
@report_options("prometheus", "events")
@fail_on_option()
@trust_option
@simulate_option
def command(directories: Sequence[str], yes: bool, trace: str, format_: str, **asked: Any) -> int:
    """Check every writable filesystem, or those that hold the DIRs: does it keep its word, and is it slow?

    Each is written to for two seconds at most, and no more than 20 MB; all is removed. What holds no files, is
    read-only, in memory by its type, silent, or mounted a second time is left out and named. Every check is saved like
    any run. Exit: as 'fstui run', the worst of all; 1 where a filesystem does not answer.
    """
    printing = Printing(format_, asked["output"], time.monotonic())
    if printing.output is not None:
        asyncio.run(check_output(printing.output))
    if asked["simulate"]:
        session, _ = session_on(asked["simulate"])
    else:
        session = Session.here(trace=trace != "off", trusting=bool(asked["trust_dir"]))
    checkup = Checkup(session, directories, traced=trace != "off")
    asyncio.run(checkup.look())
    leave_the_busy(checkup, yes)
    if not checkup.subjects:
        raise Refused("nothing to check: " + "; ".join(f"{one.name}: {one.reason}" for one in checkup.left_out))
    return asyncio.run(_Headless(checkup, printing, asked["fail_on"]).go())


def leave_the_busy(checkup: Checkup, yes: bool) -> None:
    """Ask before each that somebody else needs; without a terminal nobody can say yes."""
    for subject in [subject for subject in checkup.subjects if subject.concerns]:
        what = ", ".join(subject.concerns)
        if not agreed(f"{subject.name}: {what}", "Check it all the same?", yes=yes):
            checkup.leave_out(subject, f"{what} (--yes checks it all the same)")


class _Headless:
    """One after another: their events or their table to stdout, a line each to stderr."""

    def __init__(self, checkup: Checkup, printing: Printing, fail_on: Sequence[str]) -> None:
        self._checkup = checkup
        self._printing = printing
        self._fail_on = fail_on
        self._interruption = Interruption()
        self._failed = any(one.trouble for one in checkup.left_out)

    async def go(self) -> int:
        """Returns the exit code."""
        return await self._interruption.ending(self._go())

    async def _go(self) -> int:
        rows: list[Checked] = []
        lines = EventLines(self._printing.output if self._printing.format == "events" else None)
        try:
            for subject in self._checkup.subjects:
                rows.append(await self._one(subject, lines))
                self._narrate(rows[-1])
                if self._interruption.signal is not None or lines.reader_gone:
                    break
            self._interruption.let_go()
        finally:
            lines.close(self._interruption.patience_s)
        await self._deliver(rows)
        return self._exit_code(rows)

    async def _one(self, subject: Subject, lines: EventLines) -> Checked:
        beginning = asyncio.ensure_future(self._checkup.begin(subject))
        self._interruption.instead(beginning.cancel)
        try:
            running = await beginning
            self._interruption.instead(running.stop, f"{subject.name} has not answered yet")
            return await self._followed(subject, running, lines)
        except Refused as refusal:
            self._failed = True
            return Checked(subject.name, None, str(refusal))
        except asyncio.CancelledError:
            if self._interruption.signal is None:
                raise
            return Checked(subject.name, None, "stopped before it began")

    async def _followed(self, subject: Subject, running: RunInProgress, lines: EventLines) -> Checked:
        async for event in followed(running):
            if self._printing.format == "events":
                lines.write(event)
            if lines.reader_gone:
                running.stop()
            if isinstance(event, RunFinished):
                self._note(event)
                return Checked(subject.name, event.run)
        raise AssertionError("a run ends with RunFinished")

    def _note(self, finished: RunFinished) -> None:
        """What the table does not say."""
        for problem in filter(None, [finished.save_error, *finished.run.left_behind]):
            self._failed = True
            say(f"fstui: {problem}")
        self._failed = self._failed or finished.run.status == "failed"

    def _narrate(self, row: Checked) -> None:
        if row.run is None or (sys.stderr is not None and os.isatty(2)):
            say(report.line(row))

    async def _deliver(self, rows: Sequence[Checked]) -> None:
        left_out = dict(grouped(self._checkup.left_out))
        if self._printing.format not in ("plain", "markdown", "html"):
            for reason, names in left_out.items():
                say(f"not checked, {reason}: {', '.join(names)}")
        if self._printing.format == "events":
            return
        check = Check(rows, left_out, time.monotonic() - self._printing.began)
        columns = width() if self._printing.output is None else None
        document = formats.render_report(self._printing.format, report.of_check(check), columns)
        if self._printing.output is None:
            put(document, self._interruption.patience_s)
        else:
            await deliver(self._printing.output, document, self._interruption.patience_s)

    def _exit_code(self, rows: Sequence[Checked]) -> int:
        """A signal before --fail-on before a failure, as of a run."""
        if (interrupted := self._interruption.exit_code) is not None:
            return interrupted
        if any(fails(row.run.verdict, row.run.speed.answer, self._fail_on) for row in rows if row.run):
            return FAILED_ON
        return FAILED if self._failed else 0
