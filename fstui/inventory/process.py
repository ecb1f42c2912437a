"""The process that measures, or the one it stands in for: libraries that stub its syncs, its cgroup's io limits, its
seccomp state; and the others that write meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from fstui.inventory import cgroups
from fstui.inventory.files import Tree, integer
from fstui.model import Process, Reading, Refused, Writer
from fstui.quantities import plain

_STUBS = re.compile(r"eatmydata|no-?f?sync|fsync-?(off|disable|stub)|fake-?f?sync|disable-?f?sync", re.IGNORECASE)
"""Libraries whose one purpose is to leave syncs out: libeatmydata, nosync and their kin."""
_MAPS_BYTES = 4 << 20
_DELETED = " (deleted)"
_SECCOMP: tuple[Literal["off", "strict", "filter"], ...] = ("off", "strict", "filter")
"""The field Seccomp of /proc/PID/status (proc_pid_status(5))."""


class Written(NamedTuple):
    """What a process has written to disks since it began (write_bytes of /proc/PID/io)."""

    name: str
    written_bytes: int


def read_process(root: Path = Path("/")) -> Process:
    """Sync-stubbing libraries that are, or will be, loaded into this process and its children; cgroup and seccomp."""
    return _process(Tree(root), "self", system_wide=True)


def read_process_of(pid: int, root: Path = Path("/")) -> Process:
    """Another process: its sync-stubbing libraries, its cgroup with its io limits, its seccomp state.

    Raises Refused where there is no such process, or where only its owner and root may look at it.
    """
    tree = Tree(root)
    name = tree.word(f"/proc/{pid}/comm")
    if pid <= 0 or name is None:
        raise Refused(f"process {pid}: there is none")
    if tree.data(f"/proc/{pid}/maps", 1) is None:
        raise Refused(f"process {pid} ({plain(name)}): only its owner and root may see what it has loaded; run as root")
    return msgspec.structs.replace(_process(tree, str(pid), system_wide=False), pid=pid, name=name)


def _process(tree: Tree, pid: str, *, system_wide: bool) -> Process:
    maps, environ, preload = f"/proc/{pid}/maps", f"/proc/{pid}/environ", "/etc/ld.so.preload"
    mapped = (line.partition("/")[2] for line in (tree.text(maps, _MAPS_BYTES) or "").split("\n"))
    variables = (tree.text(environ) or "").split("\0")
    named = next((word.removeprefix("LD_PRELOAD=") for word in variables if word.startswith("LD_PRELOAD=")), "")
    sources = [
        (maps, [f"/{name.removesuffix(_DELETED)}" for name in mapped if name]),
        (environ, re.split(r"[ :]", named)),
    ]
    if system_wide:  # another process may have another root directory
        sources.append((preload, re.split(r"[ :\t\n]", tree.text(preload) or "")))
    found = {
        (name, path): Reading(what="preload", value=name, path=path)
        for path, names in sources
        for name in names
        if _STUBS.search(name.rpartition("/")[2])
    }
    groups = tree.text(f"/proc/{pid}/cgroup") or ""
    seccomp = re.search(r"^Seccomp:\s+([012])$", tree.text(f"/proc/{pid}/status") or "", re.MULTILINE)
    return Process(
        preloads=tuple(found.values()),
        cgroup=cgroups.path_of(groups),
        io_limits=cgroups.io_limits(tree, groups),
        seccomp=_SECCOMP[int(seccomp[1])] if seccomp else None,
    )


def read_write_bytes(root: Path = Path("/")) -> dict[int, Written]:
    """What every process whose /proc/PID/io is readable (all, for root) has written to disks so far."""
    tree = Tree(root)
    found = {}
    for name in tree.names("/proc"):
        pid = integer(name)
        match = (
            re.search(r"^write_bytes: (\d{1,18})$", tree.text(f"/proc/{name}/io") or "", re.MULTILINE) if pid else None
        )
        if pid and match:
            found[pid] = Written(tree.word(f"/proc/{name}/comm") or str(pid), int(match[1]))
    return found


def writers(
    before: Mapping[int, Written], after: Mapping[int, Written], own: frozenset[int] = frozenset()
) -> tuple[Writer, ...]:
    """Who wrote between two readings, the most first. ``own`` names processes to leave out.

    A process that began in between counts from zero; one that ended in between is not seen.
    """
    found = []
    for pid, now in after.items():
        earlier = before.get(pid)
        same = earlier is not None and earlier.written_bytes <= now.written_bytes
        grown = now.written_bytes - (earlier.written_bytes if earlier is not None and same else 0)
        if grown > 0 and pid not in own:
            found.append(Writer(pid=pid, name=now.name, written_bytes=grown))
    return tuple(sorted(found, key=lambda writer: (-writer.written_bytes, writer.pid)))
