"""Before a run: what somebody on this box may need more than a measurement does. A face asks, and a script says yes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fstui.model.counters import Idle
from fstui.model.errors import Refused
from fstui.model.quantities import size
from fstui.model.storage import Target
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.state import ledger
from fstui.state.paths import in_home
from fstui.storage.host import available_memory

IDLE_S = 1.0
TOO_BUSY = 0.9
"""Share of the time in which a device had something to do: what we add, somebody waits for."""
AT_WORK = 0.5
"""A share from which on a device is busy enough for gigabytes to be felt."""
MUCH_BYTES = 1 << 30
LITTLE_ROOM, LITTLE_ROOM_BYTES = 0.1, 1 << 30
"""Left over while a run holds the most that it takes: a tenth, and not even so much."""
LITTLE_MEMORY_BYTES = 128 << 20
"""fstui and its children take about as much; then the kernel looks for somebody to end."""
YES = "FSTUI_YES"
"""In the environment: as ``--yes`` does."""


async def watched(session: Session, targets: Iterable[Target]) -> Idle:
    """What their devices do in a second in which fstui does nothing."""
    from fstui.runs.idle import IdleWatch  # noqa: PLC0415  only what is about to write looks

    nodes = {node.id: node for target in targets for node in target.stack}
    watch = IdleWatch(session.machine, tuple(nodes.values()))
    if nodes:
        await watch.watch(IDLE_S, asyncio.Event())
    return watch.seen


async def look(session: Session, site: Site, room_bytes: int) -> tuple[Idle | None, tuple[str, ...]]:
    """The same of one place, and what speaks against a run there; nothing where nobody asks to be asked."""
    if session.simulated or agreed_before():
        return None, ()
    idle = await watched(session, [site.read])
    return idle, concerns(session, site, busy_shares(idle), room_bytes)


def busy_shares(idle: Idle) -> dict[str, float]:
    """By device: the share of that time in which it was at work."""
    if not idle.elapsed_s:
        return {}
    counted = ((one.device, one.busy_ms) for one in idle.counters)
    return {device: busy_ms / 1000 / idle.elapsed_s for device, busy_ms in counted if busy_ms is not None}


def concerns(
    session: Session, site: Site, busy: Mapping[str, float], room_bytes: int, writes_bytes: int = 0
) -> tuple[str, ...]:
    """What speaks against a run there that holds, and writes, so much: each with its number. None where it is
    played, or where the environment says yes. ``writes_bytes``: only a person who looks on is asked about it."""
    if session.simulated or agreed_before():
        return ()
    return (*_busy(site.read, busy, writes_bytes), *_room(site, room_bytes), *_memory())


def agreed_before() -> bool:
    """The environment says yes."""
    return os.environ.get(YES, "") not in ("", "0")


def busiest(target: Target, busy: Mapping[str, float]) -> tuple[float, str]:
    """The share of the time in which a device of its stack was at work, and which."""
    return max(((busy.get(node.id, 0.0), node.id) for node in target.stack), default=(0.0, ""))


def busy_words(target: Target, busy: Mapping[str, float]) -> str:
    """A device of its stack that somebody else needs, with its number; empty where there is none."""
    share, device = busiest(target, busy)
    return f"{device} is {min(share, 1):.0%} busy" if share >= AT_WORK else ""


def _busy(target: Target, busy: Mapping[str, float], writes_bytes: int) -> Iterator[str]:
    share, device = busiest(target, busy)
    much = writes_bytes >= MUCH_BYTES and share >= AT_WORK
    if share > TOO_BUSY or much:
        adding = f", and this writes up to {size(writes_bytes)}" if much else ""
        yield f"its device {device} is {min(share, 1):.0%} busy{adding}"


def _room(site: Site, room_bytes: int) -> Iterator[str]:
    space = site.place.space
    if space is None:
        return
    left_bytes = space.free_bytes - room_bytes  # below 0 it is refused, with a word of its own
    if 0 <= left_bytes < LITTLE_ROOM * space.total_bytes and left_bytes < LITTLE_ROOM_BYTES:
        yield f"only {size(left_bytes)} of its {size(space.total_bytes)} stay free meanwhile"


def _memory() -> Iterator[str]:
    available_bytes = available_memory()
    if available_bytes is not None and available_bytes < LITTLE_MEMORY_BYTES:
        yield f"only {size(available_bytes)} of memory are available"


async def other_runs(session: Session, site: Site) -> list[str]:
    """A sentence for each. A home that does not answer knows of none."""
    try:
        entries = await in_home(ledger.living)
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
