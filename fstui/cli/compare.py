"""``fstui compare RUN RUN…``"""

from __future__ import annotations

import click

from fstui.cli.output import put
from fstui.report import compare
from fstui.state import runs


@click.command("compare")
@click.argument("references", metavar="RUN RUN…", nargs=-1, required=True)
def command(references: tuple[str, ...]) -> None:
    """Print saved runs side by side, one column each; of two, how many times as fast the second one is."""
    if len(references) < 2:
        raise click.UsageError("Comparing takes two runs or more.")
    put(compare.render([runs.load(reference) for reference in references]))
