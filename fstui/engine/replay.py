"""A saved run, played again: for lessons, screenshots and tests. It reads nothing of this box and writes nothing.

The samples are made up anew from each step's saved timeline and histogram, so percentiles come out within a bucket of
the saved ones; counters, rates and times are the saved ones.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable

from fstui.inventory import process
from fstui.inventory.counters import COUNTED
from fstui.model import (
    Counters,
    DeviceCounters,
    Idle,
    Inventory,
    Node,
    PlannedStep,
    Process,
    Refused,
    Run,
    Space,
    Step,
    Target,
    TimelinePoint,
)
from fstui.probes.frames import Frame, Samples
from fstui.workspace import Place

_ROOM_BYTES = 1 << 40


class ReplayMachine:
    """A machine whose probes are the steps of one saved run. ``pace`` 0 plays at once, 1 in real time."""

    def __init__(self, run: Run, pace: float = 1.0) -> None:
        if run.target is None:
            raise Refused(f"run {run.id} has no target: it cannot be replayed")
        self.simulated: str | None = f"replay of {run.id}"
        self.run = run
        self.pace = pace
        self._target = run.target
        self._now_ns = 1_000_000_000
        self._moved: dict[str, DeviceCounters] = {node.id: DeviceCounters(device=node.id) for node in run.target.stack}
        for counters in (run.idle.counters if run.idle else (), *(step.counters for step in run.steps)):
            self.move(counters, 0.0, 0.0)  # what a layer counts is 0 before it moves, not unknown

    def survey(self) -> Inventory:
        return Inventory(host=self.run.host, process=self.run.process, filesystems=(self._target,))

    def changed(self) -> bool:
        return False

    async def with_space(self, inventory: Inventory) -> Inventory:
        return inventory

    def target(self, directory: str) -> Target:
        return self._target

    def counters(self, stack: Iterable[Node]) -> Counters:
        return Counters(monotonic_ns=self._now_ns, devices=tuple(self._moved.values()))

    def like(self) -> Process | None:
        return self.run.like

    def written_so_far(self) -> dict[int, process.Written]:
        return {}

    async def inspect(self, directory: str) -> Place:
        return Place(directory, self._target.space or Space(total_bytes=_ROOM_BYTES, free_bytes=_ROOM_BYTES))

    async def room(self, directory: str, run_id: str) -> NoRoom:
        return NoRoom(directory)

    async def start(self, step: PlannedStep, directory: str, stack: tuple[Node, ...], facts: bool) -> ReplayProbe:
        saved = next((saved for saved in self.run.steps if saved.name == step.name), None)
        if saved is None:
            raise OSError(2, f"run {self.run.id} has no step {step.name!r}")
        return ReplayProbe(self, saved, facts)

    async def wait(self, seconds: float) -> None:
        idle = self.run.idle or Idle()
        if idle.elapsed_s:
            self.move(idle.counters, 0.0, min(1.0, seconds / idle.elapsed_s))
        await self.pass_time(seconds)

    async def pass_time(self, seconds: float) -> None:
        """Let the machine's clock run on, at its pace."""
        self._now_ns += int(seconds * 1e9)
        await asyncio.sleep(seconds * self.pace)

    def now_ns(self) -> int:
        """The machine's clock."""
        return self._now_ns

    def move(self, counters: Iterable[DeviceCounters], from_share: float, to_share: float) -> None:
        """Let the counters run on by a share of what was saved; the shares of a step add up to it exactly."""
        for saved in counters:
            before = self._moved.get(saved.device, DeviceCounters(device=saved.device))
            self._moved[saved.device] = DeviceCounters(
                device=saved.device,
                in_flight=saved.in_flight,
                **{
                    field: None
                    if (value := getattr(saved, field)) is None
                    else (getattr(before, field) or 0) + int(value * to_share) - int(value * from_share)
                    for field in COUNTED
                },
            )


class NoRoom:
    """The directory of a run that makes none."""

    dio_alignment: int | None = None

    def __init__(self, path: str) -> None:
        self.path = path

    async def remove(self) -> str | None:
        return None


class ReplayProbe:
    """One saved step as frames."""

    pid: int | None = None

    def __init__(self, machine: ReplayMachine, step: Step, facts: bool) -> None:
        self._machine = machine
        self._step = step
        self._facts = facts
        self._gone = asyncio.Event()
        self._stopped = False

    def go(self) -> None:
        self._gone.set()

    def stop(self) -> None:
        self._stopped = True
        self._gone.set()

    async def finish(self, timeout_s: float) -> int | None:
        return 0

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        step, machine = self._step, self._machine
        if self._facts:
            seen = machine.run.process
            yield Frame(
                "facts",
                {
                    "pipe_fsync_fails": seen.pipe_fsync_fails,
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
            yield Frame("figures", {**step.figures, **_own_histogram(step)})
        end_ns = machine.now_ns() if self._stopped else start_ns + round(step.elapsed_s * 1e9)
        yield Frame("done", {"start_ns": start_ns, "end_ns": end_ns, "held_ns": step.held_ns})

    async def _samples(self) -> AsyncIterator[Samples]:
        step = self._step
        values = [upper - 1 for upper, count in step.histogram for _ in range(count)]
        random.Random(step.name).shuffle(values)
        sync_share = _sync_share(step)
        at, passed_s = 0, 0.0
        for point, until_s in _with_ends(step):
            if self._stopped:
                return
            chosen = values[at : at + point.ops]
            at += point.ops
            begun_ns = self._machine.now_ns()
            share = min(1.0, until_s / step.elapsed_s) if step.elapsed_s else 1.0
            self._machine.move(step.counters, passed_s / step.elapsed_s if step.elapsed_s else 0.0, share)
            await self._machine.pass_time(until_s - passed_s)
            passed_s = until_s
            if chosen:
                yield _as_samples(begun_ns, self._machine.now_ns(), chosen, sync_share)


def _own_histogram(step: Step) -> dict[str, list[tuple[float, int]]]:
    """Of a program that reported one in the place of samples, in ms."""
    if "latency_ms" not in step.figures:
        return {}
    return {"histogram": [(ns / 1e6, count) for ns, count in step.histogram]}


def _with_ends(step: Step) -> Iterable[tuple[TimelinePoint, float]]:
    """Each stretch of the timeline with the second in which it ends."""
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
    return Samples(0, 1 if sync_share is None else 2, start_ns, marks)
