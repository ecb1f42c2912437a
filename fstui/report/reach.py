"""How far what is written has come when the call returns: what a power cut would take, and what not.

From what a step asks for and what was read of the layers, before anything is measured: what they ought to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fstui.measure.kinds import StepSettings
from fstui.model.settings import Settings, UnknownFigures
from fstui.model.storage import Node, Target
from fstui.storage.layers.devices.caches import outlives_power_cut


class Place(NamedTuple):
    """Where data can be. ``kept``: it is there after a power cut; None: nobody here knows."""

    name: str
    kept: bool | None


class Reach(NamedTuple):
    """The place, by its number, in which the data of an operation is when it returns."""

    place: int
    note: str = ""
    past_memory: bool = False
    """It goes by the page cache."""
    stopped: bool = False
    """A layer lets no flush through."""


def places(target: Target) -> tuple[Place, ...]:
    """From the program down; the last is as far as a sync is to bring it."""
    lowest = target.lowest
    if lowest and all(node.layer == "memory" for node in lowest):
        return (Place("memory", kept=False),)
    if any(node.layer == "remote" for node in lowest) or not lowest:
        return Place("page cache", kept=False), Place("the server" if lowest else "what lies below", kept=None)
    cached = [node for node in lowest if _has_cache(node)]
    name = lowest[0].id if len(lowest) == 1 else f"{len(lowest)} devices"
    between = (Place(f"{name} cache", kept=all(map(outlives_power_cut, cached))),) if cached else ()
    return (Place("page cache", kept=False), *between, Place(_medium(lowest), kept=True))


def reach(settings: Settings, target: Target, below: Sequence[Place]) -> Reach | None:
    """Where it is when its call returns; None where only its program knows."""
    as_writes = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
    if as_writes is None:
        commits = settings.commits(UnknownFigures())
        if commits is None:
            return None
        if not commits.durable:
            return Reach(0, ", ".join(commits.lossy)) if commits.lossy else None
        return _synced(target, below, "each commit")
    flags = set(as_writes.open_flags)
    direct = "direct" in flags
    if as_writes.sync == "none" and not flags & {"dsync", "sync"}:
        return Reach(min(1, len(below) - 1), past_memory=True) if direct else Reach(0)
    note = f"a sync each {as_writes.sync_every} writes" if as_writes.sync_every > 1 else ""
    note = note or (f"{as_writes.writers} at once" if as_writes.writers > 1 else "")
    return _synced(target, below, note, direct=direct)


def _synced(target: Target, below: Sequence[Place], note: str, *, direct: bool = False) -> Reach:
    """As far as a sync brings it: down to the end, unless a layer lets none through."""
    stop = next((node for node in target.stack if node.sync == "stops"), None)
    if stop is None:
        return Reach(len(below) - 1, note, past_memory=direct)
    # without barriers the writes still go down, and only the flush does not; others that stop a sync write nothing
    written = stop.layer == "block" or "barrier" in stop.because
    at = max(len(below) - 2, 0) if written else 0
    return Reach(at, stop.because, past_memory=direct and bool(at), stopped=True)


def _has_cache(node: Node) -> bool:
    told = node.medium.write_cache if node.medium else "unknown"
    return told in ("volatile", "plp") or (told == "unknown" and node.write_cache == "write back")


def _medium(lowest: Sequence[Node]) -> str:
    classes = {node.medium.class_.partition("-")[0] if node.medium else "" for node in lowest}
    return {"hdd": "platter", "ssd": "flash"}.get(classes.pop(), "medium") if len(classes) == 1 else "media"
