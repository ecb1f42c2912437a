"""Who is at work on this box, again and again: a child looks, which is left behind where a process hangs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import msgspec
from msgspec.structs import replace

from fstui.measure.children import Child
from fstui.measure.kinds.servers import COMMANDS, DECISIVE, KINDS, Server
from fstui.model.activity import HostActivity, RunningDatabase
from fstui.storage.process import PATTERN


async def looks() -> AsyncGenerator[HostActivity]:
    """One every 2 seconds, until it is closed. Raises OSError where no process can be started."""
    child = await Child.start("measure.helpers.activity")
    try:
        drivers = {name: kind.driver for name, kind in KINDS.items()}
        request = {"servers": COMMANDS, "drivers": drivers, "stubs": PATTERN, "settings": sorted(DECISIVE)}
        child.send(json.dumps(request))
        while line := await child.read_line():
            seen = msgspec.json.decode(line, type=HostActivity)
            yield replace(seen, databases=tuple(map(_understood, seen.databases)))
    finally:
        child.abandon()


def _understood(found: RunningDatabase) -> RunningDatabase:
    """With what its settings mean."""
    settings = Server(kind=found.kind, variables=found.variables).lossy
    loaded = (f"{library} is loaded, which leaves syncs out" for library in found.preloads)
    return replace(found, unsafe_settings=(*settings, *loaded))


async def nobody() -> AsyncGenerator[HostActivity]:
    """On a box that is not here."""
    return
    yield
