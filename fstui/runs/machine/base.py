"""The interface of every machine: this host, simulated storage, or a saved run that is replayed.

The runner uses only this interface. The default methods do not touch this host. A machine that inherits them, such as
a simulated one in a classroom, cannot write to this host's storage.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fstui.measure.wire.frames import Frame, Samples
from fstui.model.counters import Counters, DeviceTrace
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.host import Inventory, Process
from fstui.model.storage import Node, Target
from fstui.state.workspace import HeldDirectory, RunDirectory, TargetDirectory

if TYPE_CHECKING:
    from fstui.databases.programs import Programs
    from fstui.model.activity import HostActivity
    from fstui.model.plan import PlannedStep
    from fstui.model.run import Baselines, Run
    from fstui.model.steps import Failure, Step
    from fstui.storage.process import WriteCounts
    from fstui.trace.at_risk import AtRiskChild
    from fstui.trace.child import FinalReport, SecondReport


class RunningProbe(ABC):
    """A running probe. It measures from ``go`` until the step ends or ``stop``."""

    pid: int | None = None

    def __init__(self) -> None:
        self._go_requested = asyncio.Event()
        self._is_stopped = False

    @abstractmethod
    def frames(self) -> AsyncIterator[Frame | Samples]:
        """Yield the frames that the probe sends, until it ends."""

    def go(self) -> None:
        self._go_requested.set()

    def stop(self) -> None:
        """End the probe after the operation in flight."""
        self._is_stopped = True
        self._go_requested.set()

    async def finish(self, timeout_s: float) -> int | None:
        """Let the probe clean up and end. Returns its exit status, or None if the probe had to be abandoned."""
        return 0


class ProbeRequest(NamedTuple):
    step: PlannedStep
    directory: HeldDirectory
    stack: tuple[Node, ...]
    reports_facts: bool
    """Whether the probe first reports on its own sync path."""
    unsaved_settings: Mapping[str, Any]
    """Settings that are not in the run document."""


class StepServer(NamedTuple):
    probe_settings: dict[str, Any]
    """Settings for the probe only, such as how to connect. They are not in the run document."""
    figures: dict[str, Any]
    processes: tuple[int, ...] | None = ()
    """Processes that work for the step and that fstui did not start; None if unknown, as on another host."""


class SaveResult(NamedTuple):
    """The path of a saved run, or why the run was not saved. Both are None on a machine that saves nothing."""

    path: str | None = None
    error: str | None = None


class Servers:
    """The database servers of a run, one at a time. By default there are none."""

    def __init__(self) -> None:
        self.left_behind: list[str] = []
        """Sentences about what could not be removed."""

    async def open_existing(self, steps: Iterable[PlannedStep]) -> Target | None:
        """Connect to an existing server. Return where its data is; None if on the run's target. Raises Refused."""
        return None

    async def serve(self, step: PlannedStep, stop: asyncio.Event, sync_s: float) -> StepServer | Failure | None:
        """Return a step's server; None if it needs none or ``stop`` is set. ``sync_s``: how long a sync takes."""
        return None

    async def cause_of_death(self) -> str | None:
        """Return why the server has ended, or None if it runs. The next step gets a new server."""
        return None

    def fill_again(self) -> None:
        """Drop and refill the tables in the next step, because filling them was interrupted."""

    async def stop(self) -> None:
        return


class StepTracing(Protocol):
    """The kernel's trace of a run. The defaults are those of a run without a trace."""

    untraced: str | None
    """A sentence with the reason why there is no trace; None if there is one, or none was requested."""

    def begin(self, from_ns: int, pids: tuple[int, ...]) -> None:
        """Begin a step. ``pids``: processes that work for the step and that fstui did not start."""
        return

    def pause(self) -> bool:
        """Trace nothing more of this step. Returns False without a trace."""
        return False

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        """End the step. Returns the requests at each block device; None if they are unknown."""
        return None

    async def stop(self) -> str | None:
        """Remove the trace. Returns None, or a sentence about what could not be removed."""
        return None


class NoTrace(StepTracing):
    def __init__(self, untraced: str | None = None) -> None:
        self.untraced = untraced


class RunningWatch(Protocol):
    """The programs that wait for files, while a watch runs."""

    def reports(self) -> AsyncIterator[SecondReport | FinalReport]:
        """Yield a report every second, and the final report after ``end``."""

    def end(self) -> None:
        """Request the final report."""

    async def stop(self) -> str | None:
        """End the watch. Returns None, or a sentence about what could not be removed."""


class Machine(Protocol):
    simulated: str | None
    """The source of the numbers, if that is not this host. It is shown next to every number."""

    def survey(self) -> Inventory:
        """Return every filesystem with its stack. This reads /proc, /sys and udev's database, and cannot hang."""

    def has_changed(self) -> bool:
        """Return whether anything was mounted, unmounted, plugged or unplugged since the last call."""
        return False

    async def with_space(self, inventory: Inventory) -> Inventory:
        """Add the free space to each filesystem, or ``silent_s`` if the filesystem hangs."""
        return inventory

    def target(self, directory: str) -> Target:
        """Return the stack below a resolved directory, as of the last survey. Raises Refused."""

    def counters(self, stack: Iterable[Node]) -> Counters:
        """Return the counters of every layer, and the time at which they were read."""

    def cgroup_process(self) -> Process | None:
        """Return the process in whose I/O cgroup the probes run; None if they run in the cgroup of fstui."""
        return None

    def read_write_counts(self) -> WriteCounts:
        """Return the bytes written by every process that this user may read."""
        return {}

    async def activity(self) -> AsyncGenerator[HostActivity]:
        """Yield regularly which processes write and which databases run, until the generator is closed."""
        return
        yield  # so that this is a generator

    async def inspect(self, directory: str) -> TargetDirectory:
        """Resolve a directory. Raises Refused."""

    async def find_programs(self) -> Programs:
        """Find out which programs for database steps are installed."""

    async def make_directory(self, directory: TargetDirectory, run_id: str) -> RunDirectory:
        """Make the run's own directory. Raises Refused, also if another filesystem is there now."""
        return RunDirectory(HeldDirectory(directory.path, 0, 0))

    def servers(self, run_id: str, workspace: HeldDirectory) -> Servers:
        """Return the database servers for the run's steps; none is started yet."""
        return Servers()

    async def trace(self, run_id: str, stack: Iterable[Node]) -> StepTracing:
        """Trace which processes request flushes at the block devices of the stack."""
        return NoTrace()

    async def watch_waits(self, target: Target | None, pid: int | None) -> RunningWatch:
        """Watch which programs wait for files. Raises Untraceable if only counters can be read, or Refused."""

    async def watch_risk(self, target: Target | None, pid: int | None) -> AtRiskChild:
        """Watch what programs would lose if the power failed. Raises Refused, OSError."""
        raise Refused("No program runs on a simulated disk, so nothing is at risk there. Omit --simulate.")

    async def start(self, probe: ProbeRequest) -> RunningProbe:
        """Start a step's probe. Raises OSError."""

    async def wait(self, seconds: float) -> None:
        """Wait on this machine's clock. A simulated machine has its own clock."""

    def pull_plug(self) -> None:
        """Cut the power of a simulated disk. Raises Refused on any other machine."""
        raise Refused("Only a simulated disk's power can be cut here. For a real disk, use fstui powercut.")

    def change(self, setting: str) -> None:
        """Apply ``KEY=VALUE`` to a simulated disk. Raises Refused on any other machine."""
        raise Refused("Only simulated disks have settings to change.")

    def power_cut_step(self) -> Step | None:
        """Return the result of a power cut as a step; None without a power cut since the run's directory was made."""
        return None

    async def save_declaration(self, identity: str, declaration: Declaration) -> None:
        """Save the user's declaration about a filesystem. By default, nothing is saved. Raises Refused, OSError."""
        return

    async def baselines(self, run: Run) -> Baselines:
        """Return the saved runs and references to compare a new run with."""
        from fstui.model.run import Baselines  # noqa: PLC0415  not needed for the first screen

        return Baselines()

    async def save(self, run: Run) -> SaveResult:
        return SaveResult()
