"""The directory that a run creates on the target: ``.fstui-<run id>`` with mode 0700.

A keeper process creates the directory, holds it open until its stdin closes, and then removes it. Its stdin closes at
the end of a run, and also when fstui is killed. The entry in the ledger is written before the directory is created, and
deleted after the directory is removed.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fstui import proc
from fstui.measure.children import Child, NoReply, call_helper, call_in_child
from fstui.measure.wire.own_directory import PREFIX
from fstui.model.errors import Refused
from fstui.model.storage import Space
from fstui.proc import Mount
from fstui.state import ledger
from fstui.storage.mounts import mount_of_path

_REPLY_TIMEOUT_S = 10.0
_REMOVE_TIMEOUT_S = 15.0
_FSID_FROM_UUID = frozenset({"ext2", "ext3", "ext4", "btrfs", "zfs"})
"""Filesystems whose f_fsid stays the same when their device number changes."""


class HeldDirectory(NamedTuple):
    """The path and identity of a run's directory. Child programs refuse another directory at the same path."""

    path: str
    device: int
    inode: int

    @property
    def as_settings(self) -> dict[str, Any]:
        """Return the settings for child programs that enter the directory (``fstui.measure.wire.own_directory``)."""
        return {"directory": self.path, "identity": [self.device, self.inode]}


class TargetDirectory(NamedTuple):
    """A directory that the user chose, and the facts that a run needs before it writes there."""

    path: str
    space: Space | None
    refusal: str | None = None
    """Why a run must not write there, as a sentence for the user; None if it may."""
    fsid: int = 0
    """statvfs(3) f_fsid. ext4 and btrfs derive it from their UUID, so it stays the same after a reboot."""


class NotInspected(Refused):
    """Nothing is known about a directory: its disk hangs, or the process that inspected it was killed."""


_NAME_ANOTHER_HINT = "Name an existing directory on the storage in question."
_STOPPED_HINT = "The filesystem has stopped, or its device is gone: see the kernel's log (dmesg)."


async def inspect(directory: str, *, trust_directory: bool = False) -> TargetDirectory:
    """Resolve a path and find out whether a run may write there. Raises Refused if it does not lead to a directory.

    ``trust_directory``: allow root to write there although another user could replace what root writes.
    """
    try:
        helper = "measure.helpers.directory.inspect"
        reply = await call_helper(helper, directory, timeout_s=_REPLY_TIMEOUT_S, where=directory)
    except NoReply as problem:
        raise NotInspected(f"{problem}. Nothing was written.") from None
    except ChildProcessError as killed:
        raise NotInspected(f"{directory}: {killed.strerror}. Nothing was written. Try again.") from None
    except OSError as error:
        raise Refused(
            f"{directory}: {error.strerror}. {_STOPPED_HINT if error.errno == errno.EIO else _NAME_ANOTHER_HINT}"
        ) from None
    if not reply["directory"]:
        raise Refused(f"{directory} is not a directory. {_NAME_ANOTHER_HINT}")
    space = Space.from_statvfs(reply["total_bytes"], reply["free_bytes"], reply["block_bytes"])
    return TargetDirectory(reply["path"], space, _why_refused(directory, reply, trust_directory), reply["fsid"])


def _why_refused(directory: str, reply: dict[str, Any], trust_directory: bool) -> str | None:
    if reply["read_only"]:
        return f"{directory} is on a read-only filesystem. Remount it read-write, or name another directory."
    if not reply["writable"] and os.geteuid() == 0:
        return (
            f"{directory} is not writable by root: it is immutable (lsattr -d), or its NFS server maps root to "
            "nobody. Name another directory on the same mount."
        )
    if not reply["writable"]:
        return (
            f"{directory} is not writable by this user. Name a directory that you own on the same mount, or use sudo."
        )
    if reply["append_only"]:
        return (
            f"{directory} is append-only (lsattr -d): fstui could not remove what it writes there. Name another "
            "directory on the same mount."
        )
    if reply["renamers"] and not trust_directory:
        return (
            f"{directory}: {reply['renamers']} could replace what root writes there. Name a directory on the same "
            "mount that only root can change, or run fstui as that user. If you trust them, add --trust-dir."
        )
    return None


class RunDirectory:
    """The directory of a run. This base class neither creates nor removes the directory."""

    dio_alignment: int | None = None
    """Block alignment that O_DIRECT requires, in bytes. 0: O_DIRECT is not supported; None: unknown."""
    untorn_bytes: int = 0
    """Size of the largest atomic write with RWF_ATOMIC there, according to the filesystem; 0: none."""
    file_flags: str = ""
    """Flags of a new file there, as letters of lsattr(1). S: every write is synced; C: btrfs overwrites in place."""

    def __init__(self, held_directory: HeldDirectory) -> None:
        self.held_directory = held_directory

    async def remove(self, timeout_s: float = _REMOVE_TIMEOUT_S) -> str | None:
        """Remove the directory. Returns None, or a sentence with the reason why it was not removed."""
        return None


class Workspace(RunDirectory):
    def __init__(
        self, held_directory: HeldDirectory, keeper: Child, entry: ledger.LedgerEntry, reply: Mapping[str, Any]
    ) -> None:
        super().__init__(held_directory)
        self.dio_alignment = reply["dio_alignment"]
        self.untorn_bytes = reply["untorn_bytes"]
        self.file_flags = reply["file_flags"]
        self._keeper = keeper
        self._entry = entry

    @classmethod
    async def create(cls, directory: str, run_id: str, fsid: int = 0) -> Workspace:
        """Create ``.fstui-<run id>`` in ``directory``. Raises Refused, also if its filesystem has another fsid."""
        path = str(Path(directory) / (PREFIX + run_id))
        entry = await ledger.write_entry_in_child(run_id, "directory", path, *_mount_of(path))
        keeper = await Child.start("measure.helpers.directory", "keep", str(ledger.path_of(entry)), str(fsid))
        keeper.send(json.dumps(path))
        try:
            reply = json.loads(await keeper.read_reply(_REPLY_TIMEOUT_S, path, disk="target") or b"{}")
        except NoReply:
            keeper.abandon()
            raise
        if not reply.get("ready"):
            await keeper.reap(1.0)
            await _discard_entry(entry, reply)
            raise Refused(f"Cannot create {path}: {reply.get('error', 'its helper process ended')}.")
        return cls(HeldDirectory(path, *reply["identity"]), keeper, entry, reply)

    @classmethod
    async def create_temporary(cls) -> Workspace:
        """Create a workspace in the directory for temporary files. Raises Refused."""
        try:
            temporary = await call_in_child(tempfile.gettempdir, where="the directory for temporary files")
        except OSError as error:
            raise Refused(f"there is no directory for temporary files: {error}. Set TMPDIR to one") from None
        return await cls.create(temporary, secrets.token_hex(3))

    async def remove(self, timeout_s: float = _REMOVE_TIMEOUT_S) -> str | None:
        self._keeper.hang_up()
        try:
            line = await self._keeper.read_reply(timeout_s, self.held_directory.path, disk="target")
            reply = json.loads(line or b"{}")
        except NoReply as problem:
            self._keeper.abandon()
            hint = "It will be removed when its disk responds, or by 'fstui clean'"
            return f"{self.held_directory.path}: not removed, because it {problem.reason}. {hint}"
        await self._keeper.end(1.0, disk="home")
        if reply.get("removed"):  # the keeper has also removed the entry
            return None
        if "error" in reply:
            why = " (the filesystem has stopped: see dmesg)" if reply["errno"] == errno.EIO else ""
            return f"{self.held_directory.path}: not removed: {reply['error']}{why}; 'fstui clean' tries again"
        return await remove_left_behind(self._entry)  # the keeper itself was killed


async def _discard_entry(entry: ledger.LedgerEntry, reply: dict[str, Any]) -> None:
    """Remove the entry of a directory that could not be created.

    If something with this path existed before, remove only the entry. Otherwise the keeper may have created the
    directory before it was killed, so remove the directory as well.
    """
    if reply.get("errno") == errno.EEXIST:
        await ledger.delete_entry_in_child(entry)
    else:
        await remove_left_behind(entry)


async def remove_left_behind(entry: ledger.LedgerEntry) -> str | None:
    """Remove the directory of a run that was killed. Returns None, or a sentence with the reason why it remains."""
    return await ledger.remove(entry, _remove_directory(entry))


async def _remove_directory(entry: ledger.LedgerEntry) -> None:
    """Remove the directory. Raises OSError, and Refused if the path now leads to another filesystem or directory."""
    if entry.mount_point and entry.mount_point not in _mounts_by_point():
        raise Refused(f"nothing is mounted on {entry.mount_point} now. Mount it, then run 'fstui clean'")
    helper = "measure.helpers.directory.remove"
    # empty if the directory was removed; if there was no such directory, facts about its parent directory
    parent = await call_helper(helper, entry.what, timeout_s=_REMOVE_TIMEOUT_S, where=entry.what)
    if parent and _is_hidden(entry, parent["fsid"]):
        raise Refused(
            f"another filesystem is mounted on {entry.mount_point} now. Mount the earlier one, then run 'fstui clean'. "
            f"If it no longer exists, delete {ledger.path_of(entry)}"
        )
    if parent and entry.above not in (0, parent["above"]):
        raise Refused(
            f"{Path(entry.what).parent} has been moved or removed since the run. If it is elsewhere, move it "
            f"back, then run 'fstui clean'. If it is gone, delete {ledger.path_of(entry)}"
        )


def _mounts_by_point() -> dict[str, Mount]:
    return {mount.mount_point: mount for mount in proc.mounts()}


def _mount_of(path: str) -> tuple[str, str]:
    """Return the mount point and the device number of the path's filesystem. An anonymous device number is left out,
    because it changes with each mount."""
    mount = mount_of_path(path, _mounts_by_point())
    if mount is None:
        return "", ""
    return mount.mount_point, "" if mount.device.startswith("0:") else mount.device


def _is_hidden(entry: ledger.LedgerEntry, fsid: int) -> bool:
    """Return whether another filesystem is mounted where the entry's filesystem was.

    ``fsid``: the f_fsid of the filesystem that is there now.
    """
    mount = _mounts_by_point().get(entry.mount_point)
    if mount is None:
        return False
    if entry.fsid and fsid and mount.fstype in _FSID_FROM_UUID:
        return entry.fsid != fsid
    return bool(entry.device and mount.device != entry.device and ledger.was_written_since_boot(entry))
