"""``fstui show RUN``"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.options import format_option, output_option
from fstui.cli.output_file import check_output, hand_over
from fstui.cli.reading import found
from fstui.report import formats


@click.command("show")
@click.argument("reference", metavar="RUN", shell_complete=completing.runs)
@format_option(*formats.names())
@output_option()
def command(reference: str, format_: str, output: Path | None) -> None:
    """Print a saved run. RUN is its id, the beginning of its id, a file, or 'last'."""
    if output is not None:
        asyncio.run(check_output(output))
    saved = asyncio.run(found(reference))
    asyncio.run(hand_over(formats.render(format_, saved.run, saved_to=saved.path), output))
