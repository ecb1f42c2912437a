"""What the devices do while fstui does nothing: the neighbours, measured before the run and between its steps."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict

import msgspec

from fstui.engine.machine import Machine
from fstui.inventory.counters import difference
from fstui.model import Counters, DeviceCounters, Idle, Node, Writer

MOST_WRITERS = 8


class IdleWatch:
    """Adds the idle stretches up. They are never subtracted from anything (KNOWLEDGE: how to count)."""

    def __init__(self, machine: Machine, stack: tuple[Node, ...]) -> None:
        self._machine = machine
        self._stack = stack
        self._written: defaultdict[tuple[int, str], int] = defaultdict(int)
        self.seen = Idle()

    async def watch(self, seconds: float, stop: asyncio.Event) -> None:
        """Watch for that long, or until the stop."""
        written_before = self._machine.written_by_others()
        before = self._machine.counters(self._stack)
        waiting = asyncio.ensure_future(self._machine.wait(seconds))
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (waiting, stopping):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._add(before, self._machine.counters(self._stack))
        for writer, bytes_now in self._machine.written_by_others().items():
            self._written[writer] += bytes_now - written_before.get(writer, bytes_now)

    def _add(self, before: Counters, after: Counters) -> None:
        moved = difference(before, after)
        known = {device.device: device for device in self.seen.counters}
        self.seen = Idle(
            elapsed_s=round(self.seen.elapsed_s + (after.monotonic_ns - before.monotonic_ns) / 1e9, 3),
            counters=tuple(_sum(known.get(device.device), device) for device in moved),
            writers=self._writers(),
        )

    def _writers(self) -> tuple[Writer, ...]:
        most = sorted(self._written.items(), key=lambda item: -item[1])[:MOST_WRITERS]
        return tuple(Writer(pid=pid, name=name, written_bytes=written) for (pid, name), written in most if written > 0)


def _sum(so_far: DeviceCounters | None, more: DeviceCounters) -> DeviceCounters:
    if so_far is None:
        return more
    added = {
        field: None if (value := getattr(so_far, field)) is None or other is None else value + other
        for field, other in msgspec.structs.asdict(more).items()
        if field not in ("device", "in_flight")
    }
    return msgspec.structs.replace(more, **added)
