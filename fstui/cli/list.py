"""``fstui list``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put
from fstui.cli.rendering import format_option
from fstui.engine.flags import flags
from fstui.engine.machine import LocalMachine
from fstui.model import Inventory
from fstui.report import inventory


@click.command("list")
@format_option("plain", "json")
def command(format_: str) -> None:
    """List the filesystems with their stacks, media and flags. Writes nothing."""
    here = asyncio.run(_survey())
    found = flags(here)
    put(inventory.document(here, found) if format_ == "json" else inventory.render(here, found))


async def _survey() -> Inventory:
    machine = LocalMachine()
    return await machine.with_space(machine.survey())
