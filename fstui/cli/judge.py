"""``fstui judge RUN``"""

from __future__ import annotations

import click
from msgspec.structs import replace

from fstui.cli.output import put, say
from fstui.cli.rendering import FORMATS, format_option, rendered
from fstui.judge import judge
from fstui.state import runs


@click.command("judge")
@click.argument("reference", metavar="RUN")
@format_option(*FORMATS)
def command(reference: str, format_: str) -> None:
    """Judge a saved run again, with today's rules. The saved document stays as it is."""
    run = runs.load(reference)
    found = judge(run)
    again = replace(
        run, findings=found.findings, verdict=found.verdict, confidence=found.confidence, sentence=found.sentence
    )
    put(rendered(again, format_))
    if again != run:
        was = f"{run.verdict}, {run.confidence} confidence"
        now = f"{again.verdict}, {again.confidence} confidence"
        say(f"Judged {was} then; {now} with today's rules." if was != now else "Same verdict, other findings.")
