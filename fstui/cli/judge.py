"""``fstui judge RUN``"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.options import format_option, output_option
from fstui.cli.output import say
from fstui.cli.output_file import check_output, hand_over
from fstui.cli.reading import found
from fstui.report import formats
from fstui.runs.rules import judged_again


@click.command("judge")
@click.argument("reference", metavar="RUN", shell_complete=completing.runs)
@format_option(*formats.names())
@output_option()
def command(reference: str, format_: str, output: Path | None) -> None:
    """Judge a saved run again, with today's rules. The saved document stays as it is."""
    if output is not None:
        asyncio.run(check_output(output))
    run, _, altered = asyncio.run(found(reference))
    again = judged_again(run, altered=altered)
    asyncio.run(hand_over(formats.render(format_, again), output))
    if again != run:
        was = f"{run.verdict}, {run.confidence} confidence"
        now = f"{again.verdict}, {again.confidence} confidence"
        say(f"Judged {was} then; {now} with today's rules." if was != now else "Same verdict, other findings.")
