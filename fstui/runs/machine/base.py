"""What every machine can do. Nobody asks which kind one is: each does its own.

What is served to a class is handed a replayed machine, and so cannot write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fstui.measure.wire.frames import Frame, Samples
from fstui.model.counters import Counters, DeviceTrace
from fstui.model.declaration import Declaration
from fstui.model.host import Inventory, Process
from fstui.model.plan import PlannedStep
from fstui.model.run import Baselines, Run
from fstui.model.steps import Failure, Step
from fstui.model.storage import Node, Target
from fstui.state.workspace import HeldDirectory, Place

if TYPE_CHECKING:
    from fstui.databases.programs import Installed
    from fstui.model.activity import HostActivity
    from fstui.model.watch import Watched
    from fstui.storage.process import Processes
    from fstui.trace.child import Ended


class RunningProbe(Protocol):
    """One probe from its start to its end."""

    @property
    def pid(self) -> int | None:
        """Its process id, where it is a process."""

    def frames(self) -> AsyncIterator[Frame | Samples]:
        """What it says, until it ends."""

    def go(self) -> None:
        """Start the clock."""

    def stop(self) -> None:
        """End after the operation in flight."""

    async def finish(self, timeout_s: float) -> int | None:
        """Have it clean up and end; its exit status, or None where it had to be abandoned."""


class RunDirectory(Protocol):
    """A directory of the run's own on the target."""

    held: HeldDirectory
    dio_alignment: int | None
    file_flags: str
    """Of a small file there, by the letters of lsattr(1): S (synced writes), N (kept in the inode)."""

    async def remove(self, patience_s: float = ...) -> str | None:
        """Remove it; None, or the sentence that says why it is still there."""


class Served(NamedTuple):
    """A database server for one step."""

    told: dict[str, Any]
    """What only its probe is told: how to reach it. Not part of the run document."""
    figures: dict[str, Any]
    """What the run document says of it."""
    processes: tuple[int, ...] | None = ()
    """What does its work besides what we have started; None where it is not known, on another box say."""


class Servers(Protocol):
    """The database servers of one run, one at a time."""

    left_behind: list[str]
    """Sentences about what could not be removed."""

    async def open_existing(self, steps: Iterable[PlannedStep]) -> Target | None:
        """See before the first step that an existing server lets us in. Raises Refused with what it said.

        The server, where its data is not on the filesystem of the run's directory: it is what the run is about then.
        """

    async def expect(self, steps: Iterable[PlannedStep]) -> None:
        """Note and find what the first server of our own will want, before anything is watched or measured."""

    async def serve(self, planned: PlannedStep, ending: asyncio.Event, sync_s: float) -> Served | Failure | None:
        """The server for a step; None where none is needed, or a stop or a skip came first.

        ``sync_s``: what a sync takes there, as far as it was measured.
        """

    async def cause_of_death(self) -> str | None:
        """Why the server is gone, if it is; the next step gets a new one."""

    def fill_again(self) -> None:
        """The step that was to fill the tables was cut short: the next one drops what is there and fills anew."""

    async def stop(self) -> None:
        """End the server and remove what it had."""


class Trace(Protocol):
    """The kernel's trace beside one run, where it can be had."""

    refused: str | None
    """Why there is none, in one sentence; None also where nobody asked."""

    def begin(self, from_ns: int, ours: tuple[int, ...]) -> None:
        """A step's time began. ``ours``: processes that count as ours besides those that we start."""

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        """It has ended: what each block device was asked for; None where nobody can say."""

    async def stop(self) -> str | None:
        """Take it down; None, or the sentence that says what is still there."""


class Waits(Protocol):
    """Who waits for which file, as long as it is looked at."""

    def seconds(self) -> AsyncIterator[Watched | Ended]:
        """Each second, and after ``end`` all of them."""

    def end(self) -> None:
        """Have it say what it came to."""

    async def stop(self) -> str | None:
        """Take it down; None, or the sentence that says what is still there."""


class NoTrace:
    """Nothing is traced."""

    def __init__(self, refused: str | None = None) -> None:
        self.refused = refused

    def begin(self, from_ns: int, ours: tuple[int, ...]) -> None:
        """Nothing sees it."""

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        return None

    async def stop(self) -> str | None:
        return None


class Machine(Protocol):
    """A box with storage."""

    simulated: str | None
    """What it is, where it is not this box: said wherever a number is shown."""

    def survey(self) -> Inventory:
        """Every filesystem with its stack; reads /proc and /sys only."""

    def changed(self) -> bool:
        """Something was mounted, unmounted, plugged or unplugged since this was last asked: time for a survey."""

    async def with_space(self, inventory: Inventory) -> Inventory:
        """The same with free space filled in, and ``silent_s`` where a mount does not answer."""

    def target(self, directory: str) -> Target:
        """The stack beneath a resolved directory, as the newest survey found it."""

    def counters(self, stack: Iterable[Node]) -> Counters:
        """Every layer's counters at one monotonic time."""

    def like(self) -> Process | None:
        """The process in whose io cgroup the probes run, or None where they run in our own."""

    def written_so_far(self) -> Processes:
        """Bytes that every process which we may look at has written."""

    def at_work(self) -> AsyncGenerator[HostActivity]:
        """Who writes and which databases run, again and again, until it is closed."""

    async def inspect(self, directory: str) -> Place:
        """Resolve a directory. Raises Refused."""

    async def installed(self) -> Installed:
        """The outside programs that the database steps want."""

    async def make_directory(self, directory: str, run_id: str) -> RunDirectory:
        """Make the run's own directory there. Raises Refused."""

    def servers(self, run_id: str, workspace: HeldDirectory) -> Servers:
        """The database servers that the run's steps will want; none is started yet."""

    async def trace(self, run_id: str, stack: Iterable[Node]) -> Trace:
        """Have the kernel say whose flushes they are, at every block device of the stack."""

    async def waits(self, target: Target | None, pid: int | None) -> Waits:
        """See who waits for which file: all programs on that filesystem or on all, or one and its children.

        Raises Untraceable where only counters tell, Refused where there is nobody to watch.
        """

    async def start(
        self, step: PlannedStep, directory: HeldDirectory, stack: tuple[Node, ...], facts: bool, told: Mapping[str, Any]
    ) -> RunningProbe:
        """Start a step's probe; with ``facts`` it looks at its own sync path first. Raises OSError.

        ``told``: what only it is told besides its settings, and no document holds.
        """

    async def wait(self, seconds: float) -> None:
        """Let time pass."""

    def pull_plug(self) -> None:
        """Cut the power of a simulated storage. Raises Refused where it is a real one."""

    def turn(self, change: str) -> None:
        """``KEY=VALUE`` of a simulated storage is another from now on. Raises Refused."""

    def aftermath(self) -> Step | None:
        """What became of all that was promised, where the power was cut since the run's directory was made."""

    async def remember(self, identity: str, declaration: Declaration) -> None:
        """Keep what is declared of a storage, where anything is kept. Raises Refused, OSError."""

    async def baselines(self, run: Run) -> Baselines:
        """The saved runs, newest first, and the user's references, that one about to be measured is held against."""

    async def save(self, run: Run) -> tuple[str | None, str | None]:
        """Where the run was saved, or why not; neither where its like is never saved."""
