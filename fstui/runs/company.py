"""Other runs of fstui that share a device with one that is about to begin: this user's, of whom the ledger knows."""

from __future__ import annotations

from pathlib import Path

from fstui.measure.children import in_child
from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.runs.running import Site
from fstui.runs.session import Session
from fstui.state import ledger


async def beside(session: Session, site: Site) -> list[str]:
    """A sentence for each. A home that does not answer knows of none."""
    try:
        entries = await in_child(ledger.living)
    except (OSError, Refused):
        return []
    return [
        f"fstui runs there already: {entry.what}, process {entry.pid}. Each measures what the other leaves of the disk"
        for entry in entries
        if entry.kind == "directory" and _shared(session, entry, site.read)
    ]


def _shared(session: Session, entry: ledger.Entry, target: Target) -> bool:
    try:
        other = session.machine.target(str(Path(entry.what).parent))
    except Refused:
        return False
    same = other.mount_point == target.mount_point
    return same or bool(_devices(other) & _devices(target))


def _devices(target: Target) -> set[str]:
    return {node.id for node in target.stack if node.layer == "block"}
