"""This box: its /proc and /sys, probes in child processes, directories and servers that are removed after a run."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fstui.measure.children import Child, NoAnswer, in_child
from fstui.measure.wire.frames import Frame, Samples
from fstui.model.counters import Counters
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.host import Inventory, Process
from fstui.model.plan import PlannedStep
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.run import Baselines, Run
from fstui.model.settings import Settings
from fstui.model.steps import Step
from fstui.model.storage import Node, Space, Target
from fstui.runs.machine import asking
from fstui.runs.machine.base import NoTrace, Trace, Waits
from fstui.runs.machine.early import start_probe
from fstui.state.workspace import HeldDirectory, Place, Workspace, inspect
from fstui.storage import counters as device_counters
from fstui.storage import process, survey
from fstui.storage.claims import Claims, Command
from fstui.storage.hotplug import Watch
from fstui.storage.tree import Tree

if TYPE_CHECKING:
    from fstui.databases.programs import Installed
    from fstui.model.activity import HostActivity
    from fstui.runs.serving import Serving
    from fstui.storage.process import Processes

_NICE = 19
CLAIMS_S, RECENT_S = 60.0, 5.0
"""How old the tools' answers may be in a list, and before a run."""


class LocalMachine:
    """This box."""

    def __init__(
        self,
        root: Path = Path("/"),
        like: int | None = None,
        *,
        trace: bool = True,
        trusting: bool = False,
        rate_limit: RateLimit = UNLIMITED,
    ) -> None:
        """``like``: the process in whose io cgroup the probes run. Raises Refused where that cannot be.

        ``trace``: let the kernel's trace bear witness, where it can be had. ``trusting``: as root, write also where
        another user may rename what is written. ``rate_limit``: how the probes hold themselves back.
        """
        self.simulated: str | None = None
        self._another = AnotherCgroup(like, root) if like is not None else None
        self._root = root
        self._trace = trace
        self._trusting = trusting
        self._rate_limit = rate_limit
        self._silent_since: dict[str, float] = {}
        self._files = count(1)
        self._serving: Serving | None = None
        self._watch: Watch | None = None
        self._newest: Inventory | None = None
        self._claims: Claims = {}
        self._asked: tuple[Command, ...] = ()
        self._asked_at = -math.inf

    def survey(self) -> Inventory:
        self._newest = survey.survey(self._root, self._claims)
        return self._newest

    def changed(self) -> bool:
        if self._watch is None:
            self._watch = Watch(self._root)
        return self._watch.changed()

    async def _learn(self, inventory: Inventory, older_than_s: float) -> Inventory | None:
        """Ask the tools about what is here, where it changed or the answers are older; None: nothing was asked.

        Surveyed anew with the answers, and with those to what they led to: a path that a server named.
        """
        commands = survey.commands(inventory) if self._root == Path("/") else ()
        if not commands or (commands == self._asked and time.monotonic() - self._asked_at < older_than_s):
            return None
        self._asked_at = time.monotonic()
        self._claims = await asking.tools(commands)
        learned = self.survey()
        self._asked = survey.commands(learned)
        if further := tuple(command for command in self._asked if command not in commands):
            self._claims = {**self._claims, **await asking.tools(further)}
            learned = self.survey()
        return learned

    async def with_space(self, inventory: Inventory) -> Inventory:
        asked = [target.mount_point for target in inventory.filesystems if not target.pseudo]
        learned, answers = await asyncio.gather(self._learn(inventory, CLAIMS_S), asking.free_space(asked))
        inventory = learned or inventory
        now = time.monotonic()
        for mount_point in asked:
            if mount_point in answers:
                self._silent_since.pop(mount_point, None)
            else:
                self._silent_since.setdefault(mount_point, now - asking.SILENT_S)
        return msgspec.structs.replace(
            inventory,
            filesystems=tuple(self._with_answer(target, answers, now) for target in inventory.filesystems),
        )

    def _with_answer(self, target: Target, answers: dict[str, Space | None], now: float) -> Target:
        since = self._silent_since.get(target.mount_point)
        return msgspec.structs.replace(
            target,
            space=answers.get(target.mount_point),
            silent_s=None if since is None or target.pseudo else round(now - since, 1),
        )

    def target(self, directory: str) -> Target:
        return survey.target_of(directory, self._newest or self.survey())

    def counters(self, stack: Iterable[Node]) -> Counters:
        return device_counters.read_counters(tuple(stack), self._root)

    def like(self) -> Process | None:
        return self._another.process if self._another else None

    def written_so_far(self) -> Processes:
        from fstui.storage.process import written_so_far  # noqa: PLC0415  the first screen comes without

        return written_so_far()

    def at_work(self) -> AsyncGenerator[HostActivity]:
        from fstui.runs import activity  # noqa: PLC0415  the first frame comes without

        return activity.looks() if self._root == Path("/") else activity.nobody()

    async def inspect(self, directory: str) -> Place:
        looking = inspect(directory, trusting=self._trusting)
        place, _ = await asyncio.gather(looking, self._learn(self.survey(), RECENT_S))
        return place

    async def installed(self) -> Installed:
        from fstui.databases import programs  # noqa: PLC0415  the first screen comes without

        try:
            return await in_child(programs.look, timeout_s=2 * programs.ANSWER_S, where="a directory in PATH")
        except NoAnswer:
            return programs.NOTHING

    async def make_directory(self, directory: str, run_id: str) -> Workspace:
        return await Workspace.make(directory, run_id)

    def servers(self, run_id: str, workspace: HeldDirectory) -> Serving:
        from fstui.runs.serving import Serving  # noqa: PLC0415

        self._serving = Serving(run_id, workspace, self._restrain)
        return self._serving

    async def trace(self, run_id: str, stack: Iterable[Node]) -> Trace:
        if not self._trace or self._root != Path("/"):
            return NoTrace()
        from fstui.trace.child import RunTrace, Untraceable  # noqa: PLC0415

        try:
            return await RunTrace.start(run_id, [node.id for node in stack if node.layer == "block"])
        except Untraceable as problem:
            return NoTrace(str(problem))

    async def waits(self, target: Target | None, pid: int | None) -> Waits:
        from fstui.runs.machine import local_watch  # noqa: PLC0415

        return await local_watch.waits(target, pid, (self._newest or self.survey()).filesystems)

    async def start(
        self, step: PlannedStep, directory: HeldDirectory, stack: tuple[Node, ...], facts: bool, told: Mapping[str, Any]
    ) -> LocalProbe:
        probe = LocalProbe(await self._child_for(step.settings))
        if self._another:
            self._another.join(probe.child.pid)
        self._restrain(probe.child.pid)
        lowest = [node.id for node in stack if node.lowest and node.layer == "block"]
        here = {
            **directory.as_settings,
            # a name of its own: a probe that was killed leaves its file to the keeper of the directory
            "path": f"data-{next(self._files)}",
            "facts": process.PATTERN if facts else "",
            "fill_bytes_per_s": self._rate_limit.bytes_per_s,
            "stat_paths": [str(self._root / "sys/class/block" / device / "stat") for device in lowest],
        }
        probe.child.send(json.dumps({**step.settings.as_dict(), **told, **here}))
        return probe

    async def _child_for(self, settings: Settings) -> Child:
        waiting = self._serving.early.take(settings) if self._serving else None
        return waiting or await start_probe(settings)

    def _restrain(self, pid: int) -> None:
        """A child that writes, or starts what writes. Raises OSError."""
        if self._rate_limit.idle:
            _yield_to_others(pid)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def pull_plug(self) -> None:
        raise Refused("this disk's plug is in the wall: fstui powercut leads through it")

    def turn(self, change: str) -> None:
        raise Refused("a real disk has nothing that could be turned")

    def aftermath(self) -> Step | None:
        return None

    async def remember(self, identity: str, declaration: Declaration) -> None:
        from fstui.runs.saving import remember  # noqa: PLC0415

        await remember(identity, declaration)

    async def baselines(self, run: Run) -> Baselines:
        from fstui.runs.saving import baselines  # noqa: PLC0415

        return await baselines(run)

    async def save(self, run: Run) -> tuple[str | None, str | None]:
        from fstui.runs.saving import save  # noqa: PLC0415

        return await save(run)


class LocalProbe:
    """A probe in a child process."""

    def __init__(self, child: Child) -> None:
        self.child = child

    @property
    def pid(self) -> int | None:
        return self.child.pid

    def frames(self) -> AsyncIterator[Frame | Samples]:
        return self.child.read_frames()

    def go(self) -> None:
        self.child.send("go")

    def stop(self) -> None:
        self.child.send("stop")

    async def finish(self, timeout_s: float) -> int | None:
        status = await self.child.reap(timeout_s)
        if status is None:
            self.child.abandon()
        return status


class AnotherCgroup:
    """The io cgroup of a process."""

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        """Raises Refused where there is no such process, or where its cgroup cannot be joined."""
        self.process: Process = process.read_process_of(pid, root)
        groups = Tree(root).text(f"/proc/{pid}/cgroup") or ""
        self._members = process.members_file(Tree(root), groups)
        if self._members is None:
            raise Refused(f"process {pid}: its io cgroup cannot be found: is the cgroup filesystem mounted?")
        self._check()

    def join(self, pid: int) -> None:
        """Put a process of ours into that cgroup (cgroups(7)). Raises OSError."""
        assert self._members is not None
        Path(self._members).write_text(str(pid))

    def _check(self) -> None:
        assert self._members is not None
        try:
            with Path(self._members).open("a"):
                pass
        except OSError as error:
            raise Refused(
                f"process {self.process.pid} ({self.process.name or '?'}): its cgroup cannot be joined: "
                f"{self._members}: {error.strerror}. Run as root."
            ) from None


def _yield_to_others(pid: int) -> None:
    """Put a process into the idle I/O class and at the lowest CPU priority (``--idle``); its children inherit both.

    ioprio_set(2): the class counts where the disk's scheduler heeds it. Raises OSError where that is refused.
    """
    import psutil  # noqa: PLC0415  for the few who ask for it

    process = psutil.Process(pid)
    try:
        process.nice(_NICE)
        process.ionice(psutil.IOPRIO_CLASS_IDLE)
    except psutil.Error as refused:
        raise OSError(None, f"--idle: {refused}") from None
