"""``fstui list``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say, width
from fstui.cli.rendering import format_option
from fstui.cli.simulating import session_on, simulate_option
from fstui.report import inventory
from fstui.runs.session import Session


@click.command("list")
@simulate_option
@format_option("plain", "json")
def command(format_: str, simulate: str | None) -> None:
    """List the filesystems with their stacks, media and flags. Writes nothing."""
    session = session_on(simulate)[0] if simulate else Session.here()
    here = asyncio.run(session.with_space(session.survey().inventory))
    if simulate:
        say(f"SIMULATED: {session.simulated}. None of this is storage.")
    if session.trouble:
        say(f"fstui: {session.trouble}")
    put(inventory.document(*here) if format_ == "json" else inventory.render(*here, width()))
