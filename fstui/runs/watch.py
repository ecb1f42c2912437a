"""Watch which programs wait for which files, or what they would lose if the power failed, without writing anything.

The stream of events ends with a report.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress

import msgspec

from fstui import __version__
from fstui.judge import judge
from fstui.model.at_risk import AtRisk, AtRiskFinished, AtRiskReport, AtRiskSecond, AtRiskStarted, UnsafeMount
from fstui.model.counters import difference
from fstui.model.errors import local_time
from fstui.model.host import Inventory
from fstui.model.judgement import NOT_TRUSTED
from fstui.model.run import Evidence
from fstui.model.storage import Node, Target
from fstui.model.watch import (
    WatchCounts,
    WatchedDevice,
    WatchedSecond,
    WatchEvent,
    WatchFinished,
    WatchReport,
    WatchStarted,
)
from fstui.runs.machine.base import Machine, RunningWatch
from fstui.storage.process import writers
from fstui.trace.at_risk import AtRiskChild, limits, sentences
from fstui.trace.child import FinalReport, SecondReport, Untraceable
from fstui.trace.conclusion import WatchConclusion, conclude, conclude_from_proc, storage_verdicts

INTERVAL_S = 1.0
MAX_WRITERS = 8


class WatchInProgress(ABC):
    """A watch, which lasts for a time or until it is stopped."""

    def __init__(self, machine: Machine, *, pid: int | None = None, target: Target | None = None) -> None:
        """``pid``: only this process and its children. ``target``: only its filesystem."""
        self._machine = machine
        self._pid = pid
        self._target = target
        self._stop_requested = asyncio.Event()
        self._started_at = local_time().isoformat(timespec="seconds")

    @property
    def devices(self) -> tuple[str, ...] | None:
        """The devices that receive the requests of the watched filesystem itself; None for a watch of all of them."""
        return tuple(node.id for node in self._target.devices) if self._target else None

    def stop(self) -> None:
        self._stop_requested.set()

    @abstractmethod
    def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        """Watch for this time, or until the watch is stopped. Raises Refused, and OSError if the child program died."""

    def _targets(self, inventory: Inventory) -> tuple[Target, ...]:
        return (self._target,) if self._target else inventory.filesystems

    async def _wait_for_stop(self, seconds: float | None) -> bool:
        """Wait for this time. Return whether the watch was stopped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._stop_requested.wait()
        return False

    def _end_later(self, child: RunningWatch | AtRiskChild, seconds: float | None) -> asyncio.Future[bool]:
        """Request the child's result after this time, or when the watch is stopped."""
        end_task = asyncio.ensure_future(self._wait_for_stop(seconds))
        end_task.add_done_callback(lambda _: child.end())
        return end_task


class WaitWatch(WatchInProgress):
    async def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        inventory = self._machine.survey()
        why_untraced: str | None = None
        try:
            source = self._read_trace(await self._machine.watch_waits(self._target, self._pid), seconds)
        except Untraceable as problem:
            why_untraced = str(problem)
            targets = self._targets(inventory)
            nodes = tuple({node.id: node for target in targets for node in target.stack if node.counted}.values())
            # read the counters before reporting that the watch has started
            source = self._read_proc(nodes, ProcSpan(self._machine, nodes), seconds)
        yield WatchStarted(host=inventory.host, simulated=self._machine.simulated, untraced=why_untraced)
        async with aclosing(source):
            async for result in source:
                if isinstance(result, FinalReport):
                    yield WatchFinished(report=self._report(inventory, result, why_untraced))
                else:
                    conclusion = _conclude(result.recent, why_untraced, inventory)
                    yield WatchedSecond(second=result.second, sentence=conclusion.sentence)

    async def _read_trace(
        self, trace: RunningWatch, seconds: float | None
    ) -> AsyncGenerator[SecondReport | FinalReport]:
        end_task = self._end_later(trace, seconds)
        try:
            async for result in trace.reports():
                yield result
                if isinstance(result, FinalReport):
                    return
            raise OSError(None, "the program that reads the kernel's trace has ended")
        finally:
            end_task.cancel()
            await trace.stop()

    async def _read_proc(
        self, nodes: tuple[Node, ...], total: ProcSpan, seconds: float | None
    ) -> AsyncGenerator[SecondReport | FinalReport]:
        remaining_s = seconds
        is_stopped = False
        while not is_stopped and (remaining_s is None or remaining_s > 0):
            second = ProcSpan(self._machine, nodes)
            is_stopped = await self._wait_for_stop(INTERVAL_S if remaining_s is None else min(INTERVAL_S, remaining_s))
            remaining_s = None if remaining_s is None else remaining_s - INTERVAL_S
            counts = second.result()
            yield SecondReport(counts, counts)
        yield FinalReport(total.result(), ())

    def _report(self, inventory: Inventory, final: FinalReport, why_untraced: str | None) -> WatchReport:
        conclusion = _conclude(final.total, why_untraced, inventory)
        verdicts = storage_verdicts(final.total, inventory, self._targets(inventory))
        return WatchReport(
            started_at=self._started_at,
            version=__version__,
            host=inventory.host,
            simulated=self._machine.simulated,
            pid=self._pid,
            mount_point=self._target.mount_point if self._target else None,
            untraced=why_untraced,
            total=final.total,
            errors=final.lost_writes,
            culprit=conclusion.culprit,
            sentence=conclusion.sentence,
            durability=verdicts.durability,
            speed=verdicts.speed,
        )


def _conclude(counts: WatchCounts, why_untraced: str | None, inventory: Inventory) -> WatchConclusion:
    return conclude_from_proc(counts, why_untraced) if why_untraced else conclude(counts, inventory.filesystems)


class ProcSpan:
    """A period and its activity: the difference of the kernel's counters between its start and its end."""

    def __init__(self, machine: Machine, nodes: tuple[Node, ...]) -> None:
        self._machine = machine
        self._nodes = nodes
        self._writes_before = machine.read_write_counts()
        self._before = machine.counters(nodes)

    def result(self) -> WatchCounts:
        after = self._machine.counters(self._nodes)
        active = [device for device in difference(self._before, after) if device.writes or device.flushes]
        return WatchCounts(
            elapsed_s=(after.monotonic_ns - self._before.monotonic_ns) / 1e9,
            devices=tuple(msgspec.convert(device, WatchedDevice, from_attributes=True) for device in active),
            writers=writers(self._writes_before, self._machine.read_write_counts())[:MAX_WRITERS],
        )


class RiskWatch(WatchInProgress):
    async def events(self, seconds: float | None = None) -> AsyncGenerator[WatchEvent, None]:
        inventory = self._machine.survey()
        child = await self._machine.watch_risk(self._target, self._pid)
        end_task = self._end_later(child, seconds)
        try:
            yield AtRiskStarted(host=inventory.host, untraced=child.untraced)
            mounts = tuple(self._unsafe_mounts(inventory))
            at_risk, unsafe = AtRisk(), tuple[UnsafeMount, ...]()
            risk_texts = limit_texts = tuple[str, ...]()
            async for at_risk in child.reports():
                disks = {disk.device for disk in at_risk.devices}
                unsafe = tuple(
                    mount for target, mount in mounts if self._target or disks.intersection(target.stack[0].below)
                )
                risk_texts = sentences(at_risk, counts_all=not unsafe)
                limit_texts = tuple(limits(at_risk, child.untraced, unsafe))
                yield AtRiskSecond(second=at_risk, sentences=risk_texts, limits=limit_texts, unsafe=unsafe)
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
                unsafe=unsafe,
            )
            yield AtRiskFinished(report=report)
        finally:
            end_task.cancel()
            await child.stop()

    def _unsafe_mounts(self, inventory: Inventory) -> Iterator[tuple[Target, UnsafeMount]]:
        for target in self._targets(inventory):
            if not target.stack:
                continue
            judgement = judge(Evidence(host=inventory.host, process=inventory.process, target=target))
            if judgement.verdict in NOT_TRUSTED:
                verdict, sentence = judgement.verdict, judgement.sentence
                yield target, UnsafeMount(mount_point=target.mount_point, verdict=verdict, sentence=sentence)
