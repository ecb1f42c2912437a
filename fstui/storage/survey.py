"""The survey: every mounted filesystem with the graph of layers below it, and the devices without one.

It reads /proc, /sys and udev's database only. It touches no filesystem, so it cannot hang on one. The caller passes
what only tools can report (``claims``).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import msgspec

from fstui.model.errors import Refused
from fstui.model.host import Host, Inventory
from fstui.model.storage import Medium, Node, Target
from fstui.proc import Mount
from fstui.storage import mounts
from fstui.storage.claims import ROOT_ONLY, UNASKED, Claims, Command
from fstui.storage.host import read_host
from fstui.storage.layers import kind
from fstui.storage.layers.devices import media
from fstui.storage.layers.facts import is_read_only
from fstui.storage.layers.readers import Readers, Sources
from fstui.storage.nodes import block_device, is_pseudo, mounted, nodev, worth_listing
from fstui.storage.process import read_process
from fstui.storage.tree import BlockDeviceNames, Tree

MAX_DEPTH = 64
"""A stack with more layers on top of each other is cut off."""


def survey(root: Path = Path("/"), claims: Claims = UNASKED) -> Inventory:
    """Return everything that is here at this moment. Never raises: what cannot be read is left out."""
    tree = Tree(root)
    every = mounts.read_mounts(tree)
    shown = mounts.visible(every)
    host = read_host(root)
    graph = Graph(tree, shown, host, claims, mounts.covered(every, shown))
    for node_id in (*(f"mount:{mount.mount_point}" for mount in shown), *sorted(graph.readers.sources.names.all)):
        graph.node(node_id)
    without_device = nodev(tree)
    targets = [_target(mount, graph, is_pseudo(mount, without_device)) for mount in shown]
    targets.sort(key=lambda target: target.pseudo)
    return Inventory(
        host=host,
        process=read_process(root),
        filesystems=tuple(targets),
        unused=_unused(graph, every, targets),
    )


def target_of(directory: str, inventory: Inventory) -> Target:
    """Return the filesystem that holds an absolute, resolved directory. Raises Refused if there is none."""
    found = mounts.mount_of_path(directory, {target.mount_point: target for target in inventory.filesystems})
    if found is None:
        raise Refused(f"{directory}: no mounted filesystem holds it; give an absolute path")
    return msgspec.structs.replace(found, path=directory)


class Graph:
    """The layers of one survey. Each is built once and shared by all stacks that it is part of."""

    def __init__(
        self,
        tree: Tree,
        shown: tuple[Mount, ...],
        host: Host,
        claims: Claims,
        covered: tuple[Mount, ...],
    ) -> None:
        self._mounts = {mount.mount_point: mount for mount in (*covered, *shown)}
        self._host = host
        mount_of_path = partial(mounts.mount_of_path, by_mount_point={mount.mount_point: mount for mount in shown})
        mounted = partial(mounts.of_device, mounts=(*shown, *covered))
        sources = Sources(tree, BlockDeviceNames(tree), claims, mount_of_path, mounted)
        self.readers = Readers(sources)
        self._others: dict[str, Node] = {}
        """Layers that are neither mounts nor block devices, by the ids that readers gave them."""
        self._nodes: dict[str, Node] = {}
        self._identities: dict[str, str] = {}
        self._open: set[str] = set()
        """Layers that are being built. One that is met again is below itself: a cycle."""

    def stack(self, node_id: str) -> tuple[Node, ...]:
        """Return that layer and all those below it, each once, topmost first."""
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
        """Return a hash of serials, kinds, caches and mount options, or a pool's name and id; no answers of tools."""
        pools = [node for node in stack if kind(node.kind).members_from_tools]
        members = {below.id for node in pools for below in self.stack(node.id)[1:]}
        parts = [self._identities.get(node.id, node.kind) for node in stack if node.id not in members]
        text = "\n".join([*parts, ",".join(options)])
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def node(self, node_id: str) -> Node | None:
        """Return the finished layer of that id; None if it is being built (a cycle) or is too deep."""
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
        if node_id in self._others:
            other = self._others[node_id]
            # the identity of the loop device above has the path of the file already
            self._identities[node_id] = other.kind if other.layer == "file" else f"{other.kind} {other.name}"
            return other
        if node_id.startswith("mount:"):
            found = mounted(self._mounts[node_id.removeprefix("mount:")], self.readers)
        else:
            found = block_device(node_id, self.readers)
        node, self._identities[node_id], roles, others = found
        for other in others:
            self._others.setdefault(other.id, _with_roles(other, roles))
        return _with_roles(node, roles)

    def _finished(self, draft: Node, below: tuple[Node, ...]) -> Node:
        lowest = not below and draft.layer != "filesystem"
        node = msgspec.structs.replace(draft, below=tuple(node.id for node in below), lowest=lowest)
        if lowest:
            node = msgspec.structs.replace(node, medium=_medium(node, self._host))
        if node.sync != "stops" and (cache := self._cache_below(node)) is not None:
            because = f"set to write through, but {cache.name} below reports write back"
            node = msgspec.structs.replace(node, sync="stops", because=because)
        return node

    def _cache_below(self, node: Node) -> Node | None:
        """Return a device below whose volatile cache gets no flushes, because this layer is set to write through."""
        needs_no_flush = is_read_only(node) or kind(node.kind).keeps_each_write(node)
        if node.layer != "block" or node.write_cache != "write through" or needs_no_flush:
            return None
        below = [lower for child in node.below for lower in self.stack(child)]
        # no flush from above is expected below a layer that keeps each write
        keeping = (lower for lower in below if kind(lower.kind).keeps_each_write(lower))
        safe = {each.id for lower in keeping for each in self.stack(lower.id)}
        return next((lower for lower in below if lower.write_cache == "write back" and lower.id not in safe), None)


def _with_roles(node: Node, roles: Mapping[str, str]) -> Node:
    own = {node_id: role for node_id, role in roles.items() if node_id in node.below}
    return msgspec.structs.replace(node, below_roles=own)


def _medium(node: Node, host: Host) -> Medium:
    if node.layer == "memory":
        return Medium(class_="memory", write_cache="none", because="kept in memory")
    if node.layer == "block":
        return media.medium_of(node, host)
    return Medium(because=node.because or "what is below cannot be seen from here")


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


def _unused(graph: Graph, every: Sequence[Mount], targets: Sequence[Target]) -> tuple[Node, ...]:
    """Return the devices that no mounted filesystem uses. A partition is listed only if its disk is in use."""
    names = graph.readers.sources.names
    used = {node.id for target in targets for node in target.stack}
    # devices of covered mounts: no path reaches them, but they are in use
    hidden = {name for mount in every if (name := names.of(mount.device)) is not None and name not in used}
    used.update(node.id for name in hidden for node in graph.stack(name))
    found = []
    for name in sorted(names.all - used):
        whole = names.whole(name)
        node = graph.node(name) if name == whole or whole in used else None
        if node is not None and worth_listing(name, node, graph.readers):
            found.append(node)
    return tuple(found)


def commands(inventory: Inventory, root: bool | None = None) -> tuple[Command, ...]:
    """Return the commands that report on this host's storage, with those for root if ``root``. They change nothing."""
    root = os.geteuid() == 0 if root is None else root
    nodes = {node.id: node for target in inventory.filesystems for node in target.stack}
    nodes.update({node.id: node for node in inventory.unused})
    by_kind: dict[str, list[Node]] = {}
    for node in nodes.values():
        by_kind.setdefault(node.kind, []).append(node)
    sources: dict[str, list[str]] = {}
    for target in inventory.filesystems:
        sources.setdefault(target.fstype, []).append(target.source)
    every = (kind(name).questions(alike, sources.get(name, ())) for name, alike in by_kind.items())
    asked = dict.fromkeys(chain.from_iterable(every))
    return tuple(command for command in asked if root or command[0] not in ROOT_ONLY)
