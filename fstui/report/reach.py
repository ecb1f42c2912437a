"""Determine where data is when a call returns, and whether a power cut at that moment would lose it.

This is derived from the settings of a step and the configuration of the layers. Nothing is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fstui.measure.kinds import StepSettings
from fstui.model.settings import Settings, UnknownFigures
from fstui.model.storage import Node, Target
from fstui.storage.layers.devices.caches import outlives_power_cut

if TYPE_CHECKING:
    from fstui.simulate.parameters import SimulationParameters


class DataPlace(NamedTuple):
    name: str
    survives: bool | None
    """Whether data in this place survives a power cut; None: unknown."""


class Reach(NamedTuple):
    """The place of an operation's data when the operation returns."""

    reached: int
    """An index into ``places``."""
    note: str = ""
    bypasses_cache: bool = False
    """Whether the data bypasses the page cache."""
    stopped: bool = False
    """Whether a layer does not pass the sync on."""


def places(target: Target) -> tuple[DataPlace, ...]:
    """Return the places that data passes on its way to the medium. A sync should bring it to the last place."""
    lowest = target.lowest
    if lowest and all(node.layer == "memory" for node in lowest):
        return (DataPlace("memory", survives=False),)
    if any(node.layer == "remote" for node in lowest) or not lowest:
        name = "the server" if lowest else "the storage below"
        return DataPlace("page cache", survives=False), DataPlace(name, survives=None)
    cached = [node for node in lowest if _has_cache(node)]
    name = lowest[0].id if len(lowest) == 1 else f"{len(lowest)} devices"
    caches = (DataPlace(f"{name} cache", survives=all(map(outlives_power_cut, cached))),) if cached else ()
    return (DataPlace("page cache", survives=False), *caches, DataPlace(_medium(lowest), survives=True))


def reach(settings: Settings, target: Target, places: Sequence[DataPlace]) -> Reach | None:
    """Return where the data of a step is when its call returns; None if the settings do not tell."""
    as_writes = settings.as_sync_writes() if isinstance(settings, StepSettings) else None
    if as_writes is None:
        commits = settings.commit_settings(UnknownFigures())
        if commits is None:
            return None
        if not commits.durable:
            return Reach(0, ", ".join(commits.lossy)) if commits.lossy else None
        return _reach_of_sync(target, places, "each commit")
    flags = set(as_writes.open_flags)
    direct = "direct" in flags and not _is_buffered(target.stack)
    if as_writes.sync_every > 1 or (as_writes.sync == "none" and not flags & {"dsync", "sync"}):
        note = f"one sync per {as_writes.sync_every} writes" if as_writes.sync_every > 1 else ""
        return Reach(min(1, len(places) - 1) if direct else 0, note, bypasses_cache=direct)
    note = f"{as_writes.writers} at once" if as_writes.writers > 1 else ""
    return _reach_of_sync(target, places, note, direct=direct)


def actual_reach(disk: SimulationParameters, expected: Reach, places: Sequence[DataPlace]) -> Reach:
    """Return where the data really is. A disk may acknowledge a sync without performing it."""
    if expected.stopped or expected.reached < len(places) - 1:
        return expected
    if disk.host.syncs_stubbed:
        index = int(expected.bypasses_cache)
        return expected._replace(reached=index, note="the sync never left the process", stopped=True)
    if any(device and device.cache and device.cache.flush == "ignored" for device in disk.disks):
        return expected._replace(reached=max(len(places) - 2, 0), note="acknowledged by the cache", stopped=True)
    if failing_write := disk.disk.failing_write:
        return expected._replace(note=f"except write {failing_write}")
    return expected


def _reach_of_sync(target: Target, places: Sequence[DataPlace], note: str, *, direct: bool = False) -> Reach:
    """Return the place to which a sync brings the data. It is the last place unless a layer stops the sync."""
    stop = next((node for node in target.stack if node.sync == "stops"), None)
    if stop is None:
        return Reach(len(places) - 1, note, bypasses_cache=direct)
    # without barriers only the flush is dropped; other layers that stop a sync do not even write the data
    only_flush_dropped = stop.layer == "block" or "barrier" in stop.reason
    data_written = only_flush_dropped and not _is_buffered(target.stack[target.stack.index(stop) :])
    index = max(len(places) - 2, 0) if data_written else 0
    return Reach(index, stop.reason, bypasses_cache=direct and bool(index), stopped=True)


def _is_buffered(nodes: Sequence[Node]) -> bool:
    """Return whether a loop device without direct I/O keeps the data in the page cache until a flush."""
    return any(node.value("dio") == "0" for node in nodes)


def _has_cache(node: Node) -> bool:
    cache = node.medium.write_cache if node.medium else "unknown"
    return cache in ("volatile", "plp") or (cache == "unknown" and node.write_cache == "write back")


def _medium(lowest: Sequence[Node]) -> str:
    classes = {node.medium.class_.partition("-")[0] if node.medium else "" for node in lowest}
    return {"hdd": "platter", "ssd": "flash"}.get(classes.pop(), "medium") if len(classes) == 1 else "media"
