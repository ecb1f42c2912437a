"""Remove a laboratory, for its user or for ``fstui clean`` after its maker was killed."""

from __future__ import annotations

from fstui.measure.children import call_helper, in_child
from fstui.simulate.lab import laboratory
from fstui.state import ledger

PATIENCE_S = 20.0


async def remove_left_behind(entry: ledger.LedgerEntry) -> str | None:
    """Remove the laboratory. Returns None, or a sentence with the reason why it could not be removed."""
    return await ledger.remove(entry, _take_down(entry))


async def _take_down(entry: ledger.LedgerEntry) -> None:
    directory = await in_child(laboratory.take_down, entry, timeout_s=PATIENCE_S, where=entry.what)
    await call_helper("measure.helpers.directory.dismantle", directory, timeout_s=PATIENCE_S, where=directory)
    await in_child(laboratory.forget)
