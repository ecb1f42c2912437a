"""Survey the host: every mounted filesystem with the graph of layers below it, and the devices that none of them uses.

The survey only reads /proc, /sys and udev's database. It touches no filesystem, so it cannot hang on one. The caller
passes what only tools can report (``tool_output``).
"""

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from fstui.model.errors import Refused
from fstui.model.host import Host, Inventory
from fstui.model.storage import Medium, Node, Target
from fstui.proc import Mount
from fstui.storage import mounts
from fstui.storage.host import read_host
from fstui.storage.layers import kind
from fstui.storage.layers.devices import media
from fstui.storage.layers.facts import is_read_only
from fstui.storage.layers.kinds import group_by_kind, sync_of
from fstui.storage.layers.readers import Readers, Sources
from fstui.storage.nodes import device_node, filesystem_node, is_pseudo, types_without_device
from fstui.storage.process import read_process
from fstui.storage.tool_output import NO_OUTPUTS, ROOT_ONLY, Command, ToolOutputs
from fstui.storage.tree import BlockDeviceNames, Tree

MAX_DEPTH = 64
"""The maximum number of layers on top of each other. Deeper layers are left out."""


def survey(root: Path = Path("/"), tool_outputs: ToolOutputs = NO_OUTPUTS) -> Inventory:
    """Return all storage of this host. Leave out what cannot be read, and raise no error."""
    tree = Tree(root)
    host = read_host(root)
    graph = Graph(tree, host, tool_outputs)
    without_device = types_without_device(tree)
    targets = [_target(mount, graph, is_pseudo(mount, without_device)) for mount in graph.visible_mounts]
    targets.sort(key=lambda target: target.pseudo)
    return Inventory(
        host=host,
        process=read_process(root),
        filesystems=tuple(targets),
        unused=_unused(graph, targets),
    )


def target_of(directory: str, inventory: Inventory) -> Target:
    """Return the filesystem that holds an absolute, resolved directory. Raises Refused if there is none."""
    target = mounts.mount_of_path(directory, {target.mount_point: target for target in inventory.filesystems})
    if target is None:
        raise Refused(f"{directory}: no mounted filesystem holds it; give an absolute path")
    return msgspec.structs.replace(target, path=directory)


class Graph:
    """The layers of one survey. Each is built once and shared by all stacks that it is part of."""

    def __init__(self, tree: Tree, host: Host, tool_outputs: ToolOutputs) -> None:
        self.mounts = mounts.read_mounts(tree)
        self.visible_mounts = mounts.visible_mounts(self.mounts)
        self._by_mount_point = {mount.mount_point: mount for mount in self.visible_mounts}
        self._host = host
        mount_of_path = partial(mounts.mount_of_path, by_mount_point=self._by_mount_point)
        # of several mounts of a device, the first is used
        by_device = {mount.device: mount for mount in reversed(self.visible_mounts)}
        sources = Sources(tree, BlockDeviceNames(tree), tool_outputs, mount_of_path, by_device.get)
        self.readers = Readers(sources)
        self._other_layers: dict[str, Node] = {}
        """Layers that are neither mounts nor block devices, by the ids that readers gave them."""
        self._nodes: dict[str, Node] = {}
        self._identities: dict[str, str] = {}
        self._unfinished: set[str] = set()
        """Layers that are being built. If such a layer is requested again, it is below itself (a cycle)."""

    def stack(self, node_id: str) -> tuple[Node, ...]:
        """Return a layer and all layers below it, each once, topmost first."""
        self.node(node_id)
        layers: dict[str, Node] = {}
        to_visit = [node_id]
        while to_visit:
            next_id = to_visit.pop()
            if next_id not in layers and next_id in self._nodes:
                layers[next_id] = self._nodes[next_id]
                to_visit.extend(reversed(layers[next_id].below))
        return tuple(layers.values())

    def identity(self, stack: tuple[Node, ...], options: tuple[str, ...]) -> str:
        """Return a hash of the layers' identities and the mount options.

        Layers below a pool are left out, because only tools report them.
        """
        pools = [node for node in stack if node.layer == "pool"]
        members = {member.id for pool in pools for member in self.stack(pool.id)[1:]}
        parts = [self._identities.get(node.id, node.kind) for node in stack if node.id not in members]
        text = "\n".join([*parts, ",".join(options)])
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def node(self, node_id: str) -> Node | None:
        """Return the finished layer with that id; None if it is being built (a cycle) or is too deep."""
        if node_id in self._nodes:
            return self._nodes[node_id]
        if node_id in self._unfinished or len(self._unfinished) >= MAX_DEPTH:
            return None
        self._unfinished.add(node_id)
        draft = self._read_draft(node_id)
        below = tuple(node for name in draft.below if (node := self.node(name)) is not None)
        self._unfinished.discard(node_id)
        self._nodes[node_id] = self._finish(draft, below)
        return self._nodes[node_id]

    def _read_draft(self, node_id: str) -> Node:
        if node_id in self._other_layers:
            other = self._other_layers[node_id]
            # the identity of the loop device above already contains the path of the file
            self._identities[node_id] = other.kind if other.layer == "file" else f"{other.kind} {other.name}"
            return other
        if node_id.startswith("mount:"):
            layer = filesystem_node(self._by_mount_point[node_id.removeprefix("mount:")], self.readers)
        else:
            layer = device_node(node_id, self.readers)
        node, description = layer
        self._identities[node_id] = description.identity
        for other in description.other_layers:
            self._other_layers.setdefault(other.id, other)
        sync, reason = sync_of(node)
        return msgspec.structs.replace(node, sync=sync, reason=reason)

    def _finish(self, draft: Node, nodes_below: tuple[Node, ...]) -> Node:
        is_lowest = not nodes_below and draft.layer != "filesystem"
        node = msgspec.structs.replace(draft, below=tuple(node.id for node in nodes_below), lowest=is_lowest)
        if is_lowest:
            node = msgspec.structs.replace(node, medium=_medium(node, self._host))
        if node.sync != "stops" and (cache := self._cache_below(node)) is not None:
            reason = f"set to write through, but {cache.name} below reports write back"
            node = msgspec.structs.replace(node, sync="stops", reason=reason)
        return node

    def _cache_below(self, node: Node) -> Node | None:
        """Return a lower device whose volatile cache gets no flushes, because this layer is set to write through."""
        needs_no_flush = is_read_only(node) or kind(node.kind).is_each_write_durable(node)
        if node.layer != "block" or node.write_cache != "write through" or needs_no_flush:
            return None
        below = [lower for child in node.below for lower in self.stack(child)]
        # no flush is expected below a layer that makes each write durable at once
        durable_layers = (lower for lower in below if kind(lower.kind).is_each_write_durable(lower))
        durable_ids = {layer.id for lower in durable_layers for layer in self.stack(lower.id)}
        with_cache = (lower for lower in below if lower.write_cache == "write back")
        return next((lower for lower in with_cache if lower.id not in durable_ids), None)


def _medium(node: Node, host: Host) -> Medium:
    if node.layer in ("block", "memory"):
        return media.medium_of(node, host)
    return Medium(reason=node.reason or "the underlying device is not visible to this host")


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


def _unused(graph: Graph, targets: Sequence[Target]) -> tuple[Node, ...]:
    """Return the devices that no mounted filesystem uses. A partition is listed only if its disk is in use."""
    tree, names = graph.readers.sources.tree, graph.readers.sources.names
    used = {node.id for target in targets for node in target.stack}
    # no path reaches some mounts, but their devices are in use
    hidden = {names.by_number(mount.device) for mount in graph.mounts} - used
    used.update(node.id for name in hidden if name is not None for node in graph.stack(name))
    unused = []
    for name in sorted(names.all - used):
        disk_name = names.whole_device(name)
        # most loop devices have no file, and reading all of each would take more time than the rest of a survey
        is_listed = tree.integer(f"/sys/block/{name}/size") if name == disk_name else disk_name in used
        node = graph.node(name) if is_listed else None
        if node is None or not node.size_bytes:
            continue
        if name != disk_name or graph.readers.device_reader(name).worth_listing(node):
            unused.append(node)
    return tuple(unused)


def commands(inventory: Inventory, as_root: bool | None = None) -> tuple[Command, ...]:
    """Return the commands that report on this host's storage and change nothing. ``as_root``: also those for root."""
    as_root = os.geteuid() == 0 if as_root is None else as_root
    nodes = {node.id: node for target in inventory.filesystems for node in target.stack}
    nodes.update({node.id: node for node in inventory.unused})
    all_commands: dict[Command, None] = {}
    for name, nodes_of_kind in group_by_kind(nodes.values()).items():
        sources = [target.source for target in inventory.filesystems if target.fstype == name]
        all_commands |= dict.fromkeys(kind(name).commands(nodes_of_kind, sources))
    return tuple(command for command in all_commands if as_root or command[0] not in ROOT_ONLY)
