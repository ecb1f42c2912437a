"""Start the child programs that trace, and turn what they print into model types.

A program removes its tracefs instances when its stdin closes, which also happens when fstui is killed. fstui records
the instances in the ledger before they exist.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Self

import msgspec

from fstui import proc
from fstui.measure.children import Child, NoReply, call_helper
from fstui.model.counters import DeviceTrace
from fstui.model.errors import Refused, sentence_of
from fstui.model.storage import Target
from fstui.model.watch import LostWrite, WatchCounts
from fstui.state import ledger
from fstui.state.ledger import write_entry_in_child
from fstui.storage.layers import kind
from fstui.storage.mounts import mount_of_path

INSTANCES = PurePosixPath("/sys/kernel/tracing/instances")
"""The usual directory of instances, for the ledger and for messages."""
TRACE = "the kernel's trace"
READY_TIMEOUT_S = END_TIMEOUT_S = REMOVE_TIMEOUT_S = 10.0
SUM_TIMEOUT_S = 30.0
"""Time limit for adding up the events of a step. Each event takes some microseconds."""
LINE_TIMEOUT_S = 20.0
"""A watch prints a line every second. If none arrives for this time, the watch has failed."""
_BOOT_MOUNT_POINTS = ("/boot", "/efi", "/boot/efi")
"""These filesystems are hardly ever synced, so system calls are not recorded only because of them."""


class Untraceable(Exception):  # noqa: N818  an expected outcome, not a fault
    """Tracing is not possible here. The message is one sentence for the user."""


class SecondReport(NamedTuple):
    second: WatchCounts
    recent: WatchCounts
    """The sums of the last seconds, from which to draw the conclusion."""


class FinalReport(NamedTuple):
    total: WatchCounts
    lost_writes: tuple[LostWrite, ...]


class TracingChild:
    def __init__(self, child: Child, entry: ledger.LedgerEntry | None) -> None:
        """``entry``: the ledger's entry for the trace instance; None if the child does not trace."""
        self._child = child
        self._entry = entry

    @classmethod
    async def _start(cls, name: str, module: str, **settings: Any) -> Self:
        """Start the program in ``module``. The names of its trace instances contain ``name``. Raises Untraceable."""
        if os.geteuid() != 0:
            raise Untraceable("only root may trace the kernel")
        try:
            child = await Child.start(module)
            entry = await write_entry_in_child(name, "trace", instance_path(name))
        except (OSError, Refused) as problem:  # a child that has started ends when its stdin closes
            raise Untraceable(sentence_of(problem)) from None
        program = cls(child, entry)
        program._send(name=name, entry=str(ledger.path_of(entry)), **settings)
        reply = await program._read_reply(READY_TIMEOUT_S)
        if "ready" not in reply:
            await program.stop()
            raise Untraceable(reply["error"])
        return program

    async def stop(self) -> str | None:
        """End the program, which removes its trace instances. Return None, or a sentence if they remain."""
        status = await self._child.end(END_TIMEOUT_S, "home")
        return None if status == 0 or not self._entry else f"{self._entry.what}: not removed; 'fstui clean' tries again"

    def _send(self, **line: Any) -> None:
        self._child.send(json.dumps(line))

    async def _read_reply(self, timeout_s: float) -> dict[str, Any]:
        """Return the next line of the program. If no line arrives, return ``{"error": …}`` with the reason."""
        try:
            line = await self._child.read_reply(timeout_s, TRACE, "home")
        except NoReply as problem:
            return {"error": str(problem)}
        reply: dict[str, Any] = json.loads(line or b'{"error": "the program that reads the trace has ended"}')
        return reply


class RunTrace(TracingChild):
    untraced: str | None = None
    """Always None. For a run without a trace, an object of another class has the reason in ``untraced``."""

    @classmethod
    async def start(cls, run_id: str, devices: list[str]) -> RunTrace:
        """Record the requests of all processes at these block devices. Raises Untraceable."""
        if not devices:
            raise Untraceable("the filesystem has no block device")
        return await cls._start(run_id, "trace.reader.flush_counter", own=[os.getpid()], devices=devices)

    def begin(self, from_ns: int, pids: tuple[int, ...]) -> None:
        """Begin a step at ``from_ns`` (CLOCK_MONOTONIC). ``pids``: further processes that belong to this run."""
        self._send(from_ns=from_ns, own=list(pids))

    def pause(self) -> bool:
        """Trace nothing more of this step."""
        self._send(pause=True)
        return True

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        """End the step. Return the requests until ``until_ns`` at each device, or None if the program failed."""
        self._send(until_ns=until_ns)
        reply = await self._read_reply(SUM_TIMEOUT_S)
        return msgspec.convert(reply["devices"], tuple[DeviceTrace, ...]) if "devices" in reply else None


class WatchingChild(TracingChild):
    """A child program that reports every second until ``end``."""

    def end(self) -> None:
        """Request the last report by closing the program's stdin."""
        self._child.hang_up()

    async def _lines(self) -> AsyncIterator[dict[str, Any]]:
        with contextlib.suppress(NoReply):
            while line := await self._child.read_reply(LINE_TIMEOUT_S, TRACE, "home"):
                yield json.loads(line)


class WatchTrace(WatchingChild):
    @classmethod
    async def start(cls, target: Target | None, pid: int | None, filesystems: Sequence[Target]) -> WatchTrace:
        """Watch one filesystem or all, and one process with its descendants or all. Raises Refused, Untraceable."""
        check_process(pid)
        device = device_number(target.path) if target else None
        calls = any(map(_needs_calls, (target,) if target else filesystems))
        return await cls._start(secrets.token_hex(3), "trace.reader.watch", pid=pid, device=device, calls=calls)

    async def reports(self) -> AsyncIterator[SecondReport | FinalReport]:
        recent = WatchCounts()
        async for line in self._lines():
            if "whole" in line:
                whole = msgspec.convert(line["whole"], WatchCounts, strict=False)
                yield FinalReport(whole, msgspec.convert(line["errors"], tuple[LostWrite, ...]))
                return
            if "recent" in line:
                recent = msgspec.convert(line["recent"], WatchCounts, strict=False)
            else:
                yield SecondReport(msgspec.convert(line["second"], WatchCounts, strict=False), recent)


def check_process(pid: int | None) -> None:
    """Raises Refused if there is no such process."""
    if pid is not None and proc.stat(pid) is None:
        raise Refused(f"There is no process {pid}.")


def _needs_calls(target: Target) -> bool:
    """Return whether system calls must be recorded, because the filesystem has no events for the end of a sync."""
    layer_kind = kind(target.fstype)
    is_written = not (target.pseudo or layer_kind.in_memory or layer_kind.read_only or "ro" in target.mount_options)
    is_boot = target.mount_point in _BOOT_MOUNT_POINTS
    return is_written and not (layer_kind.traces_syncs or layer_kind.uses_directory or is_boot)


def device_number(path: str) -> int | None:
    path_mount = mount_of_path(path, {mount.mount_point: mount for mount in proc.mounts()})
    return None if path_mount is None else proc.device_number(path_mount.device)


def instance_path(name: str) -> str:
    return str(INSTANCES / f"fstui-{name}")


async def remove_left_behind(entry: ledger.LedgerEntry) -> str | None:
    """Remove the trace instances of a run that was killed. Returns None, or a sentence about why they remain."""
    name = PurePosixPath(entry.what).name
    return await ledger.remove(
        entry, call_helper("trace.reader.flush_counter.remove", name, timeout_s=REMOVE_TIMEOUT_S, where=entry.what)
    )
