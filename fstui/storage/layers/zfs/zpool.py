"""ZFS pools as layers: the pool, its vdevs, their disks and the role of each, as ``zpool status`` prints them.

A pool has ``ashift`` and the module's parameters. Vdevs are layers of pools too, of kind mirror, raidz …
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.claims import Claims, missing
from fstui.storage.layers.facts import word
from fstui.storage.layers.forwarding import ALL, AT_TIMES, FLUSHES_ONLY, INTENT_LOG, Forwarded, Member, by_role
from fstui.storage.layers.kinds import LayerKind, kind
from fstui.storage.layers.readers import Role, Sources, without_none
from fstui.storage.layers.stacked.loop import file_layer
from fstui.storage.tree import Tree

PARAMETERS = "/sys/module/zfs/parameters"
GROUPS = ("mirror", "raidz", "draid", "replacing", "spare", "indirect")
_SECTIONS = {"logs": "slog", "cache": "l2arc", "spares": "spare", "special": "special", "dedup": "special"}
_HEALTHY = frozenset({"ONLINE", "AVAIL", "INUSE"})
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
        return next((kind for kind in GROUPS if self.name.startswith(kind)), None)

    def trouble(self, path: str) -> tuple[Reading, ...]:
        found = []
        if self.state and self.state not in _HEALTHY:
            found.append(Reading(what="state", value=self.state, path=path))
        if self.errors:
            found.append(Reading(what="errors", value=self.errors, path=path))
        return tuple(found)


class Status(NamedTuple):
    name: str
    path: str
    vdevs: tuple[Vdev, ...]
    state: tuple[Reading, ...]


def pool_statuses(claims: Claims) -> Mapping[str, Status]:
    found = {}
    for command, answer in claims.items():
        if command.startswith("zpool status ") and answer.error is None:
            pool = _pool(command, answer.output)
            if pool is not None:
                found[pool.name] = pool
    return found


def _pool(command: str, output: str) -> Status | None:
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
    return Status(name, command, vdevs, tuple(trouble))


def _tree(lines: list[re.Match[str]]) -> tuple[Vdev | None, tuple[Vdev, ...]]:
    """Return the pool's own line and its vdevs. Sections (logs, cache …) have the same depth as the pool."""
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


class Pool(NamedTuple):
    layers: tuple[Node, ...]
    """The pool itself, then every vdev that is no block device."""
    roles: tuple[Role, ...] = ()


class Pools:
    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._statuses = pool_statuses(sources.claims)
        self._properties = properties(sources.claims)
        self._parameters = parameters(sources.tree)
        self._read: dict[str, Pool] = {}

    def pool(self, name: str) -> Pool:
        if name not in self._read:
            status = self._statuses.get(name)
            self._read[name] = self._unknown(name) if status is None else self._known_pool(status)
        return self._read[name]

    def _unknown(self, name: str) -> Pool:
        reading = missing("the pool's devices", [("zpool", "status", "-L", "-P", name)], self._sources.claims)
        return Pool((self._layer(name, (), (reading,), (), "only zpool status reports its devices"),))

    def _known_pool(self, status: Status) -> Pool:
        members = Members(self._sources, status)
        striped = sum(vdev.role is None for vdev in status.vdevs) > 1
        below = tuple(members.add(vdev, vdev.role or ("stripe" if striped else None)) for vdev in status.vdevs)
        log = any(vdev.role == "slog" for vdev in status.vdevs)
        where = "on a device of its own (SLOG)" if log else "on the pool's own disks"
        pool = self._layer(status.name, below, (), status.state, f"the intent log is {where}")
        return Pool((pool, *members.layers), tuple(members.roles))

    def _layer(
        self, name: str, below: tuple[str, ...], more: tuple[Reading, ...], state: tuple[Reading, ...], because: str
    ) -> Node:
        dropped = next((reading for reading in self._parameters if reading.value == "1"), None)
        sync: SyncPath = "stops" if dropped is not None else "passes" if below else "unknown"
        return kind("zpool").node(
            f"pool:{name}",
            name,
            below=below,
            sync=sync,
            because=f"{dropped.what}=1" if dropped is not None else because,
            state=state,
            readings=(*self._properties.get(name, ()), *self._parameters, *more),
        )


class Members:
    """The vdevs of one pool, gathered from the top."""

    def __init__(self, sources: Sources, status: Status) -> None:
        self._sources = sources
        self._status = status
        self.layers: list[Node] = []
        """Those that are no block devices."""
        self.roles: list[Role] = []

    def add(self, vdev: Vdev, role: str | None) -> str:
        """Return the id of a vdev's layer. A group, a file and a missing disk get a layer of their own."""
        device = self._sources.names.at(vdev.name)
        layer = self._layer(vdev, role) if device is None else None
        node_id = layer.id if layer is not None else str(device)
        if layer is not None:
            self.layers.append(layer)
        if role is not None:
            self.roles.append((node_id, Reading(what="role", value=role, path=self._status.path)))
        return node_id

    def _layer(self, vdev: Vdev, role: str | None) -> Node:
        if vdev.group is None and vdev.name.startswith("/") and not vdev.name.startswith("/dev/"):
            return file_layer(self._sources, vdev.name)
        within = role if role not in (None, "stripe") else "mirror leg" if vdev.group == "mirror" else "stripe"
        below = tuple(self.add(child, within) for child in vdev.children)
        return kind(vdev.group or "disk").node(
            f"vdev:{self._status.name}/{vdev.name}",
            vdev.name,
            layer="pool",
            below=below,
            sync="passes" if below else "unknown",
            because="a flush goes to every disk" if below else "this disk is not here",
            state=tuple(self._trouble(vdev)),
        )

    def _trouble(self, vdev: Vdev) -> Iterator[Reading]:
        yield from vdev.trouble(self._status.path)
        for child in vdev.children:
            for reading in child.trouble(self._status.path):
                yield Reading(what=f"{reading.what} of {child.name}", value=reading.value, path=reading.path)


def parameters(tree: Tree) -> tuple[Reading, ...]:
    """Return the parameters of the module that drop flushes of every pool, to the disks or to the log."""
    return without_none(tree.reading(name, f"{PARAMETERS}/{name}") for name in ("zfs_nocacheflush", "zil_nocacheflush"))


def properties(claims: Claims) -> Mapping[str, tuple[Reading, ...]]:
    """Return the known properties by dataset or pool; the path of each names its source."""
    found: dict[str, list[Reading]] = {}
    for command, answer in claims.items():
        tool = command.partition(" ")[0]
        if " get " in command and tool in ("zfs", "zpool") and answer.error is None:
            for name, what, value, source in _rows(answer.output):
                found.setdefault(name, []).append(_property(tool, name, what, value, source))
    return {name: tuple(readings) for name, readings in found.items()}


def _rows(output: str) -> Iterator[tuple[str, str, str, str]]:
    for line in output.split("\n"):
        cells = line.split("\t")
        if len(cells) == 4:
            yield cells[0], cells[1], cells[2], cells[3]


def _property(tool: str, name: str, what: str, value: str, source: str) -> Reading:
    origin = f" ({source})" if source not in ("-", "") else ""
    return Reading(what=what, value=value, path=f"{tool} get {what} {name}{origin}")


class PoolKind(LayerKind, frozen=True, kw_only=True):
    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return the log device if the pool has one and the dataset writes to it."""
        logs = tuple(child for child in below if node.below_roles.get(child.id) == "slog")
        bias = word(filesystem, "logbias")
        past_the_log = bias is not None and bias.value == "throughput"
        return logs if logs and not past_the_log else super().waits_for(node, below, filesystem)

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """The vdevs that hold the intent log share its writes; the data follows with a transaction group.

        A pool without log devices has its log on its disks, or, since OpenZFS 2.4, on its special vdev.
        """
        bias = word(filesystem, "logbias")
        logs = "slog" in roles and not (bias is not None and bias.value == "throughput")
        role = None if member.role == "special" else member.role
        return by_role(role, INTENT_LOG if logs == (member.role == "slog") else AT_TIMES)


class VdevGroup(LayerKind, frozen=True, kw_only=True):
    """The row of a vdev of several disks, which each get every flush."""

    def tolerates(self, node: Node, members: int) -> int:
        """Return the number in the name: 2 for ``raidz2-0``; 1 for ``raidz`` and ``draid`` without a number."""
        if self.name == "mirror":
            return members - 1
        parity = re.match(r"d?raidz?(\d)", node.name)
        return int(parity[1]) if parity else int(self.name.startswith(("raidz", "draid")))

    def corrects(self, node: Node, members: int) -> int:
        """The checksum of every block is in the block that points to it (zpoolconcepts(7))."""
        return self.tolerates(node, members)

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        return ALL if self.name == "mirror" else FLUSHES_ONLY if self.name.startswith(("raidz", "draid")) else AT_TIMES


KINDS = (
    PoolKind(name="zpool", layer="pool", reduces=True, members_from_tools=True),
    *(VdevGroup(name=name, layer="pool", sync="passes", because="a flush goes to every disk") for name in GROUPS),
)
