"""``fstui run SCENARIO DIR``"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

import click
import msgspec

from fstui.cli import completing
from fstui.cli.headless import Asked, Headless
from fstui.cli.options import (
    fail_on_option,
    format_option,
    output_option,
    pairs,
    rate_limit_options,
    simulate_option,
    trust_option,
    yes_option,
)
from fstui.cli.output_file import check_output
from fstui.cli.rounds import interleaved
from fstui.model.errors import Refused
from fstui.model.storage import CACHES, MEDIA
from fstui.report import comparison, formats
from fstui.runs import power_cut


@click.command("run")
@click.argument("scenario", shell_complete=completing.scenarios)
@click.argument("directories", metavar="DIR…", nargs=-1, shell_complete=completing.directories)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completing.settings,
    help="Change a setting of the scenario.",
)
@click.option("--medium", type=click.Choice(MEDIA), help="What the lowest devices really are.")
@click.option("--write-cache", type=click.Choice(CACHES), help="Their write cache, really.")
@click.option("--like", type=int, metavar="PID", help="Measure in that process's io cgroup (root).")
@click.option(
    "--trace", type=click.Choice(("auto", "off")), default="auto", help="The kernel's own trace as a witness (root)."
)
@trust_option
@rate_limit_options
@yes_option
@simulate_option
@click.option("--pull-plug", type=float, metavar="S", help="Of the simulated disk, so long after the first step began.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 99),
    default=1,
    help="So often, the DIRs by turns; compared. A simulated disk's seed is 1000 more each time.",
)
@click.option("--plan", "plan_only", is_flag=True, help="Say what would be done, and write nothing.")
@format_option(*formats.names(), "events")
@output_option()
@fail_on_option()
def command(directories: tuple[str, ...], settings: Sequence[str], rounds: int, format_: str, **asked: object) -> int:
    """Run SCENARIO in the directory DIR and judge the storage under it; several DIRs, or rounds, are compared.

    SCENARIO is a name from 'fstui scenarios', or a file where it has a slash or ends in .toml. All writing happens in
    a directory that fstui makes in DIR and removes. Exit: 0 done, 1 a step failed, 2 refused, 3 see --fail-on.
    """
    if not directories and asked["simulate"] is None:
        raise click.UsageError("Missing argument 'DIR'.")
    if asked["pull_plug"] is not None and asked["simulate"] is None:
        raise Refused("--pull-plug is for a simulated disk: of a real one 'fstui powercut' proves what it keeps")
    if "" in directories:  # an unset variable; resolved, it would be the current directory
        raise Refused("DIR is empty: name a directory on the storage in question")
    if asked["scenario"] == power_cut.NAME:
        raise Refused(power_cut.NEEDS_A_PERSON)
    wanted = msgspec.convert(
        {**asked, "directory": next(iter(directories), None), "settings": pairs(settings), "format": format_}, Asked
    )
    compared = len(directories) > 1 or rounds > 1
    if (compared or wanted.plan_only) and wanted.format not in formats.report_names():
        what = "A plan" if wanted.plan_only else "A comparison"
        raise click.UsageError(f"{what} is printed as {', '.join(formats.report_names())}.")
    if len(directories) > comparison.MOST:
        raise click.UsageError(f"Comparing takes {comparison.MOST} directories at the most, not {len(directories)}.")
    if not wanted.plan_only and wanted.settings.keys() & {"host", "port", "socket"}:
        _ask_for_password()
    if wanted.output is not None:
        asyncio.run(check_output(wanted.output))
    if compared:
        return asyncio.run(interleaved(wanted, directories or (None,), rounds))
    return asyncio.run(Headless(wanted).go())


def _ask_for_password() -> None:
    """Of an existing database server, on a terminal, where the environment does not have it. Never in argv."""
    from fstui.runs.servers import PASSWORD  # noqa: PLC0415  only where it is wanted

    if PASSWORD not in os.environ and sys.stdin.isatty():
        os.environ[PASSWORD] = click.prompt(
            "Password on the database server (empty: its option file, or none)",
            hide_input=True,
            default="",
            show_default=False,
            err=True,
        )
