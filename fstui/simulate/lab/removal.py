"""A laboratory taken away: by its user, or by ``fstui clean`` after its maker was killed."""

from __future__ import annotations

from fstui.measure.children import NoAnswer, ask_program, in_child
from fstui.model.errors import Refused
from fstui.simulate.lab import building
from fstui.state.ledger import Entry
from fstui.state.noting import strike_out

QUIET_S = 20.0


async def remove_left_behind(entry: Entry) -> str | None:
    """Returns None, or the sentence that says why something is still there."""
    try:
        await in_child(building.take_down, entry, timeout_s=QUIET_S, where=entry.what)
        answer = await ask_program("measure.helpers.directory", "dismantle", entry.what, QUIET_S, entry.what)
    except NoAnswer as silence:
        return f"not removed: {silence}"
    except (Refused, OSError) as problem:
        return f"{entry.what}: not removed: {problem}"
    if "error" in answer:
        return f"{entry.what}: not removed: {answer['error']}"
    await strike_out(entry)
    return None
