"""``fstui show RUN``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli import completing
from fstui.cli.output import put
from fstui.cli.reading import found
from fstui.cli.rendering import format_option
from fstui.report import formats


@click.command("show")
@click.argument("reference", metavar="RUN", shell_complete=completing.runs)
@format_option(*formats.names())
def command(reference: str, format_: str) -> None:
    """Print a saved run. RUN is its id, the beginning of its id, a file, or 'last'."""
    saved = asyncio.run(found(reference))
    put(formats.render(format_, saved.run, saved_to=saved.path))
