"""``fstui clean``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say
from fstui.databases.leftovers import remove
from fstui.quantities import plain
from fstui.state import cuts, ledger
from fstui.state.ledger import Entry


@click.command("clean")
@click.option("--pending", is_flag=True, help="Also records of power cuts that nobody has verified.")
def command(pending: bool) -> int:
    """Remove what killed runs have left on their targets. What a living fstui uses is left alone.

    Records that wait for 'fstui powercut verify' are named and kept, unless --pending says otherwise.
    """
    waiting = cuts.pending()
    if pending:
        return asyncio.run(_clean(ledger.stale()))
    for entry in waiting:
        say(f"kept {plain(entry.what)}: its power cut is not verified; --pending removes it unverified")
    return asyncio.run(_clean(cuts.left_behind(), quiet=bool(waiting)))


async def _clean(entries: list[Entry], *, quiet: bool = False) -> int:
    left = 0
    for entry in entries:
        problem = await remove(entry)
        left += problem is not None
        if problem is None:
            put(f"removed {plain(entry.what)}\n")
        else:
            say(f"fstui: {problem}")
    if not entries and not quiet:
        say("Nothing was left behind.")
    return 1 if left else 0
