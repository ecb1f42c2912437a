"""A laboratory taken away: by its user, or by ``fstui clean`` after its maker was killed."""

from __future__ import annotations

from fstui.measure.children import ask, in_a_child
from fstui.model.errors import Refused
from fstui.simulate.lab import building
from fstui.state.ledger import Entry
from fstui.state.noting import strike_out

QUIET_S = 20.0


async def remove_left_behind(entry: Entry) -> str | None:
    """Returns None, or the sentence that says why something is still there."""
    try:
        await in_a_child(building.take_down, entry, timeout_s=QUIET_S)
        answer = await ask("measure.helpers.directory", "dismantle", entry.what, QUIET_S)
    except TimeoutError:
        return f"{entry.what}: not removed, no answer for {QUIET_S:.0f} s; its disk hangs"
    except (Refused, OSError) as problem:
        return f"{entry.what}: not removed: {problem}"
    if "error" in answer:
        return f"{entry.what}: not removed: {answer['error']}"
    await strike_out(entry)
    return None
