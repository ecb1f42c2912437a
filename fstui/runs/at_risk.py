"""Watch what each program would lose if the power failed: a stream of events that ends with a report."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from fstui import __version__
from fstui.judge import judge
from fstui.model.at_risk import AtRisk, AtRiskFinished, AtRiskReport, AtRiskSecond, AtRiskStarted
from fstui.model.host import Inventory
from fstui.model.run import Evidence
from fstui.model.storage import Target
from fstui.model.watch import WatchEvent
from fstui.runs.machine.base import Machine
from fstui.runs.watch import Watching
from fstui.trace.at_risk import limits, sentences
from fstui.trace.conclusion import LYING


class WatchingRisk(Watching):
    def __init__(self, machine: Machine, *, pid: int | None = None, target: Target | None = None) -> None:
        super().__init__(machine, pid=pid, target=target)
        self._judged: dict[str, str] = {}
        """What is said of each device or filesystem, as the watch asks once a second."""

    async def events(self, seconds: float | None = None) -> AsyncIterator[WatchEvent]:
        inventory = self._machine.survey()
        child = await self._machine.at_risk(self._target, self._pid)
        ending = self._ending(child, seconds)
        try:
            yield AtRiskStarted(host=inventory.host, untraced=child.untraced)
            newest = AtRisk()
            async for newest in child.seconds():
                found = self._limits(inventory, newest, child.untraced)
                yield AtRiskSecond(second=newest, sentences=sentences(newest), limits=found)
            yield AtRiskFinished(report=self._report(inventory, newest, child.untraced))
        finally:
            ending.cancel()
            await child.stop()

    def _limits(self, inventory: Inventory, seen: AtRisk, untraced: str | None) -> tuple[str, ...]:
        return (*self._lost_anyway(inventory, {disk.device for disk in seen.devices}), *limits(seen, untraced))

    def _lost_anyway(self, inventory: Inventory, devices: set[str]) -> Iterator[str]:
        """Yield each filesystem whose configuration drops even what is synced."""
        chosen = (self._target,) if self._target else inventory.filesystems
        for target in chosen:
            if not (target.stack and (self._target or devices.intersection(target.stack[0].below))):
                continue
            if (device := target.stack[0].name) not in self._judged:
                found = judge(Evidence(host=inventory.host, process=inventory.process, target=target))
                lies = found.verdict in LYING
                words = f"On {target.mount_point}, even synced data is at risk: {found.verdict}. {found.sentence}"
                self._judged[device] = words if lies else ""
            if self._judged[device]:
                yield self._judged[device]

    def _report(self, inventory: Inventory, whole: AtRisk, untraced: str | None) -> AtRiskReport:
        return AtRiskReport(
            started_at=self._started_at,
            version=__version__,
            host=inventory.host,
            pid=self._pid,
            mount_point=self._target.mount_point if self._target else None,
            untraced=untraced,
            whole=whole,
            sentences=sentences(whole),
            limits=self._limits(inventory, whole, untraced),
        )
