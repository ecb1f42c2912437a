"""``fstui watch``"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fstui.cli import completion
from fstui.cli.delivery import EventLines, print_report
from fstui.cli.interruption import Interruption
from fstui.cli.options import Duration, open_session, report_options, simulate_option
from fstui.cli.output import ReaderGone, is_terminal, say
from fstui.model.at_risk import AtRiskFinished, AtRiskReport, AtRiskSecond, AtRiskStarted
from fstui.model.watch import WatchedSecond, WatchEvent, WatchFinished, WatchReport, WatchStarted
from fstui.report import watch as report
from fstui.report.at_risk import at_risk_report, summary_line
from fstui.report.text import simulation_warning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from fstui.runs.watch import WatchInProgress


class _Watch(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if type(error) is click.UsageError:  # unexpected extra arguments, usually a directory
                raise click.UsageError(f"{error.message}. To watch one filesystem, use '--mount DIR'.", ctx) from error
            raise


@click.command("watch", cls=_Watch)
@click.option("--pid", type=int, metavar="PID", help="Watch only this process and its children.")
@click.option(
    "--mount", metavar="DIR", shell_complete=completion.directories, help="Watch only the filesystem of this directory."
)
@click.option(
    "--seconds",
    type=Duration(min=0, min_open=True),
    help="Watch for this long, for example 30 or 10m. Default: until Ctrl-C.",
)
@click.option("--at-risk", is_flag=True, help="Show what each program would lose if the power failed now.")
@report_options("events")
@simulate_option
def watch(
    pid: int | None,
    mount: str | None,
    seconds: float | None,
    *,
    at_risk: bool,
    format_: str,
    output: Path | None,
    simulate: str | None,
) -> int:
    """Show which programs wait for which files to reach the disk, and which layer is slow.

    As root, fstui reads the kernel's trace, and writes one small file to ~/.local/state/fstui: the name of its trace
    instance in the kernel. Without root, it reads only /proc, and writes nothing.

    The watch ends with one of these conclusions: a program waits for the disk, or for a CPU; the filesystem is frozen;
    the filesystem, or a layer above the disk, is slow; an I/O limit of the program's cgroup is reached; the program
    syncs too often; no program waits; the cause is not certain. The tables also list other programs that sync often.

    With --at-risk, fstui shows for each program and file how many written bytes are not durable, since when, and how
    often the program syncs. It does not open the programs' files, and syncs nothing.

    'fstui explain wait-columns', 'cpu-wait' and 'at-risk-columns' explain the columns.

    \b
    Examples:
      fstui watch --seconds 30
      sudo fstui watch --mount /var/lib/mysql
      sudo fstui watch --at-risk --seconds 60
    """
    session = open_session(simulate)
    if simulate is not None and not at_risk:
        say(f"{simulation_warning(session.simulated or '')} A simulated program commits 50 times a second.")
    start = session.watch_risk if at_risk else session.watch
    return asyncio.run(_watch(lambda: start(pid, mount), seconds, format_, output))


async def _watch(
    start: Callable[[], Awaitable[WatchInProgress]], seconds: float | None, format_: str, output: Path | None
) -> int:
    interruption = Interruption()

    async def work() -> int:
        watching = await start()
        interruption.listen(watching.stop)
        lines = EventLines(output) if format_ == "events" else None
        finished = await _follow(watching, seconds, lines)
        interruption.release()
        if lines is not None:
            lines.close(interruption.timeout_s)
            if lines.reader_gone:
                raise ReaderGone
        else:
            report_ = at_risk_report(finished) if isinstance(finished, AtRiskReport) else report.watch_report(finished)
            await print_report(report_, format_, output, interruption.timeout_s)
        ended_as_documented = seconds is None and interruption.signal is signal.SIGINT  # "until Ctrl-C"
        return 0 if ended_as_documented else interruption.exit_code or 0

    return await interruption.run_until_signal(work())


async def _follow(
    watching: WatchInProgress, seconds: float | None, lines: EventLines | None
) -> WatchReport | AtRiskReport:
    finished = None
    async with aclosing(watching.events(seconds)) as events:
        async for event in events:
            if lines is None:
                _narrate(event, watching.devices)
            else:
                lines.write(event)
                if lines.reader_gone:
                    watching.stop()
            if isinstance(event, WatchFinished | AtRiskFinished):
                finished = event.report
    assert finished is not None, "a watch ends with its report"
    return finished


def _narrate(event: WatchEvent, devices: Collection[str] | None) -> None:
    """Print why there is no trace and, on a terminal, one line each second with the flushes of these devices."""
    match event:
        case WatchStarted(untraced=untraced) | AtRiskStarted(untraced=untraced) if untraced:
            say(f"not traced by the kernel: {untraced}")
        case WatchedSecond(second=second) if is_terminal(sys.stderr):
            say(report.line(second if devices is None else second.only_of(devices)))
        case AtRiskSecond(second=state, unsafe=unsafe) if is_terminal(sys.stderr):
            say(summary_line(state, unsafe))
