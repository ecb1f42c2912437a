"""A saved run that a command line names."""

from __future__ import annotations

from fstui.cli.output import say
from fstui.runs import history
from fstui.runs.history import ALTERED, Saved


async def found(reference: str) -> Saved:
    """That run; of one that was altered it is said. Raises Refused."""
    saved = await history.find(reference)
    if saved.altered:
        say(f"fstui: {saved.path}: {ALTERED}")
    return saved
