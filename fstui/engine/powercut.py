"""The power-cut check's writer: what it will write, its header, and the process while it runs."""

from __future__ import annotations

import asyncio
import json
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from fstui import __version__
from fstui.children import command
from fstui.engine.machine import Machine
from fstui.engine.plan import make_plan
from fstui.model import Base, Host, Inventory, Plan, Refused, ScenarioRef, Target, encode
from fstui.probes.powercut import GONE
from fstui.probes.records import FORMAT, PREFIX, Stream
from fstui.quantities import plain
from fstui.state import ledger
from fstui.workspace import remove_left_behind

__all__ = ["GONE", "Cut", "Header", "Writing", "boot_id", "decode_header", "is_root", "make_cut"]

SCENARIO = "power-cut"
_END_S = 20.0
"""The writer gives its own processes 5 s each."""


class Header(Base, frozen=True, kw_only=True):
    """The first line of the writer's output: all that must be known of the run when its box has lost its power."""

    fstui: str = FORMAT
    run: str
    started_at: str
    boot: str
    """/proc/sys/kernel/random/boot_id: another one afterwards means that the box has booted again."""
    host: Host
    directory: str
    """The run's own, with the records."""
    fsid: int
    """statvfs(3) f_fsid of its filesystem."""
    target: Target
    """The stack beneath, with its settings and its identity, as they were."""
    scenario: ScenarioRef
    streams: tuple[tuple[Any, ...], ...]
    """fstui.probes.records.Stream, one per writer."""
    version: str


class Cut(Base, frozen=True, kw_only=True):
    """What is about to be written."""

    header: Header
    plan: Plan
    on_root: bool
    """The records go to the root filesystem: the box itself may not come back."""


async def make_cut(directory: str, machine: Machine, settings: dict[str, str]) -> Cut:
    """Raises Refused with a sentence for the user; writes nothing."""
    target, plan = await make_plan(SCENARIO, directory, machine, settings)
    if machine.simulated is not None:
        raise Refused("a simulated machine has no power that could be cut")
    place = await machine.inspect(directory)
    inventory = machine.survey()
    run = secrets.token_hex(8)
    streams: list[tuple[Any, ...]] = []
    for step in plan.steps:
        for _ in range(step.settings["writers"]):
            streams.append(tuple(Stream.of(len(streams), step.settings)))
    header = Header(
        run=run,
        started_at=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        boot=boot_id(),
        host=inventory.host,
        directory=str(Path(target.path) / (PREFIX + run)),
        fsid=place.fsid,
        target=target,
        scenario=plan.scenario,
        streams=tuple(streams),
        version=__version__,
    )
    return Cut(header=header, plan=plan, on_root=is_root(target, inventory))


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
            entry = ledger.enter(cut.header.run, kind="directory", what=cut.header.directory)
        except OSError as error:
            raise Refused(
                f"{plain(str(error.filename))}: {error.strerror}. Set XDG_STATE_HOME to a directory of yours."
            ) from None
        process = await asyncio.create_subprocess_exec(
            *command("probes.powercut"),
            stdin=asyncio.subprocess.PIPE,
            stdout=None,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        writing = cls(cut, process, entry)
        settings = cut.plan.steps[0].settings
        writing._say(
            json.dumps(
                {
                    "directory": cut.header.directory,
                    "run": cut.header.run,
                    "header": encode(cut.header).decode(),
                    "streams": cut.header.streams,
                    "seconds": settings["seconds"],
                    "ops_per_s": settings["ops_per_s"],
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
        told = await self._next()
        if told is None or "failed" in told:
            await self._process.wait()
            left = await remove_left_behind(self._entry)
            reason = told["failed"] if told else "its process ended"
            raise Refused(f"{plain(self._cut.header.directory)}: {plain(reason)}." + (f" {left}" if left else ""))

    async def ended(self) -> str:
        """Wait for the end; the reason. Only a power cut prevents it."""
        told = await self._next()
        try:
            await asyncio.wait_for(self._process.wait(), _END_S)
        except TimeoutError:
            self._kill()
        return plain(told["ended"]) if told and "ended" in told else "its process was killed"

    async def _next(self) -> dict[str, Any] | None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if isinstance(told, dict) and {"ready", "failed", "ended"} & told.keys():
                return told
        return None

    def _say(self, line: str) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(line.encode(errors="surrogateescape") + b"\n")

    def _kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()


def boot_id() -> str:
    """Of this boot; empty where /proc does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def decode_header(fields: dict[str, Any]) -> Header:
    """Raises Refused."""
    try:
        header = msgspec.convert(fields, Header)
        for stream in header.streams:
            Stream(*stream)
    except (msgspec.ValidationError, TypeError) as error:
        raise Refused(f"the log's first line is no header of a power-cut run: {plain(str(error))}") from None
    return header


def is_root(target: Target, inventory: Inventory) -> bool:
    """It is the root filesystem, or a part of it that is mounted elsewhere."""
    root = next((held for held in inventory.filesystems if held.mount_point == "/"), None)
    if target.mount_point == "/" or root is None:
        return target.mount_point == "/"
    below = [held.stack[0].below if held.stack else () for held in (target, root)]
    return bool(below[0]) and below[0] == below[1]
