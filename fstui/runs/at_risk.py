"""Watch what each program would lose if the power failed. The stream of events ends with a report."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

from fstui import __version__
from fstui.judge import judge
from fstui.model.at_risk import AtRisk, AtRiskFinished, AtRiskReport, AtRiskSecond, AtRiskStarted
from fstui.model.host import Inventory
from fstui.model.judgement import NOT_TRUSTED
from fstui.model.run import Evidence
from fstui.model.storage import Target
from fstui.model.watch import WatchEvent
from fstui.runs.watch import WatchInProgress
from fstui.trace.at_risk import limits, sentences


class RiskWatch(WatchInProgress):
    async def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        inventory = self._machine.survey()
        child = await self._machine.watch_risk(self._target, self._pid)
        end_task = self._end_later(child, seconds)
        try:
            yield AtRiskStarted(host=inventory.host, untraced=child.untraced)
            defects = tuple(self._defects(inventory))
            at_risk = AtRisk()
            risk_texts = limit_texts = tuple[str, ...]()
            async for at_risk in child.reports():
                disks = {disk.device for disk in at_risk.devices}
                lossy = (text for target, text in defects if self._target or disks.intersection(target.stack[0].below))
                risk_texts, limit_texts = sentences(at_risk), (*lossy, *limits(at_risk, child.untraced))
                yield AtRiskSecond(second=at_risk, sentences=risk_texts, limits=limit_texts)
            report = AtRiskReport(
                started_at=self._started_at,
                version=__version__,
                host=inventory.host,
                pid=self._pid,
                mount_point=self._target.mount_point if self._target else None,
                untraced=child.untraced,
                last=at_risk,
                sentences=risk_texts,
                limits=limit_texts,
            )
            yield AtRiskFinished(report=report)
        finally:
            end_task.cancel()
            await child.stop()

    def _defects(self, inventory: Inventory) -> Iterator[tuple[Target, str]]:
        """Yield each filesystem whose configuration loses even synced data, with a sentence for the user."""
        for target in (self._target,) if self._target else inventory.filesystems:
            if not target.stack:
                continue
            judgement = judge(Evidence(host=inventory.host, process=inventory.process, target=target))
            if judgement.verdict in NOT_TRUSTED:
                reason = f"{judgement.verdict}. {judgement.sentence}"
                yield target, f"On {target.mount_point}, even synced data is at risk: {reason}"
