"""``fstui simulate [DISK]``"""

from __future__ import annotations

import click

from fstui.cli.output import put, width
from fstui.report import simulated
from fstui.runs import simulation


@click.command("simulate")
@click.argument("disk", required=False)
@click.option("--truth", is_flag=True, help="And what it does in truth: to be opened last.")
def command(disk: str | None, truth: bool) -> None:
    """List the simulated disks; with DISK what it is made of. 'fstui --simulate DISK' starts the app on it."""
    if disk is None:
        put(simulated.render([simulation.load(name) for name in simulation.names()], width()))
    else:
        put(simulated.detail(simulation.named(disk), truth=truth))
