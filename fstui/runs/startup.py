"""What earlier runs of fstui left in the state directory."""

from __future__ import annotations

from typing import NamedTuple

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.powercut import power_cuts
from fstui.simulate.lab import laboratory
from fstui.state import user_data
from fstui.state.ledger import Entry
from fstui.state.paths import in_home


class Before(NamedTuple):
    """What other days have left for this one."""

    declared: dict[str, Declaration]
    """By target identity."""
    left_behind: list[Entry]
    """By killed runs: to be removed without a question."""
    keys: dict[str, str]
    """Command → key, where the user has changed it."""
    theme: str = ""
    """The one that the user has chosen; empty: none."""
    trouble: str = ""
    """Why the keys could not be understood."""


async def keep_theme(name: str) -> None:
    """From now on the app starts with it. Raises OSError, Refused."""
    await in_home(user_data.keep_theme, name)


def from_before() -> Before:
    """Return all that the app needs when it starts."""
    changed: dict[str, str] = {}
    trouble = ""
    try:
        changed = user_data.keys()
    except Refused as refusal:
        trouble = str(refusal)
    return Before(user_data.declarations(), left_behind(), changed, user_data.theme(), trouble)


def left_behind() -> list[Entry]:
    """By killed runs; a laboratory that stands is no such thing."""
    return [entry for entry in power_cuts.left_behind() if not laboratory.is_complete(entry)]
