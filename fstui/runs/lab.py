"""The laboratory for a classroom: defective storage, made and removed by child processes because it may hang."""

import os
from pathlib import Path

from fstui.measure.children import call_in_child
from fstui.model.errors import Refused
from fstui.simulate.lab import laboratory
from fstui.simulate.lab.laboratory import TIMEOUT_S, Lab, LabVolume, NewLab, run
from fstui.state import workspace
from fstui.state.paths import call_in_state_dir

__all__ = ["run"]  # re-exported for the interfaces


async def make(directory: str) -> NewLab:
    """Make the laboratory in a new directory, under the same rules as for a run. Raises Refused, OSError."""
    if os.geteuid():
        raise Refused("fstui lab needs root to mount filesystems: sudo fstui lab make DIR")
    path = Path(directory)
    parent = await workspace.inspect(str(path.parent))
    if parent.refusal:
        raise Refused(parent.refusal)
    if path.name in {"", ".."}:
        raise Refused(f"{directory} is not a new directory. Name one that does not exist")
    return await call_in_child(laboratory.make, parent.path, path.name, where=directory, timeout_s=TIMEOUT_S)


async def current() -> Lab:
    """Return the laboratory of this host. Raises Refused."""
    return await call_in_state_dir(laboratory.current)


async def open_envelope(name: str) -> LabVolume:
    """Return the volume with its defect, which was hidden until now."""
    return await call_in_state_dir(laboratory.open_envelope, name)


async def remove() -> str:
    """Remove the laboratory and return its directory. Raises Refused."""
    entries = await call_in_state_dir(laboratory.entries)
    if not entries:
        raise Refused("There is no lab on this host: nothing to remove")
    for entry in entries:
        if problem := await laboratory.remove_left_behind(entry):
            raise Refused(problem)
    return ", ".join(entry.what for entry in entries)
