"""``fstui list``"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fstui.cli.options import report_options, session_on, simulate_option
from fstui.cli.output import say
from fstui.cli.output_file import check_output, print_report
from fstui.report import inventory
from fstui.runs.session import Session


@click.command("list")
@simulate_option
@report_options()
def command(format_: str, output: Path | None, simulate: str | None) -> None:
    """List the filesystems with their stacks, media and flags. Writes nothing."""
    if output is not None:
        asyncio.run(check_output(output))
    session = session_on(simulate)[0] if simulate else Session.here()
    here = asyncio.run(session.with_space(session.survey().inventory))
    if simulate:
        say(f"SIMULATED: {session.simulated}. None of this is storage.")
    if session.trouble:
        say(f"fstui: {session.trouble}")
    asyncio.run(print_report(inventory.of_host(*here), format_, output))
