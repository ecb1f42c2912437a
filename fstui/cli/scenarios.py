"""``fstui scenarios [NAME]``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli import completing
from fstui.cli.output import put, say, width
from fstui.model.plan import Plan
from fstui.report import scenarios as report
from fstui.runs import power_cut, scenarios
from fstui.runs.scenarios import Scenario
from fstui.runs.session import Session


@click.command("scenarios")
@click.argument("name", required=False, shell_complete=completing.scenarios)
def command(name: str | None) -> None:
    """Say what can be run, what it asks, how long it takes and how much it writes.

    With NAME, or a file: its steps, and the settings that --set changes.
    """
    if name == power_cut.NAME:
        put(report.power_cut_detail(power_cut.usual()))
    else:
        put(asyncio.run(_all() if name is None else _one(name)))


async def _one(name: str) -> str:
    return report.detail(*await _planned(name, await scenarios.named(name)))


async def _all() -> str:
    own, broken = await scenarios.own()
    found = [await _planned(*known) for known in (*scenarios.shipped_ones(), *own)]
    for mistake in broken:  # a broken file of the user's own does not hide the others
        say(f"fstui: {mistake}")
    return report.render(found, power_cut.usual(), width())


async def _planned(name: str, scenario: Scenario) -> tuple[Scenario, Plan]:
    session = Session.nowhere()
    return scenario, await session.plan(scenario, await session.look_up("DIR"), {}, called=name)
