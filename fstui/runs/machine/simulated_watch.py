"""A watch on a simulated box: its one program, second by second of the model's clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from fstui.model.watch import Watched
from fstui.simulate.watched import WatchedHost
from fstui.trace.child import Ended

if TYPE_CHECKING:
    from fstui.runs.machine.simulated import SimulatedMachine

CHUNK_NS = 50e6
"""So much of the model's time at once: who ends it waits no longer."""
SECOND_NS = 1e9


class SimulatedWaits:
    """From its beginning to its end."""

    def __init__(self, machine: SimulatedMachine) -> None:
        self._machine = machine
        self._watched = WatchedHost(machine.box)
        self._ending = False

    def end(self) -> None:
        self._ending = True

    async def seconds(self) -> AsyncIterator[Watched | Ended]:
        while not self._ending:
            if await self._second():
                yield self._watched.second()
        yield Ended(self._watched.whole(), ())

    async def stop(self) -> str | None:
        self._ending = True
        return None

    async def _second(self) -> bool:
        """Whether it went on to its end."""
        until_ns = self._machine.box.now_ns + SECOND_NS
        while not self._ending and self._machine.box.now_ns < until_ns:
            chunk_ns = min(until_ns, self._machine.box.now_ns + CHUNK_NS)
            await self._machine.pass_time(self._watched.until(chunk_ns))
        return not self._ending
