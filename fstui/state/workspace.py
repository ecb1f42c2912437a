"""Every directory made on a target: one per run, ``.fstui-<run id>``, mode 0700, made and removed by a keeper process.

The keeper holds the directory until its stdin closes and then removes it: that happens at the end of a run, and also
when fstui is killed. The ledger has the directory before it is made; what a keeper could not remove stays there.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fstui.measure.children import Child, NoAnswer, ask_program
from fstui.model.errors import Refused
from fstui.model.quantities import size
from fstui.model.storage import Space, Target
from fstui.proc import Mount
from fstui.state import ledger
from fstui.state.noting import note, strike_out
from fstui.storage.layers.sources import mounts
from fstui.storage.layers.sources.files import Tree

PREFIX = ".fstui-"
POWER_CUT = f"{PREFIX}powercut-"
"""Of a directory with the records of a power cut."""
LEFT_OVER = 0.05
_ANSWER_S = 10.0
_REMOVE_S = 15.0


class Held(NamedTuple):
    """A run's own directory, as all who work in it enter it: whoever finds another one there turns round."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Held:
        """One that is there."""
        found = path.stat()
        return cls(str(path), found.st_dev, found.st_ino)

    @property
    def told(self) -> dict[str, Any]:
        """For the children that enter it (``fstui.measure.wire.held``)."""
        return {"directory": self.path, "identity": [self.device, self.inode]}


class Place(NamedTuple):
    """A directory: its resolved path, the room there, and why a run may not write into it."""

    path: str
    space: Space | None
    closed: str | None = None
    """The sentence for the user; None where a run may write there."""
    fsid: int = 0
    """statvfs(3) f_fsid; ext4 and btrfs make it of their UUID, so it outlives a reboot."""


_NAME_ANOTHER = "Name an existing directory on the storage in question."
_STOPPED = "The filesystem has stopped, or what lies beneath it is gone: look at the kernel's log (dmesg)."


async def inspect(directory: str, *, trusting: bool = False) -> Place:
    """Resolve the directory and see whether it can be written. Raises Refused where it is no directory at all.

    ``trusting``: root writes there although another user may rename what is written.
    """
    try:
        found = await ask_program("measure.helpers.directory", "inspect", directory, _ANSWER_S, directory)
    except NoAnswer as silence:
        raise Refused(f"{silence}. Nothing was written.") from None
    if "error" in found:
        raise Refused(f"{directory}: {found['error']}. {_STOPPED if found['errno'] == errno.EIO else _NAME_ANOTHER}")
    if not found["directory"]:
        raise Refused(f"{directory} is not a directory. Name the directory that it is in.")
    space = Space.stated(found["total_bytes"], found["free_bytes"], found["block_bytes"])
    return Place(found["path"], space, _closed(directory, found, trusting), found["fsid"])


def _closed(directory: str, found: dict[str, Any], trusting: bool) -> str | None:
    if found["read_only"]:
        return f"{directory} is on a filesystem that is mounted read-only. Remount it rw, or name another directory."
    if not found["writable"] and os.geteuid() == 0:
        return (
            f"{directory} is not writable for root either: it is immutable (lsattr -d), or its server takes root for "
            "nobody. Name another directory on the same mount."
        )
    if not found["writable"]:
        return f"{directory} is not writable for this user. Name a directory of yours on the same mount, or use sudo."
    if found["renamers"] and not trusting:
        return (
            f"{directory}: {found['renamers']}, could put something else in the place of what root writes there. "
            "Name a directory that is root's alone on the same mount, or run fstui as that user; --trust-dir, if you "
            "trust them."
        )
    return None


def check_open(place: Place, target: Target) -> None:
    """Raises Refused where nothing can be written there."""
    if target.pseudo:
        raise Refused(f"{place.path} is on {target.fstype}, which holds no files. Name a directory on a disk.")
    if place.closed:  # only now: no right to write helps on /proc
        raise Refused(place.closed)


def check_room(place: Place, room_bytes: int) -> None:
    """Raises Refused where it would become too full."""
    if place.space is None:  # nothing can be said of its room
        return
    total_bytes, free_bytes = place.space.total_bytes, place.space.free_bytes
    wanted = 2 * room_bytes + int(LEFT_OVER * total_bytes)
    if free_bytes < wanted:
        raise Refused(
            f"{place.path} is too full: {size(free_bytes)} free, and {size(wanted)} wanted "
            f"(twice the {size(room_bytes)} of the run, and 5 % of {size(total_bytes)} left over). "
            "Free some room or choose a smaller scenario."
        )


class Workspace:
    """A run's directory while it exists."""

    def __init__(self, held: Held, keeper: Child, entry: ledger.Entry, answer: Mapping[str, Any]) -> None:
        self.held = held
        self.dio_alignment: int | None = answer["dio_alignment"]
        """What O_DIRECT wants blocks aligned to; 0: it is not supported here; None: the kernel does not say."""
        self.file_flags: str = answer["file_flags"]
        """Of a small file there, by the letters of lsattr(1): S, every write is synced; N, its inode holds its data."""
        self._keeper = keeper
        self._entry = entry

    @classmethod
    async def make(cls, directory: str, run_id: str) -> Workspace:
        """Make ``.fstui-<run id>`` in ``directory``. Raises Refused."""
        path = str(Path(directory) / (PREFIX + run_id))
        try:
            entry = await note(run_id, "directory", path, *_mount_of(path))
        except OSError as error:
            raise Refused(
                f"{error.filename}: {error.strerror}. fstui notes there what it makes before it makes it: "
                "set XDG_STATE_HOME to another directory."
            ) from None
        keeper = await Child.start("measure.helpers.directory", "keep", str(ledger.path_of(entry)))
        keeper.send(json.dumps(path))
        try:
            answer = json.loads(await keeper.answer(_ANSWER_S, path, "target") or b"{}")
        except NoAnswer:
            keeper.abandon()
            raise
        if not answer.get("ready"):
            await keeper.reap(1.0)
            await _forget(entry, answer)
            raise Refused(f"{path}: cannot be made: {answer.get('error', 'its helper process ended')}.")
        return cls(Held(path, *answer["identity"]), keeper, entry, answer)

    async def remove(self, patience_s: float = _REMOVE_S) -> str | None:
        """Have the keeper remove it. Returns None, or the sentence that says why it is still there."""
        self._keeper.hang_up()
        try:
            answer = json.loads(await self._keeper.answer(patience_s, self.held.path, "target") or b"{}")
        except NoAnswer as silence:
            self._keeper.abandon()
            return f"{self.held.path}: not removed: it {silence.reason}; removed when it answers, or by `fstui clean`"
        await self._keeper.end(1.0, "home")
        if answer.get("removed"):  # and struck out, by the keeper
            return None
        if "error" in answer:
            return f"{self.held.path}: not removed: {answer['error']}; `fstui clean` tries again"
        return await remove_left_behind(self._entry)  # the keeper itself was killed


async def _forget(entry: ledger.Entry, answer: dict[str, Any]) -> None:
    """It could not be made; it may be there all the same, by a keeper that was killed before it said so."""
    if answer.get("errno") == errno.EEXIST:
        await strike_out(entry)
    else:
        await remove_left_behind(entry)


async def remove_left_behind(entry: ledger.Entry) -> str | None:
    """Remove what a dead run left. Returns None, or the sentence that says why it is still there."""
    if entry.mount_point and entry.mount_point not in _mounted():
        return f"{entry.what}: not removed: nothing is mounted on {entry.mount_point} now. Mount it, then `fstui clean`"
    try:
        answer = await ask_program("measure.helpers.directory", "remove", entry.what, _REMOVE_S, entry.what)
    except NoAnswer as silence:
        return f"{entry.what}: not removed: it {silence.reason}"
    if answer.get("absent") and _is_hidden(entry):
        return (
            f"{entry.what}: not removed: another filesystem is mounted on {entry.mount_point} now. "
            "Mount the one of then, then `fstui clean`"
        )
    if answer.get("absent") and entry.above not in (0, answer["above"]):
        answer = await _where_it_was_moved_to(entry)
    if answer.get("removed"):
        await strike_out(entry)
        return None
    return f"{entry.what}: not removed: {answer.get('error')}"


async def _where_it_was_moved_to(entry: ledger.Entry) -> dict[str, Any]:
    """Its directory is another one now: it may be beside it, under another name."""
    try:
        question = f"{entry.above} {entry.what}"
        answer = await ask_program("measure.helpers.directory", "moved", question, _REMOVE_S, entry.what)
    except NoAnswer as silence:
        return {"error": str(silence)}
    if not answer.get("removed"):
        answer["error"] += f"; if it is elsewhere now, move it back; if it is gone, remove {ledger.path_of(entry)}"
    return answer


def _mounted() -> dict[str, Mount]:
    return {mount.mount_point: mount for mount in mounts.read_mounts(Tree(Path("/")))}


def _mount_of(path: str) -> tuple[str, str]:
    """Its mount point, and the number of the device; an anonymous one is another after every mount."""
    found = mounts.holder(path, _mounted())
    if found is None:
        return "", ""
    return found.mount_point, "" if found.device.startswith("0:") else found.device


def _is_hidden(entry: ledger.Entry) -> bool:
    """Something else is mounted where its filesystem was."""
    there = _mounted().get(entry.mount_point)
    return bool(entry.device and there and there.device != entry.device and ledger.is_of_this_boot(entry))
