"""ZFS: pools with their vdevs, datasets with the properties that decide what a sync costs and what it is worth.

Pools and properties are told by ``zpool`` and ``zfs`` (``claims``); the counters and the module's parameters stand in
/proc and /sys for everybody. OpenZFS 2.2 and later count ZIL commits per dataset, earlier ones for the whole box.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fstui.inventory.claims import Claims
from fstui.inventory.files import Tree
from fstui.model import Reading

PARAMETERS = "/sys/module/zfs/parameters"
KSTAT = "/proc/spl/kstat/zfs"
NOCACHEFLUSH = ("zfs_nocacheflush", "zil_nocacheflush")
_SECTIONS = {"logs": "slog", "cache": "l2arc", "spares": "spare", "special": "special", "dedup": "special"}
_GROUPS = ("mirror", "raidz", "draid", "replacing", "spare", "indirect")
_HEALTHY = frozenset({"ONLINE", "AVAIL", "INUSE"})
_COMMITS = re.compile(rb"^zil_commit_count\s+\d+\s+(\d{1,18})\s*$", re.MULTILINE)
_DATASET = re.compile(rb"^dataset_name\s+\d+\s+(\S.*?)\s*$", re.MULTILINE)
_STATUS = re.compile(r"^\t( *)(\S+)(?: +(\S+))?(?: +(\S+) +(\S+) +(\S+))?(?: {2}(.*))?")


class Vdev(NamedTuple):
    """One line of ``zpool status``: a disk, a file, or a group of them."""

    name: str
    state: str
    role: str | None
    errors: str
    children: tuple[Vdev, ...] = ()

    @property
    def group(self) -> str | None:
        """``mirror``, ``raidz`` …; None for a disk or a file."""
        if self.name.startswith("/"):
            return None
        return next((kind for kind in _GROUPS if self.name.startswith(kind)), None)

    def trouble(self, path: str) -> tuple[Reading, ...]:
        """Its state where that is not healthy, and its errors."""
        found = []
        if self.state and self.state not in _HEALTHY:
            found.append(Reading(what="state", value=self.state, path=path))
        if self.errors:
            found.append(Reading(what="errors", value=self.errors, path=path))
        return tuple(found)


class Pool(NamedTuple):
    """What ``zpool status`` says of one pool."""

    name: str
    path: str
    vdevs: tuple[Vdev, ...]
    state: tuple[Reading, ...]


def pools(claims: Claims) -> Mapping[str, Pool]:
    """The pools that ``zpool status`` told of, by name."""
    found = {}
    for command, answer in claims.items():
        if command.startswith("zpool status ") and answer.error is None:
            pool = _pool(command, answer.output)
            if pool is not None:
                found[pool.name] = pool
    return found


def properties(claims: Claims) -> Mapping[str, tuple[Reading, ...]]:
    """The properties that were told, by dataset or pool. Where one comes from stands in its path."""
    found: dict[str, list[Reading]] = {}
    for command, answer in claims.items():
        tool = command.partition(" ")[0]
        if " get " in command and tool in ("zfs", "zpool") and answer.error is None:
            for name, what, value, source in _rows(answer.output):
                found.setdefault(name, []).append(_property(tool, name, what, value, source))
    return {name: tuple(readings) for name, readings in found.items()}


def parameters(tree: Tree) -> tuple[Reading, ...]:
    """The module's parameters that drop flushes to every pool, to the disks or to the log."""
    found = (tree.reading(name, f"{PARAMETERS}/{name}") for name in NOCACHEFLUSH)
    return tuple(reading for reading in found if reading is not None)


class Commits:
    """Where the ZIL commits of each dataset are counted; each pool's files are read once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._paths: dict[str, dict[str, str]] = {}

    def reading(self, dataset: str) -> Reading | None:
        """``zil_commit_count`` so far: the dataset's own, else that of the whole box."""
        pool = dataset.partition("/")[0]
        if pool not in self._paths:
            self._paths[pool] = dict(self._datasets(pool))
        for path in (self._paths[pool].get(dataset), f"{KSTAT}/zil"):
            count = count_commits(self._tree, path) if path is not None else None
            if count is not None and path is not None:
                return Reading(what="zil_commit_count", value=str(count), path=path)
        return None

    def _datasets(self, pool: str) -> Iterator[tuple[str, str]]:
        for name in self._tree.names(f"{KSTAT}/{pool}"):
            path = f"{KSTAT}/{pool}/{name}"
            match = _DATASET.search(self._tree.data(path) or b"") if name.startswith("objset-") else None
            if match:
                yield match[1].decode("utf-8", "surrogateescape"), path


def count_commits(tree: Tree, path: str) -> int | None:
    """``zil_commit_count`` of a kstat file, or None."""
    match = _COMMITS.search(tree.data(path) or b"")
    return int(match[1]) if match else None


def _rows(output: str) -> Iterator[tuple[str, str, str, str]]:
    for line in output.split("\n"):
        cells = line.split("\t")
        if len(cells) == 4:
            yield cells[0], cells[1], cells[2], cells[3]


def _property(tool: str, name: str, what: str, value: str, source: str) -> Reading:
    origin = f" ({source})" if source not in ("-", "") else ""
    return Reading(what=what, value=value, path=f"{tool} get {what} {name}{origin}")


def _pool(command: str, output: str) -> Pool | None:
    head, _, config = output.partition("\nconfig:")
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.split("\n"))}
    name = fields.get("pool")
    if not name:
        return None
    lines = [match for line in config.split("\n") if (match := _STATUS.match(line)) and match[2] != "NAME"]
    top, vdevs = _tree(lines)
    trouble = list(top.trouble(command)) if top is not None else []
    state = fields.get("state", "")
    if state and state not in _HEALTHY and not trouble:
        trouble.append(Reading(what="state", value=state, path=command))
    # the scan's further lines are indented; only its first says what goes on
    if "in progress" in fields.get("scan", ""):
        trouble.append(Reading(what="scan", value=fields["scan"].partition(" since")[0], path=command))
    return Pool(name, command, vdevs, tuple(trouble))


def _tree(lines: list[re.Match[str]]) -> tuple[Vdev | None, tuple[Vdev, ...]]:
    """The pool's own line and its vdevs. Sections (logs, cache …) stand at the depth of the pool."""
    top: Vdev | None = None
    vdevs: list[Vdev] = []
    role: str | None = None
    for match in lines:
        depth = len(match[1]) // 2
        if depth == 0 and match[2] in _SECTIONS and not match[3]:
            role = _SECTIONS[match[2]]
            continue
        counts = [count for count in match.group(4, 5, 6) if count not in (None, "0", "-")]
        errors = "read {} write {} checksum {}".format(*match.group(4, 5, 6)) if counts else ""
        vdev = Vdev(match[2], match[3] or "", role, errors)
        if depth == 0:
            top = vdev
        elif depth == 1 or not vdevs:
            vdevs.append(vdev)
        else:
            vdevs[-1] = _with_child(vdevs[-1], vdev, depth - 1)
    return top, tuple(vdevs)


def _with_child(parent: Vdev, child: Vdev, depth: int) -> Vdev:
    if depth <= 1 or not parent.children:
        return parent._replace(children=(*parent.children, child))
    last = _with_child(parent.children[-1], child, depth - 1)
    return parent._replace(children=(*parent.children[:-1], last))
