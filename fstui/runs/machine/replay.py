"""A saved run, played again: for lessons, screenshots and tests. It reads nothing of this box and writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from fstui.databases.programs import EVERYTHING, Installed
from fstui.model.counters import Counters, DeviceCounters, DeviceTrace, Idle
from fstui.model.errors import Refused
from fstui.model.host import Inventory, Process
from fstui.model.plan import PlannedStep
from fstui.model.run import Baselines, Run
from fstui.model.steps import Step
from fstui.model.storage import Node, Space, Target
from fstui.runs.machine.base import Waits
from fstui.runs.machine.played import PlayedMachine
from fstui.runs.machine.replayed_step import ReplayProbe
from fstui.state.workspace import HeldDirectory, Place
from fstui.storage.counters import COUNTED

_SPACE_BYTES = 1 << 40
NOWHERE = Run(id="plan", started_at="", target=Target(path="DIR", mount_point="DIR", fstype="", source=""))
"""A machine without storage can only plan."""


class ReplayMachine(PlayedMachine):
    """A machine whose probes are the steps of one saved run. ``pace`` 0 plays at once, 1 in real time."""

    def __init__(self, run: Run, pace: float = 1.0) -> None:
        if run.target is None:
            raise Refused(f"run {run.id} has no target: it cannot be replayed")
        self.simulated: str | None = f"replay of {run.id}"
        self.run = run
        self.pace = pace
        self.started: Step | None = None
        """The step whose probe was started last."""
        self._target = run.target
        self._now_ns = 1_000_000_000
        self._moved: dict[str, DeviceCounters] = {node.id: DeviceCounters(device=node.id) for node in run.target.stack}
        for counters in (run.idle.counters if run.idle else (), *(step.counters for step in run.steps)):
            self.move(counters, 0.0, 0.0)  # what a layer counts is 0 before it moves, not unknown

    def survey(self) -> Inventory:
        return Inventory(host=self.run.host, process=self.run.process, filesystems=(self._target,))

    def target(self, directory: str) -> Target:
        return self._target

    def counters(self, stack: Iterable[Node]) -> Counters:
        return Counters(monotonic_ns=self._now_ns, devices=tuple(self._moved.values()))

    def like(self) -> Process | None:
        return self.run.like

    async def inspect(self, directory: str) -> Place:
        return Place(directory, self._target.space or Space(total_bytes=_SPACE_BYTES, free_bytes=_SPACE_BYTES))

    async def installed(self) -> Installed:
        return EVERYTHING  # what was measured then was there

    async def trace(self, run_id: str, stack: Iterable[Node]) -> ReplayTrace:
        return ReplayTrace(self)

    async def waits(self, target: Target | None, pid: int | None) -> Waits:
        raise Refused("What is shown here was recorded elsewhere: there is nobody to watch.")

    async def start(
        self, step: PlannedStep, directory: HeldDirectory, stack: tuple[Node, ...], facts: bool, told: Mapping[str, Any]
    ) -> ReplayProbe:
        saved = next((saved for saved in self.run.steps if saved.name == step.name), None)
        if saved is None:
            raise OSError(2, f"run {self.run.id} has no step {step.name!r}")
        self.started = saved
        return ReplayProbe(self, saved, facts)

    async def wait(self, seconds: float) -> None:
        idle = self.run.idle or Idle()
        share = min(1.0, seconds / idle.elapsed_s) if idle.elapsed_s else 0.0
        if share:
            self.move(idle.counters, 0.0, share)
        await self.pass_time(seconds)

    def pull_plug(self) -> None:
        raise Refused("what is played again has been: nothing can be cut")

    def turn(self, change: str) -> None:
        raise Refused("what is played again has been: nothing can be turned")

    def aftermath(self) -> Step | None:
        return None

    async def baselines(self, run: Run) -> Baselines:
        return Baselines(self.run.before, self.run.own)

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


class ReplayTrace:
    """What the kernel's trace said then."""

    def __init__(self, machine: ReplayMachine) -> None:
        self.refused = machine.run.untraced
        self._machine = machine

    def begin(self, from_ns: int, ours: tuple[int, ...]) -> None:
        pass

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        return self._machine.started.trace if self._machine.started else None

    async def stop(self) -> str | None:
        return None
