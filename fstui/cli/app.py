"""``fstui [DIR]``: the terminal app."""

from __future__ import annotations

import click

from fstui.cli import completing
from fstui.cli.commands import APP
from fstui.cli.options import simulate_option, trust_option
from fstui.cli.terminal import start


@click.command(APP, add_help_option=False)
@click.argument("directory", metavar="[DIR]", required=False, shell_complete=completing.directories)
@trust_option
@simulate_option
def command(directory: str | None, trust_dir: bool, simulate: str | None) -> int:
    """Start the terminal app, with DIR at the plan for that directory."""
    return start(directory, trusting=trust_dir, simulate=simulate)
