"""``fstui simulate [DISK]``"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fstui.cli.options import report_options
from fstui.cli.output_file import check_output, print_report
from fstui.report import teaching
from fstui.runs import simulation


@click.command("simulate")
@click.argument("disk", required=False)
@click.option("--truth", is_flag=True, help="And what it does in truth: to be opened last.")
@report_options()
def command(disk: str | None, truth: bool, format_: str, output: Path | None) -> None:
    """List the simulated disks; with DISK what it is made of. 'fstui --simulate DISK' starts the app on it."""
    if output is not None:
        asyncio.run(check_output(output))
    if disk is None:
        report = teaching.of_disks([simulation.load(name) for name in simulation.names()])
    else:
        report = teaching.of_disk(simulation.named(disk), truth=truth)
    asyncio.run(print_report(report, format_, output))
