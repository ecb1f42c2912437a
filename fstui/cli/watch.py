"""``fstui watch``"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import click

from fstui.cli import completing
from fstui.cli.interruption import Interruption
from fstui.cli.output import put, say, width
from fstui.cli.rendering import format_option
from fstui.cli.simulating import session_on, simulate_option
from fstui.model.watch import WatchedSecond, WatchEvent, WatchFinished, WatchReport, WatchStarted
from fstui.report import json, watch
from fstui.runs.session import Session

if TYPE_CHECKING:
    from fstui.runs.watch import Watching


@click.command("watch")
@click.option("--pid", type=int, metavar="PID", help="That process and its children alone.")
@click.option(
    "--mount", metavar="DIR", shell_complete=completing.directories, help="The filesystem of that directory alone."
)
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="So long; else until Ctrl-C.")
@format_option("plain", "json", "events")
@simulate_option
def command(pid: int | None, mount: str | None, seconds: float | None, format_: str, simulate: str | None) -> int:
    """Say who waits for which file to be on the disk, and what the time goes into. Writes nothing.

    As root, the kernel's own trace tells; without, what /proc tells to anybody. It ends with one sentence: the disk
    is slow, the filesystem is, the program asks too much, or nobody waits. On a simulated disk a program commits.
    """
    session = session_on(simulate)[0] if simulate else Session.here()
    if simulate:
        say(f"SIMULATED: {session.simulated}, and a program that commits 50 times a second. None of this is measured.")
    return asyncio.run(_watch(session, pid, mount, seconds, format_))


async def _watch(session: Session, pid: int | None, mount: str | None, seconds: float | None, format_: str) -> int:
    interruption = Interruption()
    preparing = asyncio.current_task()
    assert preparing is not None
    interruption.listen(preparing.cancel)
    watching = await session.watch(pid, mount)
    interruption.instead(watching.stop)
    report = await _followed(watching, seconds, format_)
    if format_ != "events":
        put(json.indented(report) if format_ == "json" else watch.render(report, width()))
    asked_to_end = interruption.exit_code if seconds is not None else None
    return asked_to_end or 0


async def _followed(watching: Watching, seconds: float | None, format_: str) -> WatchReport:
    report = None
    async for event in watching.events(seconds):
        if format_ == "events":
            put(json.line(event))
        else:
            _narrate(event)
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
