"""``fstui watch``"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fstui.cli import completing
from fstui.cli.events import EventLines
from fstui.cli.interruption import Interruption
from fstui.cli.options import report_options, session_on, simulate_option
from fstui.cli.output import ReaderGone, say
from fstui.cli.output_file import check_output, print_report
from fstui.model.watch import WatchedSecond, WatchEvent, WatchFinished, WatchReport, WatchStarted
from fstui.report import watch
from fstui.runs.session import Session

if TYPE_CHECKING:
    from fstui.runs.watch import Watching


@click.command("watch")
@click.option("--pid", type=int, metavar="PID", help="That process and its children alone.")
@click.option(
    "--mount", metavar="DIR", shell_complete=completing.directories, help="The filesystem of that directory alone."
)
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="So long; else until Ctrl-C.")
@report_options("events")
@simulate_option
def command(
    pid: int | None,
    mount: str | None,
    seconds: float | None,
    *,
    format_: str,
    output: Path | None,
    simulate: str | None,
) -> int:
    """Say who waits for which file to be on the disk, and what the time goes into. Writes nothing.

    As root, the kernel's own trace tells; without, what /proc tells to anybody. It ends with one sentence: the disk
    is slow, the filesystem is, the program asks too much, or nobody waits. On a simulated disk a program commits.
    """
    if output is not None:
        asyncio.run(check_output(output))
    session = session_on(simulate)[0] if simulate else Session.here()
    if simulate:
        say(f"SIMULATED: {session.simulated}, and a program that commits 50 times a second. None of this is measured.")
    return asyncio.run(_watch(session, (pid, mount), seconds, format_, output))


async def _watch(
    session: Session, of: tuple[int | None, str | None], seconds: float | None, format_: str, output: Path | None
) -> int:
    interruption = Interruption()

    async def work() -> int:
        watching = await session.watch(*of)
        interruption.instead(watching.stop)
        return await _printed(watching, seconds, format_, output, interruption)

    return await interruption.ending(work())


async def _printed(
    watching: Watching, seconds: float | None, format_: str, output: Path | None, interruption: Interruption
) -> int:
    lines = EventLines(output) if format_ == "events" else None
    report = await _followed(watching, seconds, lines)
    if lines is not None:
        lines.close(interruption.patience_s)
    else:
        await print_report(watch.of_watch(report), format_, output)
    asked_to_end = interruption.exit_code if seconds is not None else None
    return asked_to_end or 0


async def _followed(watching: Watching, seconds: float | None, lines: EventLines | None) -> WatchReport:
    report = None
    async for event in watching.events(seconds):
        if lines is None:
            _narrate(event)
        else:
            lines.write(event)
            if lines.reader_gone:
                raise ReaderGone
        if isinstance(event, WatchFinished):
            report = event.report
    assert report is not None, "a watch ends with its report"
    return report


def _narrate(event: WatchEvent) -> None:
    """A line a second for people who look on; why there is no trace for everybody."""
    match event:
        case WatchStarted(untraced=untraced) if untraced:
            say(f"not traced by the kernel: {untraced}")
        case WatchedSecond(second=second) if sys.stderr is not None and os.isatty(2):
            say(watch.line(second))
