"""One saved step, played as the frames that its probe might have sent.

The samples are made up anew from its timeline and histogram, so percentiles come out within a bucket of the saved ones;
counters, rates and times are the saved ones.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

import msgspec

from fstui.measure.wire.frames import Frame, Samples
from fstui.model.steps import Step, TimelinePoint
from fstui.runs.machine.played import PlayedProbe

if TYPE_CHECKING:
    from fstui.runs.machine.replay import ReplayMachine


class ReplayProbe(PlayedProbe):
    """One saved step as frames."""

    def __init__(self, machine: ReplayMachine, step: Step, facts: bool) -> None:
        super().__init__()
        self._machine = machine
        self._step = step
        self._facts = facts

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        step, machine = self._step, self._machine
        if self._facts:
            seen = machine.run.process
            yield Frame(
                "facts",
                {
                    "pipe_fsync_fails": seen.pipe_fsync_fails,
                    "left_dirty": seen.left_dirty,
                    "dsync_flag_kept": seen.dsync_flag_kept,
                    "libc_sync_ns": seen.libc_sync_ns,
                    "raw_sync_ns": seen.raw_sync_ns,
                    "cgroup": seen.cgroup,
                },
            )
        yield Frame("ready", {})
        await self._gone.wait()
        start_ns = machine.now_ns()
        async for samples in self._samples():
            yield samples
        if step.error:
            error = step.error
            yield Frame("error", {"call": error.call, "errno": error.errno, "message": error.message, "writer": 0})
        if step.figures:
            yield Frame("figures", {**msgspec.to_builtins(step.figures), **_own_histogram(step)})
        end_ns = machine.now_ns() if self._stopped else start_ns + round(step.elapsed_s * 1e9)
        missed = {
            "cpu_wait_ns": step.cpu_wait_ns,
            "longest_cpu_wait_ns": step.longest_cpu_wait_ns,
            "stolen_ns": step.stolen_ns,
        }
        told = {"start_ns": start_ns, "end_ns": end_ns, "held_ns": step.held_ns, "turns": step.turns}
        yield Frame("done", told | missed)

    async def _samples(self) -> AsyncIterator[Samples]:
        step = self._step
        values = [upper - 1 for upper, count in step.histogram for _ in range(count)]
        random.Random(step.name).shuffle(values)
        sync_share = _sync_share(step)
        at, passed_s, counted_share = 0, 0.0, 0.0
        for point, until_s in _with_ends(step):
            if self._stopped:
                return
            chosen = values[at : at + point.ops]
            at += point.ops
            begun_ns = self._machine.now_ns()
            # a busy box hands over samples late: its timeline goes on after the step's end, what it counted does not
            share = min(1.0, until_s / step.elapsed_s) if step.elapsed_s else 1.0
            self._machine.move(step.counters, counted_share, share)
            await self._machine.pass_time(until_s - passed_s)
            passed_s, counted_share = until_s, share
            if chosen:
                yield _as_samples(begun_ns, self._machine.now_ns(), chosen, sync_share)
        self._machine.move(step.counters, counted_share, 1.0)


def _own_histogram(step: Step) -> dict[str, list[tuple[float, int]]]:
    """Of a program that reported one in the place of samples, in ms."""
    if not step.settings.reports_itself:
        return {}
    return {"histogram": [(ns / 1e6, count) for ns, count in step.histogram]}


def _with_ends(step: Step) -> Iterable[tuple[TimelinePoint, float]]:
    """Each stretch of the timeline with the second in which it ends; none of a step that failed at once."""
    if not step.timeline:
        return ()
    starts = [point.t_s for point in step.timeline[1:]]
    return zip(step.timeline, [*starts, max([step.elapsed_s, *starts[-1:]])], strict=True)


def _sync_share(step: Step) -> float | None:
    """The sync's share of an operation, or None where there is no separate sync."""
    if step.sync_ns is None or step.latency_ns is None:
        return None
    return min(1.0, step.sync_ns.mean / max(1, step.latency_ns.mean))


def _as_samples(begun_ns: int, now_ns: int, values: list[int], sync_share: float | None) -> Samples:
    """The values as consecutive operations that end by now."""
    marks: list[int] = []
    end_ns = start_ns = max(begun_ns, now_ns - sum(values))
    for value in values:
        end_ns += value
        if sync_share is not None:
            marks.append(end_ns - max(1, int(value * sync_share)))
        marks.append(end_ns)
    return Samples.of(0, 1 if sync_share is None else 2, start_ns, marks)
