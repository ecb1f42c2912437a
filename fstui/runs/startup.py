"""What earlier sessions saved (the user's settings) and left behind (files and devices of killed runs)."""

from typing import NamedTuple

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused, sentence_of
from fstui.powercut import power_cuts
from fstui.powercut.power_cuts import Leftovers
from fstui.state import ledger, user_data
from fstui.state.ledger import LedgerEntry, Owner
from fstui.state.paths import call_in_state_dir

__all__ = ["LedgerEntry"]  # re-exported for the interfaces


class StartupData(NamedTuple):
    declarations: dict[str, Declaration]
    """By target identity."""
    left_behind: list[LedgerEntry]
    """The ledger entries of runs that were killed. Their removal needs no confirmation."""
    keys: dict[str, str]
    """The keys that the user has changed, by command."""
    theme: str = ""
    """Empty if the user has chosen none."""
    problem: str = ""
    """Why the keys or the declarations could not be read."""


async def save_theme(name: str) -> None:
    await call_in_state_dir(user_data.save_theme, name)


async def read() -> StartupData:
    """Read what the app needs when it starts. Raises OSError, Refused."""
    return await call_in_state_dir(_read_data)


async def left_behind() -> Leftovers:
    """Return the ledger entries of runs that were killed, and of unverified power cuts. Raises Refused, OSError."""
    return await call_in_state_dir(_left_behind)


async def entries_of(owner: Owner) -> list[LedgerEntry]:
    """Return the ledger entries with such an owner. Raises Refused, OSError."""
    return await call_in_state_dir(ledger.entries_of, owner)


async def remove(entry: LedgerEntry) -> str | None:
    """Remove what a ledger entry records. Returns None, or a sentence that says why it was not removed."""
    from fstui.databases import leftovers  # noqa: PLC0415  not needed at startup

    return await leftovers.remove(entry)


def label(entry: LedgerEntry) -> str:
    from fstui.databases import leftovers  # noqa: PLC0415

    return leftovers.label(entry)


def _read_data() -> StartupData:
    keys: dict[str, str] = {}
    declarations: dict[str, Declaration] = {}
    problems: list[str] = []
    try:
        keys = user_data.keys()
    except Refused as refusal:
        problems.append(str(refusal))
    try:
        declarations = user_data.declarations()
    except (OSError, Refused) as error:
        problems.append(sentence_of(error))
    return StartupData(declarations, _left_behind().removable, keys, user_data.theme(), "; ".join(problems))


def _left_behind() -> Leftovers:
    """Return the leftovers without a laboratory that is in use."""
    from fstui.simulate.lab import laboratory  # noqa: PLC0415  only the child that reads the state directory needs it

    found = power_cuts.leftovers()
    return found._replace(removable=[entry for entry in found.removable if not laboratory.is_complete(entry)])
