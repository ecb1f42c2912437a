"""The process that measures, or the one it stands in for: libraries that stub its syncs, its cgroup's io limits, its
seccomp state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.model.storage import Reading
from fstui.storage import cgroups
from fstui.storage.layers.preloads import stubs_syncs
from fstui.storage.layers.sources.files import Tree

_MAPS_BYTES = 4 << 20
_DELETED = " (deleted)"
_SECCOMP: tuple[Literal["off", "strict", "filter"], ...] = ("off", "strict", "filter")
"""The field Seccomp of /proc/PID/status (proc_pid_status(5))."""


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
        raise Refused(f"process {pid} ({name}): only its owner and root may see what it has loaded; run as root")
    return msgspec.structs.replace(_process(tree, str(pid), system_wide=False), pid=pid, name=name)


def mapped_stubs(pid: int, root: Path = Path("/")) -> tuple[Reading, ...]:
    """Sync-stubbing libraries in that process' memory map; none where we may not look."""
    return tuple(_mapped(Tree(root), str(pid)))


def _process(tree: Tree, pid: str, *, system_wide: bool) -> Process:
    environ, preload = f"/proc/{pid}/environ", "/etc/ld.so.preload"
    variables = (tree.text(environ) or "").split("\0")
    named = next((word.removeprefix("LD_PRELOAD=") for word in variables if word.startswith("LD_PRELOAD=")), "")
    found = [*_mapped(tree, pid), *_stubs(environ, re.split(r"[ :]", named))]
    if system_wide:  # another process may have another root directory
        found += _stubs(preload, re.split(r"[ :\t\n]", tree.text(preload) or ""))
    groups = tree.text(f"/proc/{pid}/cgroup") or ""
    seccomp = re.search(r"^Seccomp:\s+([012])$", tree.text(f"/proc/{pid}/status") or "", re.MULTILINE)
    return Process(
        preloads=tuple(found),
        cgroup=cgroups.path_of(groups),
        io_limits=cgroups.io_limits(tree, groups),
        seccomp=_SECCOMP[int(seccomp[1])] if seccomp else None,
    )


def _mapped(tree: Tree, pid: str) -> list[Reading]:
    path = f"/proc/{pid}/maps"
    names = (line.partition("/")[2] for line in (tree.text(path, _MAPS_BYTES) or "").split("\n"))
    return _stubs(path, (f"/{name.removesuffix(_DELETED)}" for name in names if name))


def _stubs(path: str, names: Iterable[str]) -> list[Reading]:
    """Those of the libraries named there that leave syncs out, each once."""
    return [Reading(what="preload", value=name, path=path) for name in dict.fromkeys(names) if stubs_syncs(name)]
