"""``fstui scenarios [NAME]``"""

from __future__ import annotations

import asyncio

import click

from fstui import scenario as scenarios
from fstui.cli.output import put, say
from fstui.engine.plan import make_plan
from fstui.engine.replay import ReplayMachine
from fstui.model import Plan, Refused, Run, Target
from fstui.report import scenarios as report

_NOWHERE = Run(id="plan", started_at="", target=Target(path="DIR", mount_point="DIR", fstype="", source=""))
"""Planned on a machine without storage: what a scenario takes does not depend on where it runs."""


@click.command("scenarios")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Say what can be run, what it asks, how long it takes and how much it writes.

    With NAME, or a file: its steps, and the settings that --set changes.
    """
    if name is not None:
        put(report.detail(*_planned(name)))
        return
    found = []
    for known in scenarios.names():
        try:
            found.append(_planned(known))
        except Refused as mistake:  # a broken file of the user's own does not hide the others
            say(f"fstui: {mistake}")
    put(report.render(found))


def _planned(name: str) -> tuple[scenarios.Scenario, Plan]:
    _, plan = asyncio.run(make_plan(name, "DIR", ReplayMachine(_NOWHERE)))
    return scenarios.load(name), plan
