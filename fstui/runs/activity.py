"""Watch other processes: while the list of filesystems is shown, and while fstui is idle before a step."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncGenerator

import msgspec
from msgspec.structs import replace

from fstui.measure.children import Child
from fstui.measure.kinds.servers import COMMANDS, COMMIT_OPTIONS, Server
from fstui.model.activity import HostActivity, RunningDatabase
from fstui.model.counters import Idle, difference, sum_counters
from fstui.model.host import OtherWriter
from fstui.model.storage import Node
from fstui.runs.machine.base import Machine
from fstui.storage.process import writers

MAX_WRITERS = 8


async def read_activity() -> AsyncGenerator[HostActivity]:
    """Yield every 2 seconds which processes write and which databases run, as read by a child. Raises NotStarted."""
    child = await Child.start("measure.helpers.activity")
    try:
        child.send(json.dumps({"servers": COMMANDS, "settings": sorted(COMMIT_OPTIONS)}))
        while line := await child.read_line():
            activity = msgspec.json.decode(line, type=HostActivity)
            yield replace(activity, databases=tuple(map(_with_unsafe_settings, activity.databases)))
    finally:
        child.abandon()


def _with_unsafe_settings(database: RunningDatabase) -> RunningDatabase:
    lossy_settings = Server(kind=database.kind, variables=database.variables).lossy
    loaded_libraries = (f"{library} is loaded, which skips syncs" for library in database.preloads)
    return replace(database, unsafe_settings=(*lossy_settings, *loaded_libraries))


class IdleWatch:
    """Adds up the activity of the devices while fstui is idle. This activity is never subtracted from a result."""

    def __init__(self, machine: Machine, stack: tuple[Node, ...], earlier: Idle | None = None) -> None:
        """``earlier``: activity that was watched before, which may include other devices."""
        self._machine = machine
        self._stack = stack
        devices = {node.id for node in stack}
        idle = earlier or Idle()
        self.idle = replace(idle, counters=tuple(device for device in idle.counters if device.device in devices))
        self._bytes_by_writer = Counter({(writer.pid, writer.name): writer.written_bytes for writer in idle.writers})

    async def watch(self, seconds: float, stop: asyncio.Event) -> None:
        written_before = self._machine.read_write_counts()
        before = self._machine.counters(self._stack)
        tasks = {asyncio.ensure_future(self._machine.wait(seconds)), asyncio.ensure_future(stop.wait())}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        after = self._machine.counters(self._stack)
        for writer in writers(written_before, self._machine.read_write_counts(), frozenset({os.getpid()})):
            self._bytes_by_writer[writer.pid, writer.name] += writer.written_bytes
        self.idle = Idle(
            elapsed_s=round(self.idle.elapsed_s + (after.monotonic_ns - before.monotonic_ns) / 1e9, 3),
            counters=sum_counters((self.idle.counters, difference(before, after))),
            writers=tuple(
                OtherWriter(pid=pid, name=name, written_bytes=written_bytes)
                for (pid, name), written_bytes in self._bytes_by_writer.most_common(MAX_WRITERS)
            ),
        )
