"""``fstui history``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say, width
from fstui.cli.rendering import format_option
from fstui.report import history as report
from fstui.report import json
from fstui.session import history


@click.command("history")
@format_option("plain", "json")
def command(format_: str) -> None:
    """List the saved runs, newest first."""
    found = asyncio.run(history.listed())
    if format_ == "json":
        put(json.indented(found))
    elif found:
        put(report.render(found, width()))
    else:
        say(f"No run is saved in {history.directory()} yet.")
