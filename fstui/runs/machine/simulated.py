"""Simulated storage, for lessons and tests, with the clock, the disks and the counters of a model.

It reads and writes nothing of this host.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator, Iterable

from fstui.databases.programs import Programs
from fstui.measure.kinds import StepSettings
from fstui.measure.kinds.powercut import PowerCut
from fstui.measure.wire.frames import Frame, Samples
from fstui.model.counters import Counters
from fstui.model.errors import Refused
from fstui.model.host import Inventory
from fstui.model.settings import Settings
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from fstui.runs.machine.base import Machine, ProbeRequest, RunningProbe
from fstui.simulate import stack as simulated_stack
from fstui.simulate.parameters import SimulationParameters, with_change
from fstui.simulate.programs import SimulatedProgram, new_program
from fstui.simulate.simulated_host import SimulatedHost
from fstui.simulate.watched import WatchedHost
from fstui.state.workspace import RunDirectory, TargetDirectory
from fstui.trace.child import FinalReport, SecondReport

_NO_SERVER = "this scenario needs a database server, which a simulated disk does not have: run it on a real directory"
_NO_PROGRAMS = Programs(frozenset(), sysbench=False, oltp_refusal=_NO_SERVER)
CHUNK_NS = 50e6
"""The simulated time between two frames of samples."""
SECOND_NS = 1e9
FILE_WRITE_DURATION_S = 0.1
"""Approximate time to write the file before the measurement starts."""


class SimulatedMachine(Machine):
    """A host that does not exist. ``pace`` 1: in real time; 0: as fast as possible."""

    def __init__(self, parameters: SimulationParameters, pace: float = 1.0) -> None:
        self.simulated: str | None = parameters.name
        self.parameters = parameters
        self.host = SimulatedHost(parameters)
        self._pace = pace
        self._wake_up_at = time.monotonic()
        self._measured_settings: Settings | None = None
        self._step_began_ns = 0.0
        self._power_cut: Step | None = None

    def survey(self) -> Inventory:
        return simulated_stack.inventory(self.parameters)

    def target(self, directory: str) -> Target:
        target = simulated_stack.target(self.parameters)
        if not f"{directory}/".startswith(f"{target.mount_point}/"):
            raise Refused(f"{directory} is not on the simulated disk, which is mounted on {target.mount_point}.")
        return target

    def counters(self, stack: Iterable[Node]) -> Counters:
        return self.host.counters()

    async def inspect(self, directory: str) -> TargetDirectory:
        return TargetDirectory(directory, self.target(directory).space)

    async def find_programs(self) -> Programs:
        return _NO_PROGRAMS

    async def make_directory(self, directory: TargetDirectory, run_id: str) -> RunDirectory:
        self.host = SimulatedHost(self.parameters)  # a run begins with a disk whose cache is empty
        self._power_cut = None
        return await super().make_directory(directory, run_id)

    async def watch_waits(self, target: Target | None, pid: int | None) -> SimulatedWaits:
        if pid is not None:
            raise Refused(f"Process {pid} is not on the simulated host, which runs one program only.")
        self.host = SimulatedHost(self.parameters)
        return SimulatedWaits(self)

    async def start(self, probe: ProbeRequest) -> SimulatedProbe:
        settings = probe.step.settings
        program = new_program(self.host, settings) if isinstance(settings, StepSettings) else None
        if program is None:
            raise OSError(95, f"a simulated host has no {settings.probe}")
        self._measured_settings, self._step_began_ns = settings, self.host.now_ns
        return SimulatedProbe(self, program, probe.reports_facts)

    def pull_plug(self) -> None:
        """Cut the power now, and look for the acknowledged writes, as after a real power cut."""
        measured = self._measured_settings
        settings = measured.as_sync_writes() if isinstance(measured, StepSettings) else None
        if settings is None or not self.host.ack_count:
            raise Refused("This step has not acknowledged a durable write yet, so nothing can be lost.")
        if self._power_cut is None:
            writes = "append" if settings.offsets == "append" else "overwrite"
            open_flags = "+".join(f"O_{flag.upper()}" for flag in settings.open_flags)
            cut = PowerCut(sync=(settings.sync if settings.sync != "none" else open_flags,), writes=(writes,))
            elapsed_s = (self.host.now_ns - self._step_began_ns) / 1e9
            self._power_cut = self.host.cut_power(self.host.now_ns, cut, settings.block_bytes, elapsed_s)

    def change(self, setting: str) -> None:
        self.parameters = with_change(self.parameters, setting)
        self.simulated = f"{self.simulated},{setting}"
        self.host.change(self.parameters)

    def power_cut_step(self) -> Step | None:
        return self._power_cut

    async def wait(self, seconds: float) -> None:
        await self.pass_time(self.host.now_ns + seconds * 1e9)

    async def pass_time(self, until_ns: float) -> None:
        """Advance the model's clock to that time, at the machine's pace, or more slowly if this host is too slow."""
        passed_s = max(0.0, until_ns - self.host.now_ns) / 1e9 * self._pace
        self.host.now_ns = max(self.host.now_ns, until_ns)
        now = time.monotonic()
        self._wake_up_at = max(self._wake_up_at, now - 0.1) + passed_s  # after a longer delay, the model stays behind
        await asyncio.sleep(max(0.0, self._wake_up_at - now) if self._pace else 0.0)


class SimulatedProbe(RunningProbe):
    def __init__(self, machine: SimulatedMachine, program: SimulatedProgram, reports_facts: bool) -> None:
        super().__init__()
        self._machine, self._program, self._reports_facts = machine, program, reports_facts

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        machine, program = self._machine, self._program
        if self._reports_facts:
            yield Frame("facts", self._sync_path())
        await machine.wait(FILE_WRITE_DURATION_S)
        yield Frame("ready", {})
        await self._go_requested.wait()
        program.begin()
        while not (program.has_ended or self._is_stopped):
            until_ns = machine.host.now_ns + CHUNK_NS
            bursts = list(program.run_until(until_ns))
            # first, so that no counters are read at a time before the end of an operation that is already reported
            await machine.pass_time(program.ended_ns if program.has_ended else max(until_ns, program.ended_ns))
            for burst in bursts:
                yield Samples.from_part_ends(burst.writer, burst.parts, burst.start_ns, burst.part_ends_ns)
        if program.failed_call:
            eio = errno.EIO
            yield Frame("error", {"call": program.failed_call, "errno": eio, "message": os.strerror(eio), "writer": 0})
            return
        if program.figures:
            yield Frame("figures", program.figures)
        end_ns = program.ended_ns if program.has_ended else machine.host.now_ns
        yield Frame("done", {"start_ns": int(program.started_ns), "end_ns": int(end_ns), "delayed_ns": 0})

    def _sync_path(self) -> dict[str, object]:
        is_stubbed = self._machine.parameters.host.syncs_stubbed
        library = {"what": "preload", "value": "/usr/lib/libeatmydata.so", "path": "simulated:/proc/self/maps"}
        return {
            "pipe_fsync_fails": not is_stubbed,
            "dsync_flag_kept": not is_stubbed,
            "preloads": [library] if is_stubbed else [],
        }


class SimulatedWaits:
    def __init__(self, machine: SimulatedMachine) -> None:
        self._machine = machine
        self._watched = WatchedHost(machine.host)
        self._is_ending = False

    def end(self) -> None:
        self._is_ending = True

    async def reports(self) -> AsyncIterator[SecondReport | FinalReport]:
        while not self._is_ending:
            if await self._pass_second():
                second = self._watched.second()
                yield SecondReport(second, second)
        yield FinalReport(self._watched.whole(), ())

    async def stop(self) -> str | None:
        self._is_ending = True
        return None

    async def _pass_second(self) -> bool:
        """Let a second of the model pass. Returns False if the watch ended first."""
        until_ns = self._machine.host.now_ns + SECOND_NS
        while not self._is_ending and self._machine.host.now_ns < until_ns:
            chunk_ns = min(until_ns, self._machine.host.now_ns + CHUNK_NS)
            await self._machine.pass_time(self._watched.run_until(chunk_ns))
        return not self._is_ending
