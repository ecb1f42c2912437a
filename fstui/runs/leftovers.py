"""What killed runs have left behind."""

from __future__ import annotations

from fstui.databases.leftovers import named, remove
from fstui.powercut import power_cuts
from fstui.runs import startup
from fstui.state import ledger
from fstui.state.ledger import Entry
from fstui.state.paths import in_home

__all__ = ["Entry", "found", "named", "remove", "waiting"]


async def found() -> list[Entry]:
    """All that may be removed without a question. Raises Refused, OSError."""
    return await in_home(startup.left_behind)


async def waiting() -> list[Entry]:
    """Records of power cuts that nobody has verified yet: they must survive until then. Raises Refused, OSError."""
    return await in_home(power_cuts.pending)


async def of_other_hosts() -> list[Entry]:
    """Entries of other hosts that share the state directory. Raises Refused, OSError."""
    return await in_home(ledger.of_other_hosts)
