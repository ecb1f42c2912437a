"""Replay a saved run. The replay reads and writes nothing of this host."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable

import msgspec

from fstui.databases.programs import ALL_PROGRAMS, Programs
from fstui.measure.wire.frames import Frame, Samples
from fstui.model.counters import COUNTER_FIELDS, Counters, DeviceCounters, DeviceTrace, Idle
from fstui.model.errors import Refused
from fstui.model.host import Inventory, Process
from fstui.model.run import Baselines, Run
from fstui.model.steps import Step, TimelinePoint
from fstui.model.storage import Node, Space, Target
from fstui.runs.machine.base import Machine, NoTrace, ProbeRequest, RunningProbe, RunningWatch
from fstui.state.workspace import TargetDirectory

_ASSUMED_SPACE_BYTES = 1 << 40
NO_STORAGE = Run(id="plan", started_at="", target=Target(path="DIR", mount_point="DIR", fstype="", source=""))
"""A run without storage, for a machine that can only plan."""


class ReplayMachine(Machine):
    """A machine whose probes are the steps of a saved run. ``pace`` 1: in real time; 0: as fast as possible."""

    def __init__(self, run: Run, pace: float = 1.0) -> None:
        if run.target is None:
            raise Refused(f"run {run.id} has no target: it cannot be replayed")
        replay = f"replay of {run.id}"
        self.simulated: str | None = f"{run.simulated}, {replay}" if run.simulated else replay
        self.run = run
        self.pace = pace
        self.started_step: Step | None = None
        self._target = run.target
        self.now_ns = 1_000_000_000
        self._counters: dict[str, DeviceCounters] = {
            node.id: DeviceCounters(device=node.id) for node in run.target.stack
        }
        for counters in (run.idle.counters if run.idle else (), *(step.counters for step in run.steps)):
            self.advance(counters, 0.0, 0.0)  # counters of the saved run start at 0, other counters stay unknown

    def survey(self) -> Inventory:
        return Inventory(host=self.run.host, process=self.run.process, filesystems=(self._target,))

    def target(self, directory: str) -> Target:
        return self._target

    def counters(self, stack: Iterable[Node]) -> Counters:
        return Counters(monotonic_ns=self.now_ns, devices=tuple(self._counters.values()))

    def cgroup_process(self) -> Process | None:
        return self.run.cgroup_process

    async def inspect(self, directory: str) -> TargetDirectory:
        return TargetDirectory(
            directory, self._target.space or Space(total_bytes=_ASSUMED_SPACE_BYTES, free_bytes=_ASSUMED_SPACE_BYTES)
        )

    async def find_programs(self) -> Programs:
        return ALL_PROGRAMS  # the saved run found the programs that it needs

    async def trace(self, run_id: str, stack: Iterable[Node]) -> ReplayTrace:
        return ReplayTrace(self)

    async def watch_waits(self, target: Target | None, pid: int | None) -> RunningWatch:
        raise Refused("This is the replay of a saved run: there is nothing to watch.")

    async def start(self, probe: ProbeRequest) -> ReplayProbe:
        saved_step = next((saved_step for saved_step in self.run.steps if saved_step.name == probe.step.name), None)
        if saved_step is None:
            raise OSError(2, f"run {self.run.id} has no step {probe.step.name!r}")
        self.started_step = saved_step
        return ReplayProbe(self, saved_step, probe.reports_facts)

    async def wait(self, seconds: float) -> None:
        idle = self.run.idle or Idle()
        share = min(1.0, seconds / idle.elapsed_s) if idle.elapsed_s else 0.0
        if share:
            self.advance(idle.counters, 0.0, share)
        await self.pass_time(seconds)

    async def baselines(self, run: Run) -> Baselines:
        return Baselines(self.run.earlier_runs, self.run.own_references)

    async def pass_time(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)
        await asyncio.sleep(seconds * self.pace)

    def advance(self, counters: Iterable[DeviceCounters], from_share: float, to_share: float) -> None:
        """Add what the saved counters counted between two shares of their period: 0.0 is its start, 1.0 its end."""
        for saved_counters in counters:
            device = self._counters.get(saved_counters.device, DeviceCounters(device=saved_counters.device))
            self._counters[saved_counters.device] = DeviceCounters(
                device=saved_counters.device,
                in_flight=saved_counters.in_flight,
                **{
                    field: None
                    if (value := getattr(saved_counters, field)) is None
                    else (getattr(device, field) or 0) + int(value * to_share) - int(value * from_share)
                    for field in COUNTER_FIELDS
                },
            )


class ReplayTrace(NoTrace):
    def __init__(self, machine: ReplayMachine) -> None:
        super().__init__(machine.run.untraced)
        self._machine = machine

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        return self._machine.started_step.trace if self._machine.started_step else None


class ReplayProbe(RunningProbe):
    """Replays a saved step. Samples are derived from its timeline and histogram; counters and times are as saved."""

    def __init__(self, machine: ReplayMachine, step: Step, reports_facts: bool) -> None:
        super().__init__()
        self._machine = machine
        self._step = step
        self._reports_facts = reports_facts

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        step, machine = self._step, self._machine
        if self._reports_facts:
            names = ("pipe_fsync_fails", "left_dirty", "dsync_flag_kept", "cgroup")
            yield Frame("facts", {name: getattr(machine.run.process, name) for name in names})
        yield Frame("ready", {})
        await self._go_requested.wait()
        start_ns = machine.now_ns
        async for samples in self._samples():
            yield samples
        if step.error:
            error = step.error
            yield Frame("error", {"call": error.call, "errno": error.errno, "message": error.message, "writer": 0})
        if step.figures:
            yield Frame("figures", {**msgspec.to_builtins(step.figures), **_reported_histogram(step)})
        end_ns = machine.now_ns if self._is_stopped else start_ns + round(step.elapsed_s * 1e9)
        waits, pressure = ("cpu_wait_ns", "longest_cpu_wait_ns"), ("cpu_pressure_ns", "longest_cpu_pressure_ns")
        times = ("delayed_ns", "counter_intervals", "traced_part", *waits, *pressure, "stolen_ns", "frozen_ns")
        saved_times = {name: getattr(step, name) for name in times}
        yield Frame("done", {"start_ns": start_ns, "end_ns": end_ns, **saved_times})

    async def _samples(self) -> AsyncIterator[Samples]:
        step = self._step
        values = [upper - 1 for upper, count in step.histogram for _ in range(count)]
        random.Random(step.name).shuffle(values)
        sync_share = _sync_share(step)
        index, passed_s, counted_share = 0, 0.0, 0.0
        for point, until_s in _with_ends(step):
            if self._is_stopped:
                return
            interval_values = values[index : index + point.ops]
            index += point.ops
            begin_ns = self._machine.now_ns
            # on a busy host samples arrive late, so the timeline may continue after the step, but the counters do not
            share = min(1.0, until_s / step.elapsed_s) if step.elapsed_s else 1.0
            self._machine.advance(step.counters, counted_share, share)
            await self._machine.pass_time(until_s - passed_s)
            passed_s, counted_share = until_s, share
            if interval_values:
                yield _as_samples(begin_ns, self._machine.now_ns, interval_values, sync_share)
        self._machine.advance(step.counters, counted_share, 1.0)


def _reported_histogram(step: Step) -> dict[str, list[tuple[float, int]]]:
    """Return the histogram (ms, count) of a program that reported a histogram instead of samples."""
    if not step.settings.reports_own_figures:
        return {}
    return {"histogram": [(ns / 1e6, count) for ns, count in step.histogram]}


def _with_ends(step: Step) -> Iterable[tuple[TimelinePoint, float]]:
    """Return the points of the timeline, each with the end of its interval in s. The last point ends with the step."""
    if not step.timeline:
        return ()
    starts = [point.t_s for point in step.timeline[1:]]
    return zip(step.timeline, [*starts, max([step.elapsed_s, *starts[-1:]])], strict=True)


def _sync_share(step: Step) -> float | None:
    """Return the sync's share of an operation; None if there is no separate sync."""
    if step.sync_ns is None or step.latency_ns is None:
        return None
    return min(1.0, step.sync_ns.mean / max(1, step.latency_ns.mean))


def _as_samples(begin_ns: int, now_ns: int, values: list[int], sync_share: float | None) -> Samples:
    """Return consecutive operations that end at ``now_ns``, or later if the first would begin before ``begin_ns``."""
    part_ends_ns: list[int] = []
    end_ns = start_ns = max(begin_ns, now_ns - sum(values))
    for value in values:
        end_ns += value
        if sync_share is not None:
            part_ends_ns.append(end_ns - max(1, int(value * sync_share)))
        part_ends_ns.append(end_ns)
    return Samples.from_part_ends(0, 1 if sync_share is None else 2, start_ns, part_ends_ns)
