"""``fstui show RUN``"""

from __future__ import annotations

import click

from fstui.cli.output import put
from fstui.cli.rendering import FORMATS, format_option, rendered
from fstui.state import runs


@click.command("show")
@click.argument("reference", metavar="RUN")
@format_option(*FORMATS)
def command(reference: str, format_: str) -> None:
    """Print a saved run. RUN is its id, the beginning of its id, a file, or 'last'."""
    path = runs.find(reference)
    put(rendered(runs.read(path), format_, saved_to=str(path)))
