"""What the devices do while fstui does nothing: the neighbours, measured before the run and between its steps."""

from __future__ import annotations

import asyncio
import os
from collections import Counter

from msgspec.structs import replace

from fstui.model.counters import Idle
from fstui.model.host import Writer
from fstui.model.storage import Node
from fstui.runs.machine.base import Machine
from fstui.storage import counters
from fstui.storage.process import writers

MOST_WRITERS = 8


class IdleWatch:
    """Adds the idle stretches up. They are never subtracted from anything."""

    def __init__(self, machine: Machine, stack: tuple[Node, ...], seen: Idle | None = None) -> None:
        """``seen``: what was watched already, of these devices and maybe of others."""
        self._machine = machine
        self._stack = stack
        ours = {node.id for node in stack}
        self.seen = seen or Idle()
        self.seen = replace(self.seen, counters=tuple(one for one in self.seen.counters if one.device in ours))
        self._written = Counter({(one.pid, one.name): one.written_bytes for one in self.seen.writers})

    async def watch(self, seconds: float, stop: asyncio.Event) -> None:
        """Watch for that long, or until the stop."""
        written_before = self._machine.written_so_far()
        before = self._machine.counters(self._stack)
        waiting = asyncio.ensure_future(self._machine.wait(seconds))
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (waiting, stopping):
            task.cancel()
        await asyncio.wait({waiting, stopping})
        after = self._machine.counters(self._stack)
        own = frozenset({os.getpid()})
        for writer in writers(written_before, self._machine.written_so_far(), own):
            self._written[writer.pid, writer.name] += writer.written_bytes
        self.seen = Idle(
            elapsed_s=round(self.seen.elapsed_s + (after.monotonic_ns - before.monotonic_ns) / 1e9, 3),
            counters=counters.add((self.seen.counters, counters.difference(before, after))),
            writers=tuple(
                Writer(pid=pid, name=name, written_bytes=written)
                for (pid, name), written in self._written.most_common(MOST_WRITERS)
            ),
        )
