"""Remove a laboratory, for its user or for ``fstui clean`` after its maker was killed."""

from __future__ import annotations

from fstui.measure.children import NoAnswer, call_helper, in_child
from fstui.model.errors import Refused
from fstui.simulate.lab import laboratory
from fstui.state.ledger import Entry, strike_out

PATIENCE_S = 20.0


async def remove_left_behind(entry: Entry) -> str | None:
    """Remove it. Return None, or a sentence that says why something is still there."""
    try:
        directory = await in_child(laboratory.take_down, entry, timeout_s=PATIENCE_S, where=entry.what)
        await call_helper("measure.helpers.directory.dismantle", directory, timeout_s=PATIENCE_S, where=directory)
        await in_child(laboratory.forget)
    except NoAnswer as silence:
        return f"{entry.what}: not removed: it {silence.reason}"
    except Refused as problem:
        return f"{entry.what}: not removed: {problem}"
    except OSError as problem:
        return f"{entry.what}: not removed: {problem.strerror or problem}"
    await strike_out(entry)
    return None
