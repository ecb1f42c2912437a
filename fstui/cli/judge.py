"""``fstui judge RUN``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli import completing
from fstui.cli.options import format_option
from fstui.cli.output import put, say
from fstui.cli.reading import found
from fstui.report import formats
from fstui.runs.rules import judged_again


@click.command("judge")
@click.argument("reference", metavar="RUN", shell_complete=completing.runs)
@format_option(*formats.names())
def command(reference: str, format_: str) -> None:
    """Judge a saved run again, with today's rules. The saved document stays as it is."""
    run, _, altered = asyncio.run(found(reference))
    again = judged_again(run, altered=altered)
    put(formats.render(format_, again))
    if again != run:
        was = f"{run.verdict}, {run.confidence} confidence"
        now = f"{again.verdict}, {again.confidence} confidence"
        say(f"Judged {was} then; {now} with today's rules." if was != now else "Same verdict, other findings.")
