"""What earlier sessions of fstui left: the user's settings, and things that killed runs did not remove."""

from __future__ import annotations

from typing import NamedTuple

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.powercut import power_cuts
from fstui.simulate.lab import laboratory
from fstui.state import ledger, user_data
from fstui.state.ledger import LedgerEntry
from fstui.state.paths import in_home

__all__ = ["LedgerEntry"]


class StartupData(NamedTuple):
    declared: dict[str, Declaration]
    """By target identity."""
    left_behind: list[LedgerEntry]
    """What killed runs left; it can be removed without confirmation."""
    keys: dict[str, str]
    """Command → key, where the user has changed it."""
    theme: str = ""
    """Empty if the user has chosen none."""
    trouble: str = ""
    """Why the keys could not be read."""


async def keep_theme(name: str) -> None:
    await in_home(user_data.keep_theme, name)


async def read() -> StartupData:
    """Read what the app needs when it starts. Raises OSError, Refused."""
    return await in_home(_read)


async def left_behind() -> list[LedgerEntry]:
    """Return what killed runs left and what can be removed without confirmation. Raises Refused, OSError."""
    return await in_home(_left_behind)


async def unverified() -> list[LedgerEntry]:
    """Return the records of power cuts that are not verified yet, and must be kept. Raises Refused, OSError."""
    return await in_home(power_cuts.pending)


async def of_other_hosts() -> list[LedgerEntry]:
    """Return the entries of other hosts that share the state directory. Raises Refused, OSError."""
    return await in_home(ledger.of_other_hosts)


async def remove(entry: LedgerEntry) -> str | None:
    """Remove what an entry names. Returns None, or a sentence with the reason why it was not removed."""
    from fstui.databases import leftovers  # noqa: PLC0415  not needed at startup

    return await leftovers.remove(entry)


def named(entry: LedgerEntry) -> str:
    from fstui.databases import leftovers  # noqa: PLC0415

    return leftovers.label(entry)


def _read() -> StartupData:
    changed: dict[str, str] = {}
    trouble = ""
    try:
        changed = user_data.keys()
    except Refused as refusal:
        trouble = str(refusal)
    return StartupData(user_data.declarations(), _left_behind(), changed, user_data.theme(), trouble)


def _left_behind() -> list[LedgerEntry]:
    """Return the entries of killed runs, without a laboratory that is in use."""
    return [entry for entry in power_cuts.left_behind() if not laboratory.is_complete(entry)]
