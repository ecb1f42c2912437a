"""Watch what each program would lose if the power failed: a stream of events that ends with a report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fstui import __version__
from fstui.model.at_risk import AtRisk, AtRiskFinished, AtRiskReport, AtRiskSecond, AtRiskStarted
from fstui.model.errors import local_time
from fstui.model.host import Host
from fstui.model.storage import Target
from fstui.model.watch import WatchEvent
from fstui.runs.machine.base import Machine
from fstui.trace.at_risk import limits, sentences


class WatchingRisk:
    def __init__(self, machine: Machine, *, pid: int | None = None, target: Target | None = None) -> None:
        """``pid``: only this process and its children. ``target``: only its filesystem."""
        self._machine, self._pid, self._target = machine, pid, target
        self._stopping = asyncio.Event()
        self._started_at = local_time().isoformat(timespec="seconds")

    def stop(self) -> None:
        """End the watch with what was seen so far."""
        self._stopping.set()

    async def events(self, seconds: float | None = None) -> AsyncIterator[WatchEvent]:
        """Watch for this time, or until the stop. Raises Refused, and OSError if the child program has died."""
        host = self._machine.survey().host
        child = await self._machine.at_risk(self._target, self._pid)
        ending = asyncio.ensure_future(self._passed(seconds))
        ending.add_done_callback(lambda _: child.end())
        try:
            yield AtRiskStarted(host=host, untraced=child.untraced)
            newest = AtRisk()
            async for newest in child.seconds():
                found = sentences(newest), tuple(limits(newest, child.untraced))
                yield AtRiskSecond(second=newest, sentences=found[0], limits=found[1])
            yield AtRiskFinished(report=self._report(host, newest, child.untraced))
        finally:
            ending.cancel()
            await child.stop()

    async def _passed(self, seconds: float | None) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    def _report(self, host: Host, whole: AtRisk, untraced: str | None) -> AtRiskReport:
        return AtRiskReport(
            started_at=self._started_at,
            version=__version__,
            host=host,
            pid=self._pid,
            mount_point=self._target.mount_point if self._target else None,
            untraced=untraced,
            whole=whole,
            sentences=sentences(whole),
            limits=tuple(limits(whole, untraced)),
        )
