"""Every directory made on a target: one per run, ``.fstui-<run id>``, mode 0700, made and removed by a keeper process.

The keeper holds the directory until its stdin closes and then removes it: that happens at the end of a run, and also
when fstui is killed. The ledger has the directory before it is made; what a keeper could not remove stays there.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

from fstui.children import Child, ask
from fstui.inventory import mounts
from fstui.inventory.files import Tree
from fstui.model import Refused, Space
from fstui.quantities import plain
from fstui.state import ledger

PREFIX = ".fstui-"
_ANSWER_S = 10.0
_REMOVE_S = 15.0


class Place(NamedTuple):
    """A directory: its resolved path, the room there, and why a run may not write into it."""

    path: str
    space: Space
    closed: str | None = None
    """The sentence for the user; None where a run may write there."""
    fsid: int = 0
    """statvfs(3) f_fsid; ext4 and btrfs make it of their UUID, so it outlives a reboot."""


async def inspect(directory: str) -> Place:
    """Resolve the directory and see whether it can be written. Raises Refused where it is no directory at all."""
    shown = plain(directory)
    try:
        found = await ask("probes.directory", "inspect", directory, _ANSWER_S)
    except TimeoutError:
        raise Refused(
            f"{shown}: no answer for {_ANSWER_S:.0f} s; its disk or server hangs. Nothing was written."
        ) from None
    if "error" in found:
        raise Refused(f"{shown}: {found['error']}. Name an existing directory on the storage in question.")
    if not found["directory"]:
        raise Refused(f"{shown} is not a directory. Name the directory that it is in.")
    space = Space(total_bytes=found["total_bytes"], free_bytes=found["free_bytes"])
    return Place(found["path"], space, _closed(shown, found), found["fsid"])


def _closed(shown: str, found: dict[str, Any]) -> str | None:
    if found["read_only"]:
        return f"{shown} is on a filesystem that is mounted read-only. Remount it rw, or name another directory."
    if not found["writable"]:
        return f"{shown} is not writable for this user. Name a directory of yours on the same mount, or use sudo."
    return None


class Workspace:
    """A run's directory while it exists."""

    def __init__(self, path: str, keeper: Child, entry: ledger.Entry, dio_alignment: int | None) -> None:
        self.path = path
        self.dio_alignment = dio_alignment
        """What O_DIRECT wants blocks aligned to; 0: it is not supported here; None: the kernel does not say."""
        self._keeper = keeper
        self._entry = entry

    @classmethod
    async def make(cls, directory: str, run_id: str) -> Workspace:
        """Make ``.fstui-<run id>`` in ``directory``. Raises Refused."""
        path = str(Path(directory) / (PREFIX + run_id))
        try:
            entry = ledger.enter(run_id, kind="directory", what=path, mount_point=_mount_point(path))
        except OSError as error:
            raise Refused(
                f"{plain(str(error.filename))}: {error.strerror}. fstui notes there what it makes before it makes it: "
                "set XDG_STATE_HOME to a directory of yours."
            ) from None
        keeper = await Child.start("probes.directory", "keep", str(ledger.path_of(entry)))
        keeper.send(json.dumps(path))
        try:
            answer = json.loads(await asyncio.wait_for(keeper.read_line(), _ANSWER_S) or b"{}")
        except TimeoutError:
            keeper.abandon()
            raise Refused(f"{plain(path)}: cannot be made, no answer for {_ANSWER_S:.0f} s.") from None
        if not answer.get("ready"):
            await keeper.reap(1.0)
            ledger.settled(entry)
            raise Refused(f"{plain(path)}: cannot be made: {answer.get('error', 'its helper process ended')}.")
        return cls(path, keeper, entry, answer["dio_alignment"])

    async def remove(self) -> str | None:
        """Have the keeper remove it. Returns None, or the sentence that says why it is still there."""
        self._keeper.hang_up()
        try:
            answer = json.loads(await asyncio.wait_for(self._keeper.read_line(), _REMOVE_S) or b"{}")
        except TimeoutError:
            self._keeper.abandon()
            return f"{plain(self.path)}: not removed, no answer for {_REMOVE_S:.0f} s; `fstui clean` tries again"
        await self._keeper.reap(1.0)
        if answer.get("removed"):
            ledger.settled(self._entry)
            return None
        if "error" in answer:
            return f"{plain(self.path)}: not removed: {answer['error']}; `fstui clean` tries again"
        return await remove_left_behind(self._entry)  # the keeper itself was killed


async def remove_left_behind(entry: ledger.Entry) -> str | None:
    """Remove what a dead run left. Returns None, or the sentence that says why it is still there."""
    if entry.mount_point and entry.mount_point not in _mounted():
        where = plain(entry.mount_point)
        return f"{plain(entry.what)}: not removed: nothing is mounted on {where} now. Mount it, then `fstui clean`"
    try:
        answer = await ask("probes.directory", "remove", entry.what, _REMOVE_S)
    except TimeoutError:
        return f"{plain(entry.what)}: not removed, no answer for {_REMOVE_S:.0f} s; its disk or server hangs"
    if answer.get("removed"):
        ledger.settled(entry)
        return None
    return f"{plain(entry.what)}: not removed: {answer.get('error')}"


def _mounted() -> dict[str, mounts.Mount]:
    return {mount.mount_point: mount for mount in mounts.read_mounts(Tree(Path("/")))}


def _mount_point(path: str) -> str:
    found = mounts.holder(path, _mounted())
    return found.mount_point if found else ""
