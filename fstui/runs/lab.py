"""The classroom's laboratory: made, opened, cut and taken away by children, as its storage may hang."""

from __future__ import annotations

from fstui.measure.children import in_child
from fstui.model.errors import Refused
from fstui.simulate.lab import building, record, removal
from fstui.simulate.lab.building import Made
from fstui.simulate.lab.record import Lab, Storage

__all__ = ["Lab", "Made", "Storage", "make", "open_envelope", "pull_plug", "remove", "standing"]

PATIENCE_S = 20.0


async def make(directory: str) -> Made:
    """Raises Refused, OSError."""
    return await in_child(building.make, directory, where=directory, timeout_s=PATIENCE_S)


async def standing() -> Lab:
    """The one on this box. Raises Refused."""
    return await in_child(record.standing)


async def open_envelope(name: str) -> Storage:
    """Raises Refused, OSError."""
    return await in_child(building.open_envelope, name)


async def pull_plug(name: str) -> Storage:
    """Raises Refused, OSError."""
    return await in_child(building.pull_plug, name, where=name, timeout_s=PATIENCE_S)


async def remove() -> str:
    """What was removed. Raises Refused."""
    entries = await in_child(record.entries)
    if not entries:
        raise Refused("no laboratory stands on this box: there is nothing to remove")
    for entry in entries:
        if problem := await removal.remove_left_behind(entry):
            raise Refused(problem)
    return ", ".join(entry.what for entry in entries)
