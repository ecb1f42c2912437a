"""The ledger lists the objects, such as directories and mounts, that fstui has created and not yet removed.

An entry is written before its object is created, and removed after the object is gone. After ``kill -9``, the next
start finds the entries whose owner has ended, and can remove their objects.
"""

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from fstui import proc
from fstui.measure.children import NoReply, call_in_child
from fstui.model.errors import Refused, sentence_of
from fstui.state import paths
from fstui.state.files import create_private_directory, read_regular, sweep, sync_directory, write_atomically

Kind = Literal["directory", "server", "mount", "database", "trace", "lab"]
Owner = Literal["alive", "dead", "on another host", "in another container"]
"""What is known about the owner of an entry. It is unknown whether an owner elsewhere is alive."""
_RUN_ID = re.compile(r"[0-9a-z-]{1,40}")
_CHILD_TIMEOUT_S = 10.0


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An object that fstui created, and the owner: the process responsible for removing the object."""

    run: str
    kind: Kind
    what: str
    """The exact path, or the database. Undecodable bytes are surrogates (PEP 383)."""
    pid: int
    """The pid of the owner."""
    started: int
    """The owner's start time in clock ticks since boot. A later process may have the same pid, but not the same start
    time."""
    boot: str
    """/proc/sys/kernel/random/boot_id. If it has changed, this host was restarted, and the owner is dead."""
    host: str
    """The host name. Hosts may share the state directory, and the processes of other hosts cannot be checked."""
    machine: str = ""
    """/etc/machine-id, which stays the same if the host is renamed. Empty in old entries and on hosts without one."""
    pid_namespace: str
    """Inode of the owner's pid namespace. A pid has no meaning in another namespace."""
    time_namespace: str = ""
    """Inode of the owner's time namespace, in which start times are counted (time_namespaces(7))."""
    mount_point: str = ""
    """The mount point of the object's filesystem. If nothing is mounted there now, the object is not visible, but may
    still exist."""
    device: str = ""
    """``major:minor`` of that filesystem, which is valid until the next boot. Empty for an anonymous device."""
    fsid: int = 0
    """statvfs(3) f_fsid of that filesystem. ext4 and btrfs derive it from their UUID."""
    above: int = 0
    """Inode of the directory that contains the object. If the directory at this path has another inode now, the
    original directory was moved or removed."""


def write_entry(
    run: str, kind: Kind, what: str, mount_point: str = "", *, pid: int | None = None, device: str = ""
) -> LedgerEntry:
    """Write an entry and sync it, before its object is created. If this raises OSError, do not create the object.

    ``pid``: the process responsible for removing the object, by default this process.
    """
    owner = pid or os.getpid()
    directory = create_private_directory(paths.ledger_dir())
    _remove_temporary_files()
    entry = LedgerEntry(
        run=run,
        kind=kind,
        what=what,
        pid=owner,
        started=start_time(owner) or 0,
        boot=proc.boot_id(),
        host=os.uname().nodename,
        machine=_machine_id(),
        pid_namespace=_namespace("pid"),
        time_namespace=_namespace("time"),
        mount_point=mount_point,
        device=device,
        **(_identity(Path(what).parent) if kind == "directory" else {}),
    )
    # encode with json, which unlike msgspec keeps the surrogates of a name that is not UTF-8
    write_atomically(directory / _file_name(entry), json.dumps(msgspec.structs.asdict(entry)).encode() + b"\n")
    return entry


async def write_entry_in_child(run: str, kind: Kind, what: str, mount_point: str = "", device: str = "") -> LedgerEntry:
    """Write an entry in a child process. If this raises Refused, the caller must not create the object.

    If the task is cancelled, remove the entry again, because the caller never creates the object in this case.
    """
    write = partial(write_entry, run, kind, what, mount_point, pid=os.getpid(), device=device)
    task = asyncio.ensure_future(call_in_child(write, timeout_s=_CHILD_TIMEOUT_S, where=str(paths.ledger_dir())))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None:
            await delete_entry_in_child(task.result())
        raise
    except (OSError, NoReply) as error:
        raise Refused(
            f"{sentence_of(error)}. fstui records there what it creates. Set XDG_STATE_HOME to another directory"
        ) from None


async def delete_entry_in_child(entry: LedgerEntry) -> None:
    """Remove the entry of an object that is gone, in a child process. An entry that remains does no harm."""
    with suppress(OSError, Refused):
        await call_in_child(delete_entry, entry, timeout_s=_CHILD_TIMEOUT_S)


async def remove(entry: LedgerEntry, removal: Awaitable[object]) -> str | None:
    """Wait for ``removal`` of an entry's object, and remove the entry. Returns None, or a sentence about a failure."""
    try:
        await removal
    except NoReply as problem:
        return f"{entry.what}: not removed: it {problem.reason}"
    except Refused as refusal:
        return f"{entry.what}: not removed: {refusal}"
    except OSError as error:
        return f"{entry.what}: not removed: {error.strerror or error}"
    await delete_entry_in_child(entry)
    return None


async def delete_entry_if_gone(entry: LedgerEntry) -> None:
    with suppress(OSError, Refused):
        if not await call_in_child(os.path.lexists, entry.what, timeout_s=_CHILD_TIMEOUT_S, where=entry.what):
            await delete_entry_in_child(entry)


def delete_entry(entry: LedgerEntry) -> None:
    """Remove an entry if it still exists. Raises OSError."""
    directory = paths.ledger_dir()
    with suppress(FileNotFoundError):
        (directory / _file_name(entry)).unlink()
        sync_directory(directory)


def path_of(entry: LedgerEntry) -> Path:
    return paths.ledger_dir() / _file_name(entry)


def entries() -> list[LedgerEntry]:
    """Return all entries, including those of running processes, sorted by file name."""
    try:
        files = sorted(path for path in paths.ledger_dir().iterdir() if path.suffix == ".json")
    except OSError:
        return []
    return [entry for entry in map(_read_entry, files) if entry is not None]


def entries_of(owner: Owner) -> list[LedgerEntry]:
    return [entry for entry in entries() if _owner_of(entry) == owner]


def stale_entries() -> list[LedgerEntry]:
    """Return the entries whose owner is dead, and remove incomplete entries, whose objects were never created."""
    _remove_temporary_files()
    return entries_of("dead")


def live_entries() -> list[LedgerEntry]:
    """Return the entries of running processes of this host, except this process and its parent."""
    return [entry for entry in entries_of("alive") if entry.pid not in (os.getpid(), os.getppid())]


def was_written_since_boot(entry: LedgerEntry) -> bool:
    """Return whether the entry was written since the last boot of this host, so that device numbers are still valid."""
    return bool(entry.boot) and entry.boot == proc.boot_id()


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot, or None if it has ended."""
    status = proc.stat(pid)
    return None if status is None or status.state in "ZX" else status.start


def _remove_temporary_files() -> None:
    for directory in (paths.ledger_dir(), paths.runs_dir(), paths.state_dir()):
        sweep(directory)


def _is_of_this_host(entry: LedgerEntry) -> bool:
    """Compare the machine ids, because a host may be renamed. If one is missing, compare the host names."""
    machine = _machine_id()
    return entry.machine == machine if entry.machine and machine else entry.host == os.uname().nodename


def _owner_of(entry: LedgerEntry) -> Owner:
    if not was_written_since_boot(entry):
        return "dead" if _is_of_this_host(entry) else "on another host"
    if entry.pid_namespace != _namespace("pid"):  # the owner is in a container, or on the host of this container
        return "dead" if _is_empty(entry.pid_namespace) else "in another container"
    start = start_time(entry.pid)
    # a time namespace may shift start times, so start times of two namespaces cannot be compared
    if start is not None and entry.time_namespace != _namespace("time"):
        return "in another container"
    return "alive" if start == entry.started else "dead"


def _is_empty(pid_namespace: str) -> bool:
    """Return True only if it is certain that a pid namespace contains no process.

    All processes are visible only in the first pid namespace, and only if ``hidepid`` does not hide those of others.
    """
    if _namespace("pid") != proc.FIRST_PID_NAMESPACE or not Path("/proc/1").exists():
        return False
    try:
        return all(_pid_namespace_of(Path(f"/proc/{pid}")) != pid_namespace for pid in proc.pids())
    except OSError:
        return False


def _pid_namespace_of(process: Path) -> str:
    """Return the pid namespace of a process, or an empty string if the process has ended. Raises OSError."""
    try:
        return str((process / "ns/pid").readlink())
    except (FileNotFoundError, ProcessLookupError):
        return ""
    except PermissionError:  # another user's process; if it has only one pid, it is in this first namespace
        status = (process / "status").read_text(errors="replace")
        if re.search(r"^NSpid:\t\d+$", status, re.MULTILINE) is None:
            raise
        return proc.FIRST_PID_NAMESPACE


def _read_entry(path: Path) -> LedgerEntry | None:
    """Return the entry in a file, or None if it is not a valid entry of this user.

    With ``sudo -E``, the state directory belongs to another user, whose entries could make root remove any path.
    """
    try:
        data, status = read_regular(path, os.O_NOFOLLOW)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            return None
        entry = msgspec.convert(json.loads(data), LedgerEntry)
    except (OSError, ValueError, RecursionError):
        return None
    return entry if path.name == _file_name(entry) and _RUN_ID.fullmatch(entry.run) else None


def _file_name(entry: LedgerEntry) -> str:
    digest = hashlib.blake2s(entry.what.encode(errors="surrogateescape"), digest_size=4).hexdigest()
    return f"{entry.run}-{entry.kind}-{digest}.json"


def _identity(directory: Path) -> dict[str, int]:
    """Return the fields that identify the directory in which an object will be created, and its filesystem."""
    try:
        return {"fsid": os.statvfs(directory).f_fsid, "above": directory.stat().st_ino}
    except OSError:
        return {}


def _machine_id() -> str:
    machine_id = proc.read_text("/etc/machine-id").strip()
    return machine_id if re.fullmatch("[0-9a-f]{32}", machine_id) else ""  # an image may contain "uninitialized"


def _namespace(kind: str) -> str:
    try:
        return str(Path(f"/proc/self/ns/{kind}").readlink())
    except OSError:
        return ""
