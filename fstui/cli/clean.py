"""``fstui clean``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say
from fstui.databases.leftovers import remove
from fstui.quantities import plain
from fstui.state import ledger
from fstui.state.ledger import Entry


@click.command("clean")
def command() -> int:
    """Remove what killed runs have left on their targets. What a living fstui uses is left alone."""
    return asyncio.run(_clean(ledger.stale()))


async def _clean(entries: list[Entry]) -> int:
    left = 0
    for entry in entries:
        problem = await remove(entry)
        left += problem is not None
        if problem is None:
            put(f"removed {plain(entry.what)}\n")
        else:
            say(f"fstui: {problem}")
    if not entries:
        say("Nothing was left behind.")
    return 1 if left else 0
