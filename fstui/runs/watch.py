"""Watch who waits for which file, without writing anything: a stream of events that ends with a report."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from fstui import __version__
from fstui.model.counters import difference
from fstui.model.errors import local_time
from fstui.model.host import Inventory
from fstui.model.storage import Node, Target
from fstui.model.watch import (
    Watched,
    WatchedDevice,
    WatchedSecond,
    WatchEvent,
    WatchFinished,
    WatchReport,
    WatchStarted,
)
from fstui.runs.machine.base import Machine, RunningWatch
from fstui.storage.process import writers
from fstui.trace.child import Ended, Untraceable
from fstui.trace.conclusion import WatchConclusion, answers, conclude, conclude_from_proc

if TYPE_CHECKING:
    from fstui.trace.at_risk import AtRiskChild

SECOND_S = 1.0
MAX_WRITERS = 8


class Watching(ABC):
    """A watch, which lasts for a time or until it is stopped."""

    def __init__(self, machine: Machine, *, pid: int | None = None, target: Target | None = None) -> None:
        """``pid``: only this process and its children. ``target``: only its filesystem."""
        self._machine = machine
        self._pid = pid
        self._target = target
        self._stopping = asyncio.Event()
        self._started_at = local_time().isoformat(timespec="seconds")

    def stop(self) -> None:
        self._stopping.set()

    @abstractmethod
    def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        """Watch for this time, or until the stop. Raises Refused, and OSError if the child program has died."""

    async def _stopped_within(self, seconds: float | None) -> bool:
        """Wait for this time. Return whether the watch was stopped."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _ending(self, child: RunningWatch | AtRiskChild, seconds: float | None) -> asyncio.Future[bool]:
        """Request the child's result after this time, or when the watch is stopped."""
        ending = asyncio.ensure_future(self._stopped_within(seconds))
        ending.add_done_callback(lambda _: child.end())
        return ending


class WatchingWaits(Watching):
    async def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        inventory = self._machine.survey()
        refused: str | None = None
        try:
            source = self._traced(await self._machine.waits(self._target, self._pid), seconds)
        except Untraceable as problem:
            refused = str(problem)
            targets = (self._target,) if self._target else inventory.filesystems
            nodes = tuple({node.id: node for target in targets for node in target.stack if node.counted}.values())
            # read the counters before reporting that the watch has started
            source = self._from_proc(nodes, ProcSpan(self._machine, nodes), seconds)
        yield WatchStarted(host=inventory.host, simulated=self._machine.simulated, untraced=refused)
        async with aclosing(source):
            async for seen in source:
                if isinstance(seen, Ended):
                    yield WatchFinished(report=self._report(inventory, seen, refused))
                else:
                    yield WatchedSecond(second=seen, sentence=_concluded(seen, refused, inventory).sentence)

    async def _traced(self, trace: RunningWatch, seconds: float | None) -> AsyncGenerator[Watched | Ended, None]:
        ending = self._ending(trace, seconds)
        try:
            async for received in trace.seconds():
                yield received
                if isinstance(received, Ended):
                    return
            raise OSError(None, "the program that reads the kernel's trace has ended")
        finally:
            ending.cancel()
            await trace.stop()

    async def _from_proc(
        self, nodes: tuple[Node, ...], whole: ProcSpan, seconds: float | None
    ) -> AsyncGenerator[Watched | Ended, None]:
        left = seconds
        stopped = False
        while not stopped and (left is None or left > 0):
            second = ProcSpan(self._machine, nodes)
            stopped = await self._stopped_within(SECOND_S if left is None else min(SECOND_S, left))
            left = None if left is None else left - SECOND_S
            yield second.seen()
        yield Ended(whole.seen(), ())

    def _report(self, inventory: Inventory, ended: Ended, refused: str | None) -> WatchReport:
        found = _concluded(ended.whole, refused, inventory)
        found_answers = answers(ended.whole, inventory, (self._target,) if self._target else inventory.filesystems)
        return WatchReport(
            started_at=self._started_at,
            version=__version__,
            host=inventory.host,
            simulated=self._machine.simulated,
            pid=self._pid,
            mount_point=self._target.mount_point if self._target else None,
            untraced=refused,
            whole=ended.whole,
            errors=ended.errors,
            culprit=found.culprit,
            sentence=found.sentence,
            honest=found_answers.durability,
            speed=found_answers.speed,
        )


def _concluded(seen: Watched, refused: str | None, inventory: Inventory) -> WatchConclusion:
    return conclude_from_proc(seen, refused) if refused else conclude(seen, inventory.filesystems)


class ProcSpan:
    """A period, measured by the kernel's counters at its start and end."""

    def __init__(self, machine: Machine, nodes: tuple[Node, ...]) -> None:
        self._machine = machine
        self._nodes = nodes
        self._written = machine.read_write_counts()
        self._before = machine.counters(nodes)

    def seen(self) -> Watched:
        after = self._machine.counters(self._nodes)
        moved = [one for one in difference(self._before, after) if one.writes or one.flushes]
        return Watched(
            elapsed_s=(after.monotonic_ns - self._before.monotonic_ns) / 1e9,
            devices=tuple(msgspec.convert(one, WatchedDevice, from_attributes=True) for one in moved),
            writers=writers(self._written, self._machine.read_write_counts())[:MAX_WRITERS],
        )
