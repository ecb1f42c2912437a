"""``fstui scenarios [NAME]``"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.options import report_options
from fstui.cli.output import say
from fstui.cli.output_file import check_output, print_report
from fstui.model.plan import Plan
from fstui.report import plans as report
from fstui.report.sections import Report
from fstui.runs import power_cut, scenarios
from fstui.runs.scenarios import Scenario
from fstui.runs.session import Session


@click.command("scenarios")
@click.argument("name", required=False, shell_complete=completing.scenarios)
@report_options()
def command(name: str | None, format_: str, output: Path | None) -> None:
    """Say what can be run, what it asks, how long it takes and how much it writes.

    With NAME, or a file: its steps, and the settings that --set changes.
    """
    asyncio.run(_print(name, format_, output))


async def _print(name: str | None, format_: str, output: Path | None) -> None:
    if output is not None:
        await check_output(output)
    await print_report(await (_all() if name is None else _one(name)), format_, output)


async def _one(name: str) -> Report:
    if name == power_cut.NAME:
        return report.of_power_cut(power_cut.usual())
    return report.of_scenario(*await _planned(name, await scenarios.named(name)))


async def _all() -> Report:
    own, broken = await scenarios.own()
    found = [await _planned(*known) for known in (*scenarios.shipped_ones(), *own)]
    for mistake in broken:  # a broken file of the user's own does not hide the others
        say(f"fstui: {mistake}")
    return report.of_scenarios(found, power_cut.usual())


async def _planned(name: str, scenario: Scenario) -> tuple[Scenario, Plan]:
    session = Session.nowhere()
    return scenario, await session.plan(scenario, await session.look_up("DIR"), {}, called=name)
