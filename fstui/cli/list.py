"""``fstui list``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say, width
from fstui.cli.rendering import format_option
from fstui.report import inventory
from fstui.session import Session


@click.command("list")
@format_option("plain", "json")
def command(format_: str) -> None:
    """List the filesystems with their stacks, media and flags. Writes nothing."""
    session = Session.here()
    here = asyncio.run(session.with_space(session.survey().inventory))
    if session.trouble:
        say(f"fstui: {session.trouble}")
    put(inventory.document(*here) if format_ == "json" else inventory.render(*here, width()))
