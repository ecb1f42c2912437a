"""What was made on targets and is not yet removed: written before the thing is made, struck out once it is gone.

After kill -9 of everything, the next start finds the entries whose owner is dead and can remove what they name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from fstui import proc
from fstui.state import paths
from fstui.state.files import make_private, read_regular, sweep, sync_directory, write_atomically

Kind = Literal["directory", "server", "mount", "database", "trace", "lab"]
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel's linux/proc_ns.h: every other one is below it."""
_RUN = re.compile(r"[0-9a-z-]{1,40}")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was made, and the process that is to remove it."""

    run: str
    kind: Kind
    what: str
    """The directory, data directory, mount point, database, trace instance or laboratory, exactly.

    Undecodable bytes are surrogates (PEP 383).
    """
    pid: int
    started: int
    """The owner's start time in clock ticks since boot, field 22 of /proc/PID/stat: a reused pid has another one."""
    boot: str
    """/proc/sys/kernel/random/boot_id: another boot means that every process of then is dead."""
    host: str
    """The state directory may be on a share: what another box does is not ours to judge."""
    pid_namespace: str
    """Inode of the owner's pid namespace: its pid means nothing in another one."""
    time_namespace: str = ""
    """Inode of the owner's time namespace: another one counts start times from another boot (time_namespaces(7))."""
    mount_point: str = ""
    """Where its filesystem was mounted: while nothing is mounted there, the thing is out of sight and not gone."""
    device: str = ""
    """``major:minor`` of that filesystem, where it is a device of this boot's; another one there hides it as well."""
    above: int = 0
    """Inode of the directory that it is made in: where another one stands there, that one was moved, and it with it."""


def enter(run: str, kind: Kind, what: str, mount_point: str = "", *, pid: int | None = None, device: str = "") -> Entry:
    """Write the entry and sync it, before the thing is made. Raises OSError: then do not make it.

    ``pid``: the process that is to remove it, where that is not this one.
    """
    owner = pid or os.getpid()
    directory = make_private(paths.ledger_dir())
    _sweep()
    entry = Entry(
        run=run,
        kind=kind,
        what=what,
        pid=owner,
        started=start_time(owner) or 0,
        boot=_boot(),
        host=os.uname().nodename,
        pid_namespace=_namespace("pid"),
        time_namespace=_namespace("time"),
        mount_point=mount_point,
        device=device,
        above=_inode(Path(what).parent) if kind == "directory" else 0,
    )
    # json, not msgspec: it round-trips the surrogates of a name that is not UTF-8
    write_atomically(directory / _file_name(entry), json.dumps(msgspec.structs.asdict(entry)).encode() + b"\n")
    return entry


def path_of(entry: Entry) -> Path:
    """The entry's file."""
    return paths.ledger_dir() / _file_name(entry)


def settled(entry: Entry) -> None:
    """Strike the entry out: the thing is gone. Striking it out twice is no error."""
    directory = paths.ledger_dir()
    with suppress(FileNotFoundError):
        (directory / _file_name(entry)).unlink()
        sync_directory(directory)


def entries() -> list[Entry]:
    """All entries, also those of living processes, in the order of their names. Foreign files are passed over."""
    try:
        files = sorted(path for path in paths.ledger_dir().iterdir() if path.suffix == ".json")
    except OSError:
        return []
    return [entry for entry in map(_read, files) if entry is not None]


def stale() -> list[Entry]:
    """Entries whose owner is dead. Where that cannot be known (another box, another namespace), it is not stale.

    Half-written ones are removed: what they were to name was never made.
    """
    _sweep()
    return [entry for entry in entries() if _owner_lives(entry) is False]


def living() -> list[Entry]:
    """Entries of processes that live, here, other than this one and those that it was started by."""
    others = (entry for entry in entries() if entry.pid not in (os.getpid(), os.getppid()))
    return [entry for entry in others if _owner_lives(entry) is True]


def is_of_this_boot(entry: Entry) -> bool:
    """Numbers of devices mean the same as then."""
    return entry.boot == _boot() != ""


def start_time(pid: int) -> int | None:
    """Return when a process began, in clock ticks since boot; None where no such process lives.

    A zombie, dead and not yet reaped, does not live.
    """
    found = proc.stat(pid)
    return None if found is None or found.state in "ZX" else found.start


def _sweep() -> None:
    for directory in (paths.ledger_dir(), paths.runs_dir()):
        sweep(directory)


def _owner_lives(entry: Entry) -> bool | None:
    """None where that is not ours to judge: on another box, in another namespace."""
    here = entry.host == os.uname().nodename
    if entry.boot != _boot():
        return False if here else None
    if entry.pid_namespace != _namespace("pid"):  # a container, under whatever host name
        return False if _is_empty(entry.pid_namespace) else None
    started = start_time(entry.pid)
    if not here or (started is not None and entry.time_namespace != _namespace("time")):
        return None
    return started == entry.started


def _is_empty(pid_namespace: str) -> bool:
    """Nobody lives in it. Only who sees every process of the box can know: from the first namespace, with no
    ``hidepid`` that would hide the first process."""
    if _namespace("pid") != _FIRST_PID_NAMESPACE or not Path("/proc/1").exists():
        return False
    try:
        processes = [path for path in Path("/proc").iterdir() if path.name.isdecimal()]
        return all(_pid_namespace_of(process) != pid_namespace for process in processes)
    except OSError:
        return False


def _pid_namespace_of(process: Path) -> str:
    """Raises OSError where it is not told."""
    try:
        return str((process / "ns/pid").readlink())
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return ""
    except PermissionError:  # another user's; one that has a single number is in ours
        told = re.search(r"^NSpid:\t\d+$", (process / "status").read_text(errors="replace"), re.MULTILINE)
        if told is None:
            raise
        return _FIRST_PID_NAMESPACE


def _read(path: Path) -> Entry | None:
    """Nobody else's: what an entry names is removed, and the state directory may be another user's (sudo -E)."""
    try:
        data, found = read_regular(path, os.O_NOFOLLOW)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            return None
        entry = msgspec.convert(json.loads(data), Entry)
    except (OSError, ValueError, RecursionError):
        return None
    return entry if path.name == _file_name(entry) and _RUN.fullmatch(entry.run) else None


def _file_name(entry: Entry) -> str:
    what = hashlib.blake2s(entry.what.encode(errors="surrogateescape"), digest_size=4).hexdigest()
    return f"{entry.run}-{entry.kind}-{what}.json"


def _inode(directory: Path) -> int:
    try:
        return directory.stat().st_ino
    except OSError:
        return 0


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace(kind: str) -> str:
    try:
        return str(Path(f"/proc/self/ns/{kind}").readlink())
    except OSError:
        return ""
