"""What is here: every mounted filesystem with the graph of layers beneath it, and the devices without one.

Reads /proc, /sys and udev's database only. Nothing on a filesystem is touched, so nothing here can hang on one. What
only tools can tell (``claims``) is handed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fstui.inventory import fstypes, media, mounts
from fstui.inventory.blockdevices import BlockDevices
from fstui.inventory.claims import UNASKED, Claims
from fstui.inventory.files import Tree
from fstui.inventory.filesystems import Filesystems
from fstui.inventory.host import read_host
from fstui.inventory.mounts import Mount
from fstui.inventory.nvme import is_path
from fstui.inventory.process import read_process
from fstui.inventory.roles import Roles
from fstui.inventory.udev import Udev
from fstui.model import Host, Inventory, Medium, Node, Refused, Target

MAX_DEPTH = 64
"""Layers on top of each other; a deeper graph is cut, not followed."""


def survey(root: Path = Path("/"), claims: Claims = UNASKED) -> Inventory:
    """Everything that is here, at this moment. Never raises: what cannot be read is left out."""
    tree = Tree(root)
    udev = Udev(tree)
    devices = BlockDevices(tree, udev, claims)
    every = mounts.read_mounts(tree)
    shown = mounts.visible(every)
    host = read_host(root)
    graph = Graph(tree, devices, shown, host, claims)
    graph.build([*(f"mount:{mount.mount_point}" for mount in shown), *sorted(devices.names)])
    without_device = fstypes.nodev(tree)
    targets = [_target(mount, graph, fstypes.is_pseudo(mount, without_device)) for mount in shown]
    targets.sort(key=lambda target: target.pseudo)
    return Inventory(
        host=host,
        process=read_process(root),
        filesystems=tuple(targets),
        unused=_unused(devices, graph, every, targets),
    )


def target_of(directory: str, inventory: Inventory) -> Target:
    """The filesystem that holds an absolute, resolved directory, with ``path`` set to it.

    Pure: the longest mount point that begins the path, the last of equal ones. Raises Refused where there is none.
    """
    by_mount_point = {target.mount_point: target for target in inventory.filesystems}
    for candidate in (directory, *mounts.above(directory)):
        if candidate in by_mount_point:
            return msgspec.structs.replace(by_mount_point[candidate], path=directory)
    raise Refused(f"{directory}: no mounted filesystem holds it; give an absolute path")


class Graph:
    """The layers of one survey: each is built once and shared by all the stacks that it is part of."""

    def __init__(
        self, tree: Tree, devices: BlockDevices, shown: tuple[Mount, ...], host: Host, claims: Claims = UNASKED
    ) -> None:
        self._by_mount_point = {mount.mount_point: mount for mount in shown}
        self._devices = devices
        self._host = host
        self._roles = Roles()
        self._filesystems = Filesystems(tree, devices, self._by_mount_point, self._roles, claims)
        self._nodes: dict[str, Node] = {}
        self._identities: dict[str, str] = {}
        self._open: set[str] = set()

    def build(self, node_ids: Sequence[str]) -> None:
        """Build all of these layers and those below them; then each knows what it is to those above."""
        for node_id in node_ids:
            self.node(node_id)
        self._nodes = {node_id: self._roles.dressed(node) for node_id, node in self._nodes.items()}

    def stack(self, node_id: str) -> tuple[Node, ...]:
        """That layer and all those below it, each once, topmost first."""
        self.node(node_id)
        found: dict[str, Node] = {}
        waiting = [node_id]
        while waiting:
            current = waiting.pop()
            if current not in found and current in self._nodes:
                found[current] = self._nodes[current]
                waiting.extend(reversed(found[current].below))
        return tuple(found.values())

    def identity(self, stack: tuple[Node, ...], options: tuple[str, ...]) -> str:
        """A hash of serials, stack kinds, cache settings and mount options; of a pool, its name and id.

        What tools alone can tell has no part in it: whether they were asked does not make another storage of it.
        """
        pooled = {node.id for pool in stack if pool.kind == "zpool" for node in self.stack(pool.id)[1:]}
        parts = [self._identities.get(node.id, node.kind) for node in stack if node.id not in pooled]
        text = "\n".join([*parts, ",".join(options)])
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def node(self, node_id: str) -> Node | None:
        """The finished layer of that id; None where it is being built (a circle) or lies too deep."""
        if node_id in self._nodes:
            return self._nodes[node_id]
        if node_id in self._open or len(self._open) >= MAX_DEPTH:
            return None
        self._open.add(node_id)
        draft = self._draft(node_id)
        below = tuple(node for name in draft.below if (node := self.node(name)) is not None)
        self._open.discard(node_id)
        self._nodes[node_id] = self._finished(draft, below)
        return self._nodes[node_id]

    def _draft(self, node_id: str) -> Node:
        kind, _, name = node_id.partition(":")
        if kind == "mount":
            mount = self._by_mount_point[name]
            self._identities[node_id] = mount.fstype
            return self._filesystems.node(mount)
        if kind == "file":
            holder = mounts.holder(name, self._by_mount_point)
            below = (f"mount:{holder.mount_point}",) if holder is not None else ()
            return Node(id=node_id, layer="file", kind="backing-file", name=name, below=below, sync="passes",
                        because="an fsync of the file")  # fmt: skip
        if node_id in self._filesystems.bottoms:
            bottom = self._filesystems.bottoms[node_id]
            self._identities[node_id] = f"{bottom.kind} {bottom.name}"
            return bottom
        device = self._devices.device(node_id)
        self._identities[node_id] = device.identity
        self._roles.add(device.roles)
        return device.node

    def _finished(self, draft: Node, below: tuple[Node, ...]) -> Node:
        lowest = not below and draft.layer != "filesystem"
        node = msgspec.structs.replace(draft, below=tuple(node.id for node in below), lowest=lowest)
        if lowest:
            node = msgspec.structs.replace(node, medium=_medium(node, self._host))
        if node.sync != "stops" and (cache := self._cache_below(node)) is not None:
            because = f"write through here, while {cache.name} below says write back"
            node = msgspec.structs.replace(node, sync="stops", because=because)
        return node

    def _cache_below(self, node: Node) -> Node | None:
        """A device below with a volatile cache, where this one makes the kernel drop the flushes for it."""
        if node.layer != "block" or node.write_cache != "write through" or node.reading("ro") is not None:
            return None
        below = (lower for child in node.below for lower in self.stack(child))
        return next((lower for lower in below if lower.write_cache == "write back"), None)


def _medium(node: Node, host: Host) -> Medium:
    if node.layer == "memory":
        return Medium(class_="memory", write_cache="none", because="kept in memory")
    if node.layer == "block":
        return media.medium_of(node, host)
    return Medium(because=node.because or "what is beneath cannot be seen from here")


def _target(mount: Mount, graph: Graph, pseudo: bool) -> Target:
    stack = graph.stack(f"mount:{mount.mount_point}")
    options = mount.all_options
    return Target(
        path=mount.mount_point,
        mount_point=mount.mount_point,
        fstype=mount.fstype,
        source=mount.source,
        mount_options=options,
        identity=graph.identity(stack, options),
        stack=stack,
        pseudo=pseudo,
    )


def _unused(devices: BlockDevices, graph: Graph, every: Sequence[Mount], targets: Sequence[Target]) -> tuple[Node, ...]:
    """Devices that no mounted filesystem stands on. A partition is listed where its disk is in use otherwise."""
    used = {node.id for target in targets for node in target.stack}
    hidden = {name for mount in every if (name := devices.name_of(mount.device)) is not None and name not in used}
    used.update(node.id for name in hidden for node in graph.stack(name))
    found = []
    for name in sorted(devices.names - used):
        whole = devices.whole(name)
        if is_path(name) or (name != whole and whole not in used):
            continue
        node = graph.node(name)
        if node is None or not node.size_bytes or node.kind == "ram" or (node.kind == "loop" and not node.below):
            continue
        found.append(node)
    return tuple(found)
