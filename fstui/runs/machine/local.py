"""This host: its /proc and /sys, probes in child processes, and directories and servers that runs create and remove."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fstui.measure.children import CALL_TIMEOUT_S, Child, NoReply, call_in_child
from fstui.measure.wire.frames import Frame, Samples
from fstui.model.counters import Counters
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.guests import Guest
from fstui.model.host import Inventory, Process
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.storage import Node, Space, Target
from fstui.runs.machine.base import Machine, NoTrace, ProbeRequest, RunningProbe, RunningWatch, SaveResult, StepTracing
from fstui.state.workspace import HeldDirectory, TargetDirectory, Workspace, inspect
from fstui.storage import counters as device_counters
from fstui.storage import process, survey, tool_output
from fstui.storage.hotplug import Watch
from fstui.storage.tool_output import Command, ToolOutputs
from fstui.storage.tree import Tree

if TYPE_CHECKING:
    from fstui.databases.programs import Programs
    from fstui.model.activity import HostActivity
    from fstui.model.run import Baselines, Run
    from fstui.runs.serving import DatabaseServers
    from fstui.storage.process import WriteCounts
    from fstui.trace.at_risk import AtRiskChild

LIST_MAX_AGE_S, RUN_MAX_AGE_S = 60.0, 5.0
"""Maximum age of the output of tools, for the list of filesystems and for a run."""
CHILD_START_TIMEOUT_S = 30.0
"""Time limit for the first line of a child program, which may wait for a CPU. If it pauses later, a disk hangs."""
SILENCE_TIMEOUT_S = 1.0
"""If no statvfs returns for this long, the filesystems without a result are reported as hanging. The total time has no
limit, because thousands of calls take long on a busy host."""
TOOLS_TIMEOUT_S = 7.0
"""Slightly longer than the 6 s after which the child program gives up on a tool."""
SAVE_TIMEOUT_S = 10.0
_LOWEST_PRIORITY = 19


class LocalMachine(Machine):
    def __init__(
        self,
        cgroup_of_pid: int | None = None,
        *,
        trace: bool = True,
        trust_directory: bool = False,
        rate_limit: RateLimit = UNLIMITED,
    ) -> None:
        """``cgroup_of_pid``: the process in whose I/O cgroup the probes run. Raises Refused if it cannot be joined.

        ``trace``: use the kernel's trace if possible. ``trust_directory``: as root, also write in a directory where
        another user could rename files. ``rate_limit``: the limit for the probes.
        """
        self.simulated: str | None = None
        self._cgroup = OtherCgroup(cgroup_of_pid) if cgroup_of_pid is not None else None
        self._trace = trace
        self._trust_directory = trust_directory
        self._rate_limit = rate_limit
        self._silent_since: dict[str, float] = {}
        self._file_numbers = count(1)
        self._watch: Watch | None = None
        self._newest_inventory: Inventory | None = None
        self._tool_outputs: ToolOutputs = {}
        self._commands: tuple[Command, ...] = ()
        self._tools_run_at = -math.inf
        self._guests: tuple[Guest, ...] = ()
        self._guests_read_at = -math.inf

    def survey(self) -> Inventory:
        inventory = survey.survey(tool_outputs=self._tool_outputs)
        self._newest_inventory = msgspec.structs.replace(inventory, guests=self._guests)
        return self._newest_inventory

    def has_changed(self) -> bool:
        if self._watch is None:
            self._watch = Watch()
        return self._watch.has_changed()

    async def _run_tools(self, inventory: Inventory, max_age_s: float) -> Inventory | None:
        """Return a new survey with the output of tools; None if the recent output is still valid."""
        commands = survey.commands(inventory)
        if not commands or (commands == self._commands and time.monotonic() - self._tools_run_at < max_age_s):
            return None
        self._tools_run_at = time.monotonic()
        self._tool_outputs = await run_tools(commands)
        new_inventory = self.survey()
        self._commands = survey.commands(new_inventory)
        return new_inventory

    async def with_space(self, inventory: Inventory) -> Inventory:
        mount_points = [target.mount_point for target in inventory.filesystems if not target.pseudo]
        new_inventory, spaces, _ = await asyncio.gather(
            self._run_tools(inventory, LIST_MAX_AGE_S), free_space(mount_points), self._read_guests()
        )
        inventory = new_inventory or inventory
        now = time.monotonic()
        silent = [mount_point for mount_point in mount_points if mount_point not in spaces]
        self._silent_since = {name: self._silent_since.get(name, now - SILENCE_TIMEOUT_S) for name in silent}
        return msgspec.structs.replace(
            inventory,
            guests=self._guests,
            filesystems=tuple(self._with_space(target, spaces, now) for target in inventory.filesystems),
        )

    async def _read_guests(self) -> None:
        """Read the virtual machines again if different ones are running, or if the last reading is too old."""
        from fstui.storage import guests  # noqa: PLC0415  not needed for the first screen

        pids, now = guests.find_pids(), time.monotonic()
        if pids == tuple(guest.pid for guest in self._guests) and now - self._guests_read_at < LIST_MAX_AGE_S:
            return
        self._guests_read_at, self._guests = now, ()
        if pids:
            try:
                self._guests = await call_in_child(
                    guests.read_guests, pids, where="/proc", timeout_s=guests.TIMEOUT_S + CALL_TIMEOUT_S
                )
            except (OSError, Refused) as reason:
                self._guests = tuple(Guest(pid=pid, hypervisor="qemu", trouble=str(reason)) for pid in pids)

    def _with_space(self, target: Target, spaces: dict[str, Space | None], now: float) -> Target:
        silent_since = self._silent_since.get(target.mount_point)
        return msgspec.structs.replace(
            target,
            space=spaces.get(target.mount_point),
            silent_s=None if silent_since is None or target.pseudo else round(now - silent_since, 1),
        )

    def target(self, directory: str) -> Target:
        return survey.target_of(directory, self._newest_inventory or self.survey())

    def counters(self, stack: Iterable[Node]) -> Counters:
        return device_counters.read_counters(tuple(stack))

    def cgroup_process(self) -> Process | None:
        return self._cgroup.process if self._cgroup else None

    def read_write_counts(self) -> WriteCounts:
        return process.read_write_counts()

    def activity(self) -> AsyncGenerator[HostActivity]:
        from fstui.runs.activity import read_activity  # noqa: PLC0415  not needed for the first screen

        return read_activity()

    async def inspect(self, directory: str) -> TargetDirectory:
        inventory = self.survey()  # first, because an error here would leave a coroutine that is never awaited
        inspection = inspect(directory, trust_directory=self._trust_directory)
        target_directory, _ = await asyncio.gather(inspection, self._run_tools(inventory, RUN_MAX_AGE_S))
        return target_directory

    async def find_programs(self) -> Programs:
        from fstui.databases import programs  # noqa: PLC0415  not needed for the first screen

        return await programs.find_installed()

    async def make_directory(self, directory: TargetDirectory, run_id: str) -> Workspace:
        return await Workspace.create(directory.path, run_id, directory.fsid)

    def servers(self, run_id: str, workspace: HeldDirectory) -> DatabaseServers:
        from fstui.runs.serving import DatabaseServers  # noqa: PLC0415

        return DatabaseServers(run_id, workspace, self._apply_idle)

    async def trace(self, run_id: str, stack: Iterable[Node]) -> StepTracing:
        if not self._trace:
            return NoTrace()
        from fstui.trace.child import RunTrace, Untraceable  # noqa: PLC0415

        try:
            return await RunTrace.start(run_id, [node.id for node in stack if node.layer == "block"])
        except Untraceable as problem:
            return NoTrace(str(problem))

    async def watch_waits(self, target: Target | None, pid: int | None) -> RunningWatch:
        from fstui.trace.child import WatchTrace  # noqa: PLC0415

        return await WatchTrace.start(target, pid, (self._newest_inventory or self.survey()).filesystems)

    async def watch_risk(self, target: Target | None, pid: int | None) -> AtRiskChild:
        from fstui.trace.at_risk import AtRiskChild  # noqa: PLC0415

        return await AtRiskChild.start(target, pid)

    async def start(self, probe: ProbeRequest) -> LocalProbe:
        settings = probe.step.settings
        child = await Child.start(f"measure.probes.{settings.probe}", own_session=settings.own_session)
        if self._cgroup:
            self._cgroup.join(child.pid)
        self._apply_idle(child.pid)
        lowest = [node.id for node in probe.stack if node.lowest and node.layer == "block"]
        host_settings = {
            **probe.directory.as_settings,
            # a new name for each step, because the file of a killed probe is removed later, with the directory
            "path": f"data-{next(self._file_numbers)}",
            "facts": probe.reports_facts,
            "fill_bytes_per_s": self._rate_limit.bytes_per_s,
            "stat_paths": [f"/sys/class/block/{device}/stat" for device in lowest],
        }
        child.send(json.dumps({**settings.as_dict(), **probe.unsaved_settings, **host_settings}))
        return LocalProbe(child)

    def _apply_idle(self, pid: int) -> None:
        """Apply ``--idle`` to a child that writes, or that starts a server. Raises OSError."""
        if self._rate_limit.idle:
            make_idle(pid)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def save_declaration(self, identity: str, declaration: Declaration) -> None:
        from fstui.state import paths, user_data  # noqa: PLC0415

        await paths.call_in_state_dir(user_data.declare, identity, declaration, timeout_s=SAVE_TIMEOUT_S)

    async def baselines(self, run: Run) -> Baselines:
        from fstui.state import paths, runs  # noqa: PLC0415

        try:
            return await paths.call_in_state_dir(runs.baselines, run)
        except (OSError, Refused):
            return await super().baselines(run)

    async def save(self, run: Run) -> SaveResult:
        from fstui.state import runs  # noqa: PLC0415

        try:
            path = runs.path_of(run)
            await _write(path, runs.document(run))
        except OSError as error:
            return SaveResult(error=f"the run could not be saved: {error.filename or path}: {error.strerror}")
        except Refused as reason:
            return SaveResult(error=f"the run could not be saved: {reason}")
        return SaveResult(str(path))


class LocalProbe(RunningProbe):
    def __init__(self, child: Child) -> None:
        self.child = child
        self.pid = child.pid

    def frames(self) -> AsyncIterator[Frame | Samples]:
        return self.child.read_frames()

    def go(self) -> None:
        self.child.send("go")

    def stop(self) -> None:
        self.child.send("stop")

    async def finish(self, timeout_s: float) -> int | None:
        return await self.child.reap(timeout_s)


class OtherCgroup:
    def __init__(self, pid: int) -> None:
        """Raise Refused if there is no such process, or if its cgroup cannot be joined."""
        self.process: Process = process.read_process_of(pid)
        tree = Tree()
        self._members = process.members_file(tree, tree.text(f"/proc/{pid}/cgroup") or "")
        if self._members is None:
            raise Refused(f"process {pid}: its I/O cgroup cannot be found. Is the cgroup filesystem mounted?")
        try:
            with Path(self._members).open("a"):  # raises OSError if this user may not join
                pass
        except OSError as error:
            raise Refused(
                f"process {pid} ({self.process.name or '?'}): its cgroup cannot be joined: "
                f"{self._members}: {error.strerror}. Run as root."
            ) from None

    def join(self, pid: int) -> None:
        assert self._members is not None
        Path(self._members).write_text(str(pid))


def make_idle(pid: int) -> None:
    """Give a process and its children the lowest CPU priority and, if supported, I/O priority. Raises OSError."""
    import psutil  # noqa: PLC0415  seldom needed and slow to import

    process = psutil.Process(pid)
    try:
        process.nice(_LOWEST_PRIORITY)
        process.ionice(psutil.IOPRIO_CLASS_IDLE)
    except psutil.Error as refused:
        raise OSError(None, f"--idle: {refused}") from None


async def _write(path: Path, document: bytes) -> None:
    """Write the file in a child process, and in a second one if the first was killed."""
    from fstui.state.files import write_private  # noqa: PLC0415

    try:
        await call_in_child(write_private, path, document, timeout_s=SAVE_TIMEOUT_S, where=str(path))
    except ChildProcessError:
        await call_in_child(write_private, path, document, timeout_s=SAVE_TIMEOUT_S, where=str(path))


async def run_tools(commands: tuple[tool_output.Command, ...]) -> ToolOutputs:
    """Run tools in a child process, which is abandoned if a tool hangs. Return their output."""
    outputs = {tool_output.command_line(command): tool_output.ToolOutput(error="no answer") for command in commands}
    child = await Child.start("measure.helpers.tool_output")
    child.send(json.dumps(commands))
    async for document in _documents(child, TOOLS_TIMEOUT_S):
        outputs.update(tool_output.decode(document))
    return outputs


async def free_space(mount_points: list[str]) -> dict[str, Space | None]:
    """Call statvfs in a child process, which is abandoned if a filesystem hangs. A space is None if the call failed."""
    child = await Child.start("measure.helpers.directory", "space")
    for mount_point in mount_points:
        child.send(json.dumps(mount_point))
    child.hang_up()
    return {
        sizes["mount_point"]: None
        if "error" in sizes
        else Space.from_statvfs(sizes["total_bytes"], sizes["free_bytes"])
        async for sizes in _documents(child, SILENCE_TIMEOUT_S)
    }


async def _documents(child: Child, timeout_s: float) -> AsyncIterator[Any]:
    """Yield the JSON lines of a child until it ends or stops printing. Its first line confirms that it has started."""
    try:
        with contextlib.suppress(NoReply, ValueError):  # ValueError: a line that is too long or is not JSON
            await child.read_reply(CHILD_START_TIMEOUT_S, "", "target")
            async for line in child.read_replies(timeout_s, "", "target"):
                yield json.loads(line)
        await child.reap(0.1)
    finally:  # even if the caller was cancelled
        child.abandon()
