"""Watch other processes: while the list of filesystems is shown, and while fstui is idle before a step."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncGenerator

import msgspec
from msgspec.structs import replace

from fstui.measure.children import Child
from fstui.measure.kinds.servers import COMMANDS, DECISIVE, KINDS, Server
from fstui.model.activity import HostActivity, RunningDatabase
from fstui.model.counters import Idle, add, difference
from fstui.model.host import OtherWriter
from fstui.model.storage import Node
from fstui.runs.machine.base import Machine
from fstui.storage.process import writers

MAX_WRITERS = 8


async def read_activity() -> AsyncGenerator[HostActivity]:
    """Yield every 2 seconds who writes and which databases run, read by a child that may hang. Raises OSError."""
    child = await Child.start("measure.helpers.activity")
    try:
        drivers = {name: kind.driver for name, kind in KINDS.items()}
        request = {"servers": COMMANDS, "drivers": drivers, "settings": sorted(DECISIVE)}
        child.send(json.dumps(request))
        while line := await child.read_line():
            seen = msgspec.json.decode(line, type=HostActivity)
            yield replace(seen, databases=tuple(map(_with_unsafe_settings, seen.databases)))
    finally:
        child.abandon()


def _with_unsafe_settings(found: RunningDatabase) -> RunningDatabase:
    settings = Server(kind=found.kind, variables=found.variables).lossy
    loaded = (f"{library} is loaded, which leaves syncs out" for library in found.preloads)
    return replace(found, unsafe_settings=(*settings, *loaded))


class IdleWatch:
    """Adds up the activity of the devices while fstui is idle. It is reported, and never subtracted from a result."""

    def __init__(self, machine: Machine, stack: tuple[Node, ...], seen: Idle | None = None) -> None:
        """``seen``: what was watched before, of these devices and possibly of others."""
        self._machine = machine
        self._stack = stack
        devices = {node.id for node in stack}
        before = seen or Idle()
        self.seen = replace(before, counters=tuple(one for one in before.counters if one.device in devices))
        self._written = Counter({(one.pid, one.name): one.written_bytes for one in self.seen.writers})

    async def watch(self, seconds: float, stop: asyncio.Event) -> None:
        written_before = self._machine.read_write_counts()
        before = self._machine.counters(self._stack)
        waiting = asyncio.ensure_future(self._machine.wait(seconds))
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (waiting, stopping):
            task.cancel()
        await asyncio.wait({waiting, stopping})
        after = self._machine.counters(self._stack)
        own = frozenset({os.getpid()})
        for writer in writers(written_before, self._machine.read_write_counts(), own):
            self._written[writer.pid, writer.name] += writer.written_bytes
        self.seen = Idle(
            elapsed_s=round(self.seen.elapsed_s + (after.monotonic_ns - before.monotonic_ns) / 1e9, 3),
            counters=add((self.seen.counters, difference(before, after))),
            writers=tuple(
                OtherWriter(pid=pid, name=name, written_bytes=written)
                for (pid, name), written in self._written.most_common(MAX_WRITERS)
            ),
        )
