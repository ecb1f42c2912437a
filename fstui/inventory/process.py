"""The process that measures: libraries that stub its syncs, its cgroup; and the others that write meanwhile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fstui.inventory.files import Tree, integer
from fstui.model import Process, Reading, Writer

_STUBS = re.compile(r"eatmydata|no-?f?sync|fsync-?(off|disable|stub)|fake-?f?sync|disable-?f?sync", re.IGNORECASE)
"""Libraries whose one purpose is to leave syncs out: libeatmydata, nosync and their kin."""
_MAPS_BYTES = 4 << 20


class Written(NamedTuple):
    """What a process has written to disks since it began (write_bytes of /proc/PID/io)."""

    name: str
    written_bytes: int


def read_process(root: Path = Path("/")) -> Process:
    """Sync-stubbing libraries that are, or will be, loaded into this process and its children; its cgroup."""
    tree = Tree(root)
    maps = tree.text("/proc/self/maps", _MAPS_BYTES) or ""
    environment = (tree.text("/proc/self/environ") or "").split("\0")
    preload = next((word.removeprefix("LD_PRELOAD=") for word in environment if word.startswith("LD_PRELOAD=")), "")
    sources = (
        ("/proc/self/maps", (line.partition("/")[2] and "/" + line.partition("/")[2] for line in maps.split("\n"))),
        ("/proc/self/environ", re.split(r"[ :]", preload)),
        ("/etc/ld.so.preload", re.split(r"[ :\t\n]", tree.text("/etc/ld.so.preload") or "")),
    )
    found = {
        (name, path): Reading(what="preload", value=name, path=path)
        for path, names in sources
        for name in names
        if _STUBS.search(name.rpartition("/")[2])
    }
    return Process(preloads=tuple(found.values()), cgroup=_cgroup(tree.text("/proc/self/cgroup") or ""))


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


def _cgroup(text: str) -> str | None:
    """The path whose io limits hold: the blkio controller's (v1), else that of the unified hierarchy."""
    lines = [line.split(":", 2) for line in text.split("\n") if line.count(":") >= 2]
    by_controller = {controller: path for _, controllers, path in lines for controller in controllers.split(",")}
    return by_controller.get("blkio", by_controller.get(""))
