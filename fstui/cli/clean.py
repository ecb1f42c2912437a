"""``fstui clean``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say
from fstui.report.characters import page
from fstui.runs import leftovers


@click.command("clean")
@click.option("--pending", is_flag=True, help="Also records of power cuts that nobody has verified.")
def command(pending: bool) -> int:
    """Remove what killed runs have left on their targets. What a living fstui uses is left alone.

    Records that wait for 'fstui powercut verify' are named and kept, unless --pending says otherwise.
    """
    return asyncio.run(_clean(pending))


async def _clean(pending: bool) -> int:
    waiting = await leftovers.waiting()
    entries = await leftovers.found() + (waiting if pending else [])
    for entry in [] if pending else waiting:
        say(f"kept {entry.what}: its power cut is not verified; --pending removes it unverified")
    left = 0
    for entry in entries:
        problem = await leftovers.remove(entry)
        left += problem is not None
        if problem is None:
            put(page([f"removed {leftovers.named(entry)}"]))
        else:
            say(f"fstui: {problem}")
    if elsewhere := await leftovers.of_other_hosts():
        hosts = ", ".join(sorted({entry.host for entry in elsewhere}))
        say(f"Left alone: {len(elsewhere)} entries of other hosts. Run 'fstui clean' on {hosts}.")
    elif not entries and not waiting:
        say("Nothing was left behind.")
    return 1 if left else 0
