"""ZFS pools as layers: the pool, its vdevs, their disks and the role of each, as ``zpool status`` prints them.

Readings of a pool: ``ashift``, and the parameters of the kernel module that drop flushes. A vdev of several disks is a
layer of its own, of kind mirror, raidz …
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fstui.model.storage import Node, Reading
from fstui.storage.layers.forwarding import ALL, INTENT_LOG, SOME_WRITES, SOMETIMES, Forwarded, by_role
from fstui.storage.layers.kinds import LayerKind, kind
from fstui.storage.layers.readers import LayerDescription, Sources, without_none
from fstui.storage.layers.stacked.loop import file_layer
from fstui.storage.tool_output import ToolOutputs, missing_reading
from fstui.storage.tree import Tree

PARAMETERS = "/sys/module/zfs/parameters"
GROUPS = ("mirror", "raidz", "draid", "replacing", "spare", "indirect")
"""The beginnings of the names of vdevs that are neither a disk nor a file."""
_SECTIONS = {"logs": "slog", "cache": "l2arc", "spares": "spare", "special": "special", "dedup": "special"}
_HEALTHY = frozenset({"ONLINE", "AVAIL", "INUSE"})
_VDEV = r"\t(?P<indent> *)(?P<name>\S+)(?: +(?P<state>\S+))?(?: +(?P<read>\S+) +(?P<write>\S+) +(?P<checksum>\S+))?"
"""The beginning of a line of the list of vdevs, with three numbers of errors."""


class Vdev(NamedTuple):
    """One line of ``zpool status``: a disk, a file, or a group of disks and files."""

    name: str
    role: str | None
    """None: the vdev holds data."""
    trouble: tuple[Reading, ...]
    children: list[Vdev]

    @property
    def group(self) -> str | None:
        """``mirror``, ``raidz`` …; None for a disk or a file."""
        return next((kind for kind in GROUPS if self.name.startswith(kind)), None)


class PoolStatus(NamedTuple):
    name: str
    vdevs: list[Vdev]
    state: tuple[Reading, ...]


def _parse_status(command: str, output: str) -> PoolStatus:
    head, _, config = output.partition("\nconfig:")
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.split("\n"))}
    vdevs: list[Vdev] = []
    trouble: tuple[Reading, ...] = ()
    role: str | None = None
    for match in filter(None, (re.match(_VDEV, line) for line in config.split("\n"))):
        depth, name = len(match["indent"]) // 2, match["name"]
        if name == "NAME":
            continue
        if depth == 0 and name in _SECTIONS and not match["state"]:  # sections have the same depth as the pool itself
            role = _SECTIONS[name]
        elif depth == 0:  # the pool itself
            trouble = _trouble(match, command)
        else:
            # each level belongs to the last vdev of the level above
            siblings = vdevs
            for _ in range(depth - 1):
                siblings = siblings[-1].children if siblings else siblings
            siblings.append(Vdev(name, role, _trouble(match, command), []))
    state = fields.get("state", "")
    if state and state not in _HEALTHY and not trouble:
        trouble = (Reading(what="state", value=state, path=command),)
    # ``fields["scan"]`` has only the first line, which names the operation that is running
    if "in progress" in fields.get("scan", ""):
        trouble = (*trouble, Reading(what="scan", value=fields["scan"].partition(" since")[0], path=command))
    return PoolStatus(fields.get("pool", ""), vdevs, trouble)


def _trouble(match: re.Match[str], path: str) -> tuple[Reading, ...]:
    """Return the state of a vdev if it is not healthy, and its errors."""
    state, counts = match["state"], match.group("read", "write", "checksum")
    trouble = [Reading(what="state", value=state, path=path)] if state and state not in _HEALTHY else []
    if any(count not in (None, "0", "-") for count in counts):
        trouble.append(Reading(what="errors", value="read {} write {} checksum {}".format(*counts), path=path))
    return tuple(trouble)


class Pools:
    """The pools of one survey, each described once, and the properties of their datasets."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        outputs = sources.tool_outputs.items()
        statuses = [_parse_status(line, result.output) for line, result in outputs if line.startswith("zpool status ")]
        self._statuses = {status.name: status for status in statuses if status.name}
        self._descriptions: dict[str, LayerDescription] = {}
        self.properties = read_properties(sources.tool_outputs)

    def pool_below(self, dataset: str) -> LayerDescription:
        """Return the pool of a dataset or volume as the layer below it, with the vdevs that are not block devices."""
        name = dataset.partition("/")[0]
        if name not in self._descriptions:
            self._descriptions[name] = self._pool(name)
        return self._descriptions[name]

    def _pool(self, name: str) -> LayerDescription:
        status = self._statuses.get(name)
        members = Members(self._sources, name)
        parameters = flush_parameters(self._sources.tree)
        dropping_parameter = next((reading for reading in parameters if reading.value == "1"), None)
        readings = (*self.properties.get(name, ()), *parameters)
        if status is None:
            status = PoolStatus(name, [], ())
            reason = "only zpool status reports its devices"
            command = ("zpool", "status", "-L", "-P", name)
            readings += (missing_reading("the pool's devices", [command], self._sources.tool_outputs),)
        else:
            has_slog = any(vdev.role == "slog" for vdev in status.vdevs)
            reason = "the intent log is on " + ("a device of its own (SLOG)" if has_slog else "the pool's own disks")
        default_role = "stripe" if sum(vdev.role is None for vdev in status.vdevs) > 1 else None
        roles = {members.add(vdev, vdev.role or default_role): vdev.role or default_role for vdev in status.vdevs}
        below = tuple(roles)
        pool = kind("zpool").node(
            f"pool:{name}",
            name,
            below=below,
            below_roles={member: role for member, role in roles.items() if role is not None},
            sync="stops" if dropping_parameter else "passes" if below else "unknown",
            reason=f"{dropping_parameter.what}=1" if dropping_parameter else reason,
            state=status.state,
            readings=readings,
        )
        return LayerDescription((pool.id,), other_layers=(pool, *members.layers))


class Members:
    """Collects the layers of the vdevs of one pool."""

    def __init__(self, sources: Sources, pool: str) -> None:
        self._sources, self._pool = sources, pool
        self.layers: list[Node] = []
        """The layers that are not block devices: groups, files and missing disks."""

    def add(self, vdev: Vdev, role: str | None) -> str:
        """Return the id of a vdev's layer. A group, a file and a missing disk get a layer of their own."""
        node_id = self._sources.names.by_path(vdev.name)
        if node_id is None:
            layer = self._layer(vdev, role)
            self.layers.append(layer)
            node_id = layer.id
        return node_id

    def _layer(self, vdev: Vdev, role: str | None) -> Node:
        if vdev.name.startswith("/") and not vdev.name.startswith("/dev/"):
            return file_layer(vdev.name, self._sources.mount_of_path(vdev.name))
        # the disks of a mirrored log device are log devices too
        child_role = role if role not in (None, "stripe") else "mirror leg" if vdev.group == "mirror" else "stripe"
        below = tuple(self.add(child, child_role) for child in vdev.children)
        trouble_of_children = (
            Reading(what=f"{reading.what} of {child.name}", value=reading.value, path=reading.path)
            for child in vdev.children
            for reading in child.trouble
        )
        return kind(vdev.group or "disk").node(
            f"vdev:{self._pool}/{vdev.name}",
            vdev.name,
            layer="pool",
            below=below,
            below_roles=dict.fromkeys(below, child_role),
            sync="passes" if below else "unknown",
            reason="a flush goes to every disk" if below else "this disk is not here",
            state=(*vdev.trouble, *trouble_of_children),
        )


def flush_parameters(tree: Tree) -> tuple[Reading, ...]:
    """Return two parameters of the module. The value 1 drops the flushes of all pools, or of their intent logs."""
    return without_none(tree.reading(name, f"{PARAMETERS}/{name}") for name in ("zfs_nocacheflush", "zil_nocacheflush"))


def read_properties(tool_outputs: ToolOutputs) -> Mapping[str, tuple[Reading, ...]]:
    """Return the properties by dataset or pool. The path of a property ends with its origin, if it has one."""
    properties: dict[str, tuple[Reading, ...]] = {}
    for command, result in tool_outputs.items():
        tool = command.partition(" ")[0]
        if " get " not in command or tool not in ("zfs", "zpool"):
            continue
        for cells in (line.split("\t") for line in result.output.split("\n")):
            if len(cells) == 4:
                name, what, value, source = cells
                origin = f" ({source})" if source not in ("-", "") else ""
                reading = Reading(what=what, value=value, path=f"{tool} get {what} {name}{origin}")
                properties[name] = (*properties.get(name, ()), reading)
    return properties


def _writes_to_log(dataset: Node) -> bool:
    return dataset.value("logbias") != "throughput"


class PoolKind(LayerKind, frozen=True, kw_only=True):
    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return the log device if the pool has one and the dataset writes to it."""
        logs = tuple(child for child in below if node.below_roles.get(child.id) == "slog")
        return logs if logs and _writes_to_log(filesystem) else super().waits_for(node, below, filesystem)

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what is forwarded to a vdev. The vdevs with the intent log share its writes. The data follows later.

        If the dataset uses log devices, only these hold the log. Otherwise the disks share it; since OpenZFS 2.4, the
        special vdev has a part of it, too.
        """
        role = node.below_roles.get(member)
        log_is_on_slog = "slog" in node.below_roles.values() and _writes_to_log(filesystem)
        has_log = (role == "slog") == log_is_on_slog
        return by_role(None if role == "special" else role, INTENT_LOG if has_log else SOMETIMES)


class VdevGroup(LayerKind, frozen=True, kw_only=True):
    def tolerated_failures(self, node: Node, members: int) -> int:
        """Return the parity in the name: 2 for ``raidz2-0``; 1 for ``raidz`` and ``draid`` without a number."""
        if self.name == "mirror":
            return members - 1
        parity = re.match(r"d?raidz?(\d)", node.name)
        return int(parity[1]) if parity else int(self.name.startswith(("raidz", "draid")))

    def tolerated_stale_members(self, node: Node, members: int) -> int:
        """Return the number that may fail, because the checksum of a stale block differs from the one in its parent."""
        return self.tolerated_failures(node, members)

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        return ALL if self.name == "mirror" else SOME_WRITES if self.name.startswith(("raidz", "draid")) else SOMETIMES


KINDS = (
    PoolKind(name="zpool", layer="pool", may_reduce_bytes=True),
    *(VdevGroup(name=name, layer="pool", sync="passes", reason="a flush goes to every disk") for name in GROUPS),
)
