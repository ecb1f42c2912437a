"""A simulated storage, for lessons and tests: the model's clock, the model's disks, and counters of the model's kernel.

It reads nothing of this box and writes nothing. Nothing of it is saved: it would look measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

from fstui.databases.programs import Installed
from fstui.measure.kinds.base import StepSettings
from fstui.measure.kinds.powercut import PowerCut
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import Counters
from fstui.model.errors import Refused
from fstui.model.host import Inventory, Process
from fstui.model.plan import PlannedStep
from fstui.model.run import Baselines, Run
from fstui.model.settings import Settings
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from fstui.runs.machine.base import NoTrace
from fstui.runs.machine.played import NoDirectory, PlayedMachine
from fstui.runs.machine.simulated_step import SimulatedProbe
from fstui.runs.machine.simulated_watch import SimulatedWaits
from fstui.simulate import stack as surveyed
from fstui.simulate.parameters import Simulated, changed
from fstui.simulate.programs import program
from fstui.simulate.simulated_host import SimulatedHost
from fstui.state.workspace import HeldDirectory, Place

_NO_PROGRAMS = Installed(frozenset(), sysbench=False, no_oltp="a simulated box runs no other programs")


class SimulatedMachine(PlayedMachine):
    """A box that is not there. ``pace`` 1: the model's clock goes as fast as the wall's; 0: as fast as it can."""

    def __init__(self, made: Simulated, pace: float = 1.0) -> None:
        self.simulated: str | None = made.name
        self.made = made
        self.box = SimulatedHost(made)
        self._pace = pace
        self._due = time.monotonic()
        self._measuring: Settings | None = None
        self._began_ns = 0.0
        self._cut: Step | None = None

    def survey(self) -> Inventory:
        return surveyed.inventory(self.made)

    def target(self, directory: str) -> Target:
        found = surveyed.target(self.made)
        if not f"{directory}/".startswith(f"{found.mount_point}/"):
            raise Refused(f"{directory} is not on the simulated disk: that is {found.mount_point}")
        return found

    def counters(self, stack: Iterable[Node]) -> Counters:
        now_ns = int(self.box.now_ns)
        return Counters(monotonic_ns=now_ns, until_ns=now_ns, devices=tuple(self.box.counters()))

    def like(self) -> Process | None:
        return None

    async def inspect(self, directory: str) -> Place:
        return Place(directory, self.target(directory).space)

    async def installed(self) -> Installed:
        return _NO_PROGRAMS

    async def make_directory(self, directory: str, run_id: str) -> NoDirectory:
        self.box, self._cut = (
            SimulatedHost(self.made),
            None,
        )  # a run begins with a disk that has had time to empty itself
        return await super().make_directory(directory, run_id)

    async def trace(self, run_id: str, stack: Iterable[Node]) -> NoTrace:
        return NoTrace()

    async def waits(self, target: Target | None, pid: int | None) -> SimulatedWaits:
        if pid is not None:
            raise Refused(f"process {pid}: a simulated box has one program, and none of this box's")
        self.box = SimulatedHost(self.made)
        return SimulatedWaits(self)

    async def start(
        self, step: PlannedStep, directory: HeldDirectory, stack: tuple[Node, ...], facts: bool, told: Mapping[str, Any]
    ) -> SimulatedProbe:
        asked = step.settings
        work = program(self.box, asked) if isinstance(asked, StepSettings) else None
        if work is None:
            raise OSError(95, f"a simulated box has no {asked.probe}")
        self._measuring, self._began_ns = asked, self.box.now_ns
        return SimulatedProbe(self, work, facts)

    def pull_plug(self) -> None:
        """The power goes, now. What a program had been told is durable is looked for, as after a real cut."""
        asked = self._measuring.as_sync_writes() if isinstance(self._measuring, StepSettings) else None
        if asked is None or not self.box.acknowledged:
            raise Refused("nothing was promised to be durable in this step yet: there is nothing to lose")
        if self._cut is None:
            settings = PowerCut(sync=(_claim(asked),), writes=("append" if asked.offsets == "append" else "overwrite",))
            elapsed_s = (self.box.now_ns - self._began_ns) / 1e9
            self._cut = self.box.power_cut(self.box.now_ns, settings, asked.block_bytes, elapsed_s)

    def turn(self, change: str) -> None:
        self.made = changed(self.made, change)
        self.simulated = f"{self.simulated},{change}"
        self.box.change(self.made)

    def aftermath(self) -> Step | None:
        return self._cut

    async def wait(self, seconds: float) -> None:
        await self.pass_time(self.box.now_ns + seconds * 1e9)

    async def pass_time(self, until_ns: float) -> None:
        """Let the model's clock run on to then, at its pace. Where this box is too slow for it, it falls behind."""
        passed_s = max(0.0, until_ns - self.box.now_ns) / 1e9 * self._pace
        self.box.now_ns = max(self.box.now_ns, until_ns)
        now = time.monotonic()
        self._due = max(self._due, now - 0.1) + passed_s
        await asyncio.sleep(max(0.0, self._due - now) if self._pace else 0.0)

    async def baselines(self, run: Run) -> Baselines:
        return Baselines()


def _claim(asked: SyncWrites) -> str:
    return asked.sync if asked.sync != "none" else "+".join(f"O_{flag.upper()}" for flag in asked.open_flags)
