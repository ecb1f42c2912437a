"""Where it happens: this box, or a saved run played again. Screens and the runner know only the protocol.

What is served to a class is handed a replayed or simulated machine, and so cannot write.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import AsyncIterator, Iterable
from itertools import count
from pathlib import Path
from typing import Protocol

import msgspec

from fstui.children import Child
from fstui.engine.shoes import Shoes
from fstui.inventory import claims, process, survey
from fstui.inventory import counters as device_counters
from fstui.inventory.claims import Claims
from fstui.inventory.watch import Watch
from fstui.model import Counters, Inventory, Node, PlannedStep, Process, Space, Target
from fstui.probes.frames import Frame, Samples
from fstui.workspace import Place, Workspace, inspect

SILENT_S = 1.0
"""A filesystem that has not answered statvfs for so long is shown as silent."""
CLAIMS_S, RECENT_S = 60.0, 5.0
"""How old the tools' answers may be in a list, and before a run."""
TOOLS_S = 5.0
"""The tools' program gives up after 4 s."""


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


class Room(Protocol):
    """A directory of the run's own on the target."""

    path: str
    dio_alignment: int | None

    async def remove(self) -> str | None:
        """Remove it; None, or the sentence that says why it is still there."""


class Machine(Protocol):
    """A box with storage."""

    simulated: str | None

    def survey(self) -> Inventory:
        """Every filesystem with its stack; reads /proc and /sys only."""

    def changed(self) -> bool:
        """Something was mounted, unmounted, plugged or unplugged since this was last asked: time for a survey."""

    async def with_space(self, inventory: Inventory) -> Inventory:
        """The same with free space filled in, and ``silent_s`` where a mount does not answer."""

    def target(self, directory: str) -> Target:
        """The stack beneath a resolved directory."""

    def counters(self, stack: Iterable[Node]) -> Counters:
        """Every layer's counters at one monotonic time."""

    def like(self) -> Process | None:
        """The process in whose io cgroup the probes run, or None where they run in our own."""

    def written_so_far(self) -> dict[int, process.Written]:
        """Bytes that every process which we may look at has written."""

    async def inspect(self, directory: str) -> Place:
        """Resolve a directory. Raises Refused."""

    async def room(self, directory: str, run_id: str) -> Room:
        """Make the run's directory. Raises Refused."""

    async def start(self, step: PlannedStep, directory: str, stack: tuple[Node, ...], facts: bool) -> RunningProbe:
        """Start a step's probe; with ``facts`` it looks at its own sync path first. Raises OSError."""

    async def wait(self, seconds: float) -> None:
        """Let time pass."""


class LocalMachine:
    """This box."""

    def __init__(self, root: Path = Path("/"), like: int | None = None) -> None:
        """``like``: the process in whose io cgroup the probes run. Raises Refused where that cannot be."""
        self.simulated: str | None = None
        self._shoes = Shoes(like, root) if like is not None else None
        self._root = root
        self._silent_since: dict[str, float] = {}
        self._files = count(1)
        self._watch: Watch | None = None
        self._claims: Claims = {}
        self._asked: tuple[claims.Command, ...] = ()
        self._asked_at = -math.inf

    def survey(self) -> Inventory:
        return survey.survey(self._root, self._claims)

    def changed(self) -> bool:
        if self._watch is None:
            self._watch = Watch(self._root)
        return self._watch.changed()

    async def _learn(self, inventory: Inventory, older_than_s: float) -> bool:
        """Ask the tools about what is here, where it changed or the answers are older; False: nothing was asked.

        The next survey knows the answers.
        """
        commands = claims.commands(inventory) if self._root == Path("/") else ()
        if not commands or (commands == self._asked and time.monotonic() - self._asked_at < older_than_s):
            return False
        self._asked, self._asked_at = commands, time.monotonic()
        self._claims = await _answers(commands)
        return True

    async def with_space(self, inventory: Inventory) -> Inventory:
        asked = [target.mount_point for target in inventory.filesystems if not target.pseudo]
        learned, answers = await asyncio.gather(self._learn(inventory, CLAIMS_S), _free_space(asked))
        if learned:
            inventory = self.survey()
        now = time.monotonic()
        for mount_point in asked:
            if mount_point in answers:
                self._silent_since.pop(mount_point, None)
            else:
                self._silent_since.setdefault(mount_point, now - SILENT_S)
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
        return survey.target_of(directory, self.survey())

    def counters(self, stack: Iterable[Node]) -> Counters:
        return device_counters.read_counters(tuple(stack), self._root)

    def like(self) -> Process | None:
        return self._shoes.process if self._shoes else None

    def written_so_far(self) -> dict[int, process.Written]:
        return process.read_write_bytes(self._root)

    async def inspect(self, directory: str) -> Place:
        place, _ = await asyncio.gather(inspect(directory), self._learn(self.survey(), RECENT_S))
        return place

    async def room(self, directory: str, run_id: str) -> Room:
        return await Workspace.make(directory, run_id)

    async def start(self, step: PlannedStep, directory: str, stack: tuple[Node, ...], facts: bool) -> RunningProbe:
        probe = LocalProbe(await Child.start(f"probes.{step.probe}"))
        if self._shoes:
            self._shoes.join(probe.child.pid)
        lowest = [node.id for node in stack if node.lowest and node.layer == "block"]
        told = {
            # a name of its own: a probe that was killed leaves its file to the keeper of the directory
            "path": f"{directory}/data-{next(self._files)}",
            "facts": facts,
            "stat_paths": [str(self._root / "sys/class/block" / device / "stat") for device in lowest],
        }
        probe.child.send(json.dumps({**step.settings, **told}))
        return probe

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


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


async def _answers(commands: tuple[claims.Command, ...]) -> Claims:
    """What the tools said, from a child that is abandoned when it takes too long."""
    answers = dict(claims.unanswered(commands))
    child = await Child.start("probes.claims")
    child.send(json.dumps(commands))
    with contextlib.suppress(TimeoutError, ValueError):  # a line that is too long, or no JSON
        async with asyncio.timeout(TOOLS_S):
            while line := await child.read_line():
                answers.update(claims.decode(json.loads(line)))
    if await child.reap(0.1) is None:
        child.abandon()
    return answers


async def _free_space(mount_points: list[str]) -> dict[str, Space | None]:
    """What statvfs says, from a child that is abandoned when a mount is silent; None where it is refused."""
    answers: dict[str, Space | None] = {}
    child = await Child.start("probes.directory", "space")
    for mount_point in mount_points:
        child.send(json.dumps(mount_point))
    child.hang_up()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SILENT_S):
            while line := await child.read_line():
                answer = json.loads(line)
                space = (
                    None
                    if "error" in answer
                    else Space(total_bytes=answer["total_bytes"], free_bytes=answer["free_bytes"])
                )
                answers[answer["mount_point"]] = space
    if await child.reap(0.1) is None:
        child.abandon()
    return answers
