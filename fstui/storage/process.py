"""Per process: libraries that stub syncs, the seccomp state, I/O limits of its cgroup, bytes written to disks.

Limits are in io.max of cgroup v2 and blkio.throttle of v1 (Documentation/admin-guide/cgroup-v2.rst,
cgroup-v1/blkio-controller.rst).
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from fstui import proc
from fstui.model.errors import Refused
from fstui.model.host import OtherWriter, Process
from fstui.model.storage import Reading
from fstui.proc import mapped_files, preloaded_libraries, stubs_syncs
from fstui.storage import mounts
from fstui.storage.tree import Tree

_MAPS_BYTES = 4 << 20
_SECCOMP: tuple[Literal["off", "strict", "filter"], ...] = ("off", "strict", "filter")
"""The field Seccomp of /proc/PID/status (proc_pid_status(5))."""


def read_process_of(pid: int, root: Path = Path("/")) -> Process:
    """Return the sync-stubbing libraries, the cgroup and the seccomp state of a process. Raises Refused."""
    tree = Tree(root)
    name = tree.stripped(f"/proc/{pid}/comm")
    if pid <= 0 or name is None:
        raise Refused(f"there is no process {pid}")
    if tree.data(f"/proc/{pid}/maps", 1) is None:
        raise Refused(
            f"the memory map of process {pid} ({name}) is not readable. Run fstui as root, not in a container"
        )
    return msgspec.structs.replace(read_process(root, pid), pid=pid, name=name)


def read_process(root: Path = Path("/"), pid: int | str = "self") -> Process:
    """Return libraries that stub syncs in a process, its cgroup and its seccomp state."""
    tree = Tree(root)
    environ, preload = f"/proc/{pid}/environ", "/etc/ld.so.preload"
    stubs = [*mapped_stubs(tree, pid), *_stubs(environ, preloaded_libraries(tree.text(environ) or ""))]
    if pid == "self":  # another process may have another root directory, so this file may not apply to it
        stubs += _stubs(preload, re.split(r"[ :\t\n]", tree.text(preload) or ""))
    cgroups = tree.text(f"/proc/{pid}/cgroup") or ""
    limits = proc.io_limits(mounts.read_mounts(tree), cgroups, lambda path: tree.text(path) or "")
    seccomp = re.search(r"^Seccomp:\s+([012])$", tree.text(f"/proc/{pid}/status") or "", re.MULTILINE)
    return Process(
        preloads=tuple(stubs),
        cgroup=proc.io_cgroup(cgroups),
        io_limits=tuple(dict.fromkeys(Reading(what=what, value=value, path=path) for what, value, path in limits)),
        seccomp=_SECCOMP[int(seccomp[1])] if seccomp else None,
    )


def mapped_stubs(tree: Tree, pid: int | str) -> list[Reading]:
    """Return libraries that stub syncs in the memory map of that process; none if it may not be read."""
    path = f"/proc/{pid}/maps"
    return _stubs(path, mapped_files(tree.text(path, _MAPS_BYTES) or ""))


def _stubs(path: str, names: Iterable[str]) -> list[Reading]:
    return [Reading(what="preload", value=name, path=path) for name in dict.fromkeys(names) if stubs_syncs(name)]


class WriteCount(NamedTuple):
    """The bytes that a process has written to disks since it began (write_bytes of /proc/PID/io)."""

    name: str
    written_bytes: int


WriteCounts = Mapping[tuple[int, int], WriteCount]
"""By pid and start time, because pids are reused."""


def read_write_counts() -> WriteCounts:
    """Return the bytes written by each process whose /proc/PID/io is readable; for root, these are all processes."""
    counts = ((pid, proc.stat(pid), proc.written_bytes(pid)) for pid in proc.pids())
    return {
        (pid, stat.start): WriteCount(stat.name or str(pid), written_bytes)
        for pid, stat, written_bytes in counts
        if stat is not None and written_bytes is not None
    }


def writers(before: WriteCounts, after: WriteCounts, own_pids: frozenset[int] = frozenset()) -> tuple[OtherWriter, ...]:
    """Return the processes that wrote between two readings and still exist, without ``own_pids``, most bytes first."""
    others = []
    for (pid, start), count in after.items():
        earlier = before.get((pid, start))
        more_bytes = count.written_bytes - (earlier.written_bytes if earlier else 0)
        if more_bytes > 0 and pid not in own_pids:
            others.append(OtherWriter(pid=pid, name=count.name, written_bytes=more_bytes))
    return tuple(sorted(others, key=lambda writer: (-writer.written_bytes, writer.pid)))


def members_file(tree: Tree, text: str) -> str | None:
    """Return the ``cgroup.procs`` of the group whose I/O limits apply to a process. ``text``: its /proc/PID/cgroup."""
    by_controller = proc.cgroups(text)
    for mount in mounts.read_mounts(tree):
        is_v1 = mount.fstype == "cgroup" and "blkio" in mount.super_options and "blkio" in by_controller
        is_v2 = mount.fstype == "cgroup2" and "" in by_controller and "blkio" not in by_controller
        if is_v1 or is_v2:
            path = by_controller["blkio" if is_v1 else ""]
            return f"{next(proc.cgroup_directories(mount, path))}/cgroup.procs"
    return None
