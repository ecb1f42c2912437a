"""The stack as the rules read it: filesystems with the devices below them, level by level to the lowest devices.

A level ends at a disk or at a loop device. The filesystem with the backing file of the loop device is the next level.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from fstui.model.storage import Node, Reading, Target
from fstui.storage.layers import kind
from fstui.storage.layers.facts import DEVICE_UNSEEN
from fstui.storage.layers.forwarding import NOTHING, Forwarded
from fstui.storage.layers.kinds import forwarding_of

_LOG_ROLES = ("journal", "log")
_AUXILIARY_ROLES = (*_LOG_ROLES, "metadata")
"""Only one device has such a role, and no other device holds a copy of its data."""


class Level(NamedTuple):
    """A filesystem and the layers below it, down to the next filesystem or the lowest devices."""

    filesystem: Node
    path: tuple[Node, ...]
    """All block layers and pools of this level, topmost first, including the devices."""
    devices: tuple[Node, ...]
    """Disks, and loop devices whose backing file is on the next level."""

    @property
    def claims_fua(self) -> bool | None:
        """Whether the filesystem's data devices support FUA; None if FUA support is unknown or differs."""
        roles = self.filesystem.below_roles
        data_ids = [node_id for node_id in self.filesystem.below if roles.get(node_id) not in _AUXILIARY_ROLES]
        claims = {self._claims_fua(node_id) for node_id in data_ids}
        return claims.pop() if len(claims) == 1 else None

    def _claims_fua(self, node_id: str) -> bool | None:
        """Return whether a layer supports FUA. If that is unknown and one layer is below it, that layer decides."""
        node = next((node for node in self.path if node.id == node_id), None)
        if node is None:
            return None
        return self._claims_fua(node.below[0]) if node.fua is None and len(node.below) == 1 else node.fua

    @property
    def may_reduce_bytes(self) -> bool:
        """Whether the filesystem or a layer compresses or deduplicates, so that fewer bytes may arrive than written."""
        may_compress = kind(self.filesystem.kind).may_compress(self.filesystem)
        return may_compress or any(kind(node.kind).may_reduce_bytes for node in self.path)


class Stack:
    """The layers of a target; empty without a target."""

    def __init__(self, target: Target | None) -> None:
        self.nodes = target.stack if target else ()
        self.block_bytes = target.space.block_bytes if target and target.space else 0
        """Block size of the topmost filesystem; 0 if unknown."""

    @cached_property
    def lowest(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.lowest)

    @cached_property
    def filesystems(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.layer == "filesystem")

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels, topmost first. An overlay is replaced by the filesystem of its upper directory."""
        levels: dict[str, Level] = {}
        pending = [filesystem for top in self.nodes[:1] for filesystem in self._storing_filesystems(top)]
        while pending:
            filesystem = pending.pop(0)
            if filesystem.id not in levels:
                levels[filesystem.id] = level = self._level(filesystem)
                pending.extend(backing for device in level.devices for backing in self.backing_filesystems(device))
        return tuple(levels.values())

    @property
    def faults(self) -> tuple[tuple[Node, Reading], ...]:
        """What is degraded, broken or being moved, with its layer."""
        return tuple((node, state) for node in self.nodes for state in node.state)

    @property
    def has_unseen_devices(self) -> bool:
        """Whether a filesystem names a device whose path does not exist here."""
        return any(node.reading(DEVICE_UNSEEN) for node in self.filesystems)

    @cached_property
    def in_memory(self) -> tuple[Node, ...]:
        """The layers that lose their content in a power cut: tmpfs, zram, RAM disks, or disks declared as memory.

        If any of these layers is a lowest layer, only the lowest layers are returned.
        """
        volatile = tuple(
            node
            for node in self.nodes
            if node.layer == "memory"
            or kind(node.kind).in_memory
            or (node.lowest and node.medium is not None and node.medium.class_ == "memory")
        )
        return tuple(node for node in volatile if node.lowest) or volatile

    @cached_property
    def written_layers(self) -> tuple[Node, ...]:
        """The layers that writes and flushes may reach. Excludes origins of snapshots, spares and failed members."""
        return self._reached_layers(lambda forwarded: not forwarded.is_only_read)

    @cached_property
    def unknown_layers(self) -> tuple[Node, ...]:
        """The layers of which fstui does not know how they handle writes and flushes."""
        judged = (node for node in self.written_layers if node.layer not in {"memory", "remote"})
        return tuple(node for node in judged if not kind(node.kind).knows(node))

    @cached_property
    def holding_devices(self) -> tuple[Node, ...]:
        """The lowest layers that hold acknowledged data, now or after a write-back. Excludes spares and read caches."""
        return tuple(node for node in self._reached_layers(lambda _: True) if node.lowest)

    @cached_property
    def commit_devices(self) -> tuple[Node, ...]:
        """The lowest devices that a sync waits for, such as a log device; empty if they are not known."""

        def awaited(node: Node) -> Iterable[Node] | None:
            return kind(node.kind).waits_for(node, self.children(node), self.nodes[0])

        reached = walk(self.nodes[:1], lambda node: awaited(node) or ())
        if self.has_unseen_devices or any(awaited(node) is None for node in reached.values()):
            return ()
        return tuple(node for node in self.lowest if node.id in reached)

    def children(self, node: Node) -> tuple[Node, ...]:
        return tuple(child for child in self.nodes if child.id in node.below)

    def layers_to_flush(self, node: Node) -> tuple[Node, ...]:
        """Return the layers below ``node`` that must receive its flushes, nearest first.

        A layer that makes each write durable when it completes need not forward flushes.
        """

        def receivers(layer: Node) -> tuple[Node, ...]:
            return () if kind(layer.kind).is_each_write_durable(layer) else self.children(layer)

        return tuple(walk(self.children(node), receivers).values())

    def backing_filesystems(self, device: Node) -> tuple[Node, ...]:
        """Return the filesystems that hold the backing file of a loop device; empty for a disk."""
        direct = self.children(device)
        below_files = (below for node in direct if node.layer == "file" for below in self.children(node))
        return tuple(storing for node in (*direct, *below_files) for storing in self._storing_filesystems(node))

    def drops_flushes(self, level: Level, device: Node) -> bool | None:
        """Return whether a "write through" layer on the path makes the kernel drop flushes; None if this is unknown."""
        if device not in level.devices:
            return None
        on_path = (node for node in level.path if device.id in {node.id, *walk(self.children(node), self.children)})
        if any(node.write_cache == "write through" for node in on_path):
            return True
        return False if device.write_cache == "write back" else None

    def is_device(self, node: Node) -> bool:
        """Return whether a layer is a disk or a loop device. Both have a cache of their own."""
        return node.layer == "block" and not self._level_members(node)

    def ends_level(self, device: str) -> bool:
        return any(device == node.id for level in self.levels for node in level.devices)

    def layers_without_copy(self, lost: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the layers among ``lost`` whose data neither a copy nor parity can replace."""
        return self._fatal_layers(self.nodes[0], lost) if self.nodes and lost else ()

    def only_journals(self, nodes: tuple[Node, ...]) -> bool:
        """Return whether these layers hold only a journal or log of a filesystem or array."""

        def data_layers(node: Node) -> list[Node]:
            return [child for child in self.children(node) if node.below_roles.get(child.id) not in _LOG_ROLES]

        holding_data = walk(self.nodes[:1], data_layers)
        return not any(node.id in holding_data for node in nodes)

    def layers_without_checked_copy(self, stale: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the layers among ``stale`` whose old data, after a power cut, is not detected and repaired."""
        stale = tuple(node for node in stale if node in self.written_layers)
        if not stale:
            return ()
        top = self.nodes[0]
        fatal = self._fatal_layers(top, stale, is_stale=True)
        # if one stale layer is above another, ``fatal`` contains only the upper one: check each layer alone as well
        return tuple(node for node in stale if node in fatal or self._fatal_layers(top, (node,), is_stale=True))

    def _fatal_layers(self, node: Node, lost: tuple[Node, ...], *, is_stale: bool = False) -> tuple[Node, ...]:
        """Return the layers among ``lost`` that make ``node`` lose data.

        ``is_stale``: after a power cut, the lost layers return with old data. ``node`` may then read any of them, even
        a layer that no write waits for.
        """
        if node in lost:
            return (node,)
        layer_kind = kind(node.kind)
        needed = [
            child
            for child, forwarded in self._edges(node)
            if (forwarded.bytes != "never" or (is_stale and forwarded.flushes != "never"))
            and node.below_roles.get(child.id) not in layer_kind.dispensable_roles
        ]
        fatal = {child.id: self._fatal_layers(child, lost, is_stale=is_stale) for child in needed}
        single_ids = [child.id for child in needed if node.below_roles.get(child.id) in _AUXILIARY_ROLES]
        copy_ids = [child.id for child in needed if child.id not in single_ids]
        broken = [copy_id for copy_id in copy_ids if fatal[copy_id]]
        if is_stale:
            too_many = len(broken) > layer_kind.tolerated_stale_members(node, len(copy_ids))
        else:
            too_many = layer_kind.loses_data(node, copy_ids, broken)
        return tuple(layer for child_id in (*single_ids, *(broken if too_many else ())) for layer in fatal[child_id])

    def _reached_layers(self, follows: Callable[[Forwarded], bool]) -> tuple[Node, ...]:
        def followed(node: Node) -> list[Node]:
            return [child for child, forwarded in self._edges(node) if forwarded != NOTHING and follows(forwarded)]

        reached = walk(self.nodes[:1], followed)
        return tuple(node for node in self.nodes if node.id in reached)

    def _edges(self, node: Node) -> list[tuple[Node, Forwarded]]:
        """Return the layers directly below ``node``, and what it forwards to each."""
        return [(child, forwarding_of(node, child.id, self.nodes[0])) for child in self.children(node)]

    def _storing_filesystems(self, node: Node) -> Iterator[Node]:
        """Yield the filesystems that store the files of ``node``. An overlay stores its files in another filesystem."""
        if kind(node.kind).uses_directory:
            for below in self.children(node):
                yield from self._storing_filesystems(below)
        elif node.layer in {"filesystem", "memory", "remote"}:
            yield node

    def _level(self, filesystem: Node) -> Level:
        path = tuple(walk(self._level_members(filesystem), self._level_members).values())
        return Level(filesystem, path, tuple(filter(self.is_device, path)))

    def _level_members(self, node: Node) -> list[Node]:
        return [child for child in self.children(node) if child.layer in ("block", "pool")]


def walk(start: Iterable[Node], below: Callable[[Node], Iterable[Node]]) -> dict[str, Node]:
    """Return ``start`` and the layers reached from there, by id, nearest first."""
    reached: dict[str, Node] = {}
    pending = list(start)
    while pending:
        node = pending.pop(0)
        if node.id not in reached:
            reached[node.id] = node
            pending.extend(below(node))
    return reached
