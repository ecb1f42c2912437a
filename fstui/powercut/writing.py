"""The power-cut check's writer, seen from its parent: what it will write, and its process while it runs."""

from __future__ import annotations

import asyncio
import json
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fstui import __version__
from fstui.measure.children import command
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.model.host import Inventory
from fstui.model.storage import Target
from fstui.powercut.header import Header, boot_id
from fstui.powercut.log import GONE
from fstui.powercut.plan import Plan
from fstui.powercut.records import PREFIX
from fstui.state import ledger
from fstui.state.noting import note
from fstui.state.workspace import remove_left_behind

_END_S = 20.0
"""The writer gives its own processes 5 s each."""


class Cut(NamedTuple):
    """What is about to be written, until the power goes."""

    header: Header
    plan: Plan
    on_root: bool
    """The records go to the root filesystem: the box itself may not come back."""


class End(NamedTuple):
    """The writer's own end: no power was cut."""

    reason: str
    failed: bool = False

    @property
    def reader_gone(self) -> bool:
        """The connection to the witness is broken."""
        return self.reason == GONE


def make_cut(plan: Plan, target: Target, fsid: int, inventory: Inventory) -> Cut:
    """A run of its own; nothing is written yet. ``target`` is the resolved directory, ``fsid`` its filesystem's."""
    run = secrets.token_hex(8)
    header = Header(
        run=run,
        started_at=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        boot=boot_id(),
        host=inventory.host,
        directory=str(Path(target.path) / (PREFIX + run)),
        fsid=fsid,
        target=target,
        scenario=plan.scenario,
        streams=plan.streams,
        version=__version__,
    )
    return Cut(header, plan, on_root=is_root(target, inventory))


class Writing:
    """The writer while it runs. Its acknowledgements go straight to our stdout."""

    def __init__(self, cut: Cut, process: asyncio.subprocess.Process, entry: ledger.Entry) -> None:
        self._cut = cut
        self._process = process
        self._entry = entry
        self._asked_to_stop = False

    @classmethod
    async def start(cls, cut: Cut) -> Writing:
        """Note the directory in the ledger and start the writer. Raises Refused, OSError."""
        try:
            mount_point = cut.header.target.mount_point
            entry = await note(cut.header.run, "directory", cut.header.directory, mount_point)
        except OSError as error:
            raise Refused(f"{error.filename}: {error.strerror}. Set XDG_STATE_HOME to another directory.") from None
        process = await asyncio.create_subprocess_exec(
            *command("powercut.writer"),
            stdin=asyncio.subprocess.PIPE,
            stdout=None,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        writing = cls(cut, process, entry)
        writing._say(
            json.dumps(
                {
                    "directory": cut.header.directory,
                    "run": cut.header.run,
                    "header": encode(cut.header).decode(),
                    "streams": cut.plan.streams,
                    "seconds": cut.plan.asked.seconds,
                    "pace": cut.plan.asked.pace,
                }
            )
        )
        return writing

    def stop(self, reason: str) -> None:
        """End in good order. A second time: end at once, and leave no mark."""
        if self._asked_to_stop:
            self._kill()
        self._asked_to_stop = True
        self._say(f"stop {reason}")

    async def ready(self) -> None:
        """Wait until the first acknowledgements may come. Raises Refused where it cannot begin; nothing is left."""
        answer = await self._next()
        if answer is None or "refused" in answer:
            await self._process.wait()
            left = await remove_left_behind(self._entry)
            reason = answer["refused"] if answer else "its process ended"
            raise Refused(f"{self._cut.header.directory}: {reason}." + (f" {left}" if left else ""))

    async def ended(self) -> End:
        """Wait for the end; only a power cut prevents it."""
        answer = await self._next()
        try:
            await asyncio.wait_for(self._process.wait(), _END_S)
        except TimeoutError:
            self._kill()
        if answer is None or "ended" not in answer:
            return End("its process was killed", failed=True)
        return End(answer["ended"], answer["failed"])

    async def _next(self) -> dict[str, Any] | None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            try:
                answer = json.loads(line)
            except ValueError:  # what Python itself says of a fault
                continue
            if isinstance(answer, dict) and answer.keys() & {"ready", "refused", "ended"}:
                return answer
        return None

    def _say(self, line: str) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(line.encode(errors="surrogateescape") + b"\n")

    def _kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()


def is_root(target: Target, inventory: Inventory) -> bool:
    """It is the root filesystem, or a part of it that is mounted elsewhere."""
    root = next((held for held in inventory.filesystems if held.mount_point == "/"), None)
    if target.mount_point == "/" or root is None:
        return target.mount_point == "/"
    below = [held.stack[0].below if held.stack else () for held in (target, root)]
    return bool(below[0]) and below[0] == below[1]
