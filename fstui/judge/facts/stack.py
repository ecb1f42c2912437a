"""The stack as the rules read it: filesystems with the devices below them, level by level to the lowest devices.

A level ends at a disk or at a loop device. The backing file of a loop device belongs to the filesystem of the next
level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.facts import DEVICE_UNSEEN
from fstui.storage.layers.forwarding import NOTHING, Forwarded, Member

_WITHIN_LEVEL = ("block", "pool")
_AUXILIARY = ("journal", "log", "metadata")
"""Roles with a single device and no copy."""


class Level(NamedTuple):
    """A filesystem and the layers below it, down to the next filesystem or the lowest devices."""

    filesystem: Node
    path: tuple[Node, ...]
    """All block layers and pools of this level, topmost first, including the devices."""
    devices: tuple[Node, ...]
    """Disks, and loop devices whose backing file is on the next level."""

    @property
    def claims_fua(self) -> bool | None:
        """Whether the filesystem's data devices support FUA; None if that is unknown or differs between them."""
        roles = self.filesystem.below_roles
        data = [name for name in self.filesystem.below if roles.get(name) not in _AUXILIARY]
        claims = {self._claims_fua(name) for name in data}
        return claims.pop() if len(claims) == 1 else None

    def _claims_fua(self, name: str) -> bool | None:
        """Return whether that device supports FUA, or the disk of a partition; None if unknown."""
        node = next((node for node in self.path if node.id == name), None)
        if node is None or node.fua is not None or len(node.below) != 1:
            return node.fua if node is not None else None
        return self._claims_fua(node.below[0])

    @property
    def may_reduce_bytes(self) -> bool:
        """Whether a layer compresses or deduplicates, so that fewer bytes than were written may arrive."""
        return any(kind(node.kind).may_reduce_bytes for node in self.path)


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
        found: dict[str, Level] = {}
        pending = [real for top in self.nodes[:1] for real in self._storing(top)]
        while pending:
            filesystem = pending.pop(0)
            if filesystem.id not in found:
                found[filesystem.id] = level = self._level(filesystem)
                pending.extend(node for device in level.devices for node in self.backing(device))
        return tuple(found.values())

    @property
    def has_unseen_devices(self) -> bool:
        """Whether a filesystem names a device whose path does not exist here."""
        return any(node.reading(DEVICE_UNSEEN) for node in self.filesystems)

    @cached_property
    def in_memory(self) -> tuple[Node, ...]:
        """The layers that lose their content at a power cut: tmpfs, zram, RAM disks, or disks declared as memory.

        If a filesystem in memory has a lowest layer of its own below, only that layer is returned.
        """
        found = tuple(
            node
            for node in self.nodes
            if node.layer == "memory"
            or kind(node.kind).in_memory
            or (node.lowest and node.medium is not None and node.medium.class_ == "memory")
        )
        return tuple(node for node in found if node.lowest) or found

    @cached_property
    def written(self) -> tuple[Node, ...]:
        """The layers that writes and flushes may reach: no origin of a snapshot, spare or failed member."""
        return self._reached(lambda forwarded: not forwarded.is_only_read)

    @cached_property
    def holding(self) -> tuple[Node, ...]:
        """The lowest layers that hold acknowledged data, now or after a write-back: no spares, no read caches."""
        return tuple(node for node in self._reached(lambda _: True) if node.lowest)

    @cached_property
    def commit_devices(self) -> tuple[Node, ...]:
        """The lowest devices that a sync waits for, such as a log device; empty if that is not known."""

        def waits(node: Node) -> Iterable[Node] | None:
            return kind(node.kind).waits_for(node, self.children(node), self.nodes[0])

        found = _walk(self.nodes[:1], lambda node: waits(node) or ())
        if any(waits(node) is None for node in found.values()):
            return ()
        return tuple(node for node in self.lowest if node.id in found)

    def children(self, node: Node) -> tuple[Node, ...]:
        """Return the layers directly below, without ids that the stack does not contain."""
        return tuple(other for other in self.nodes if other.id in node.below)

    def flushed_below(self, node: Node) -> tuple[Node, ...]:
        """Return the layers that must get a layer's flushes, nearest first. Below one that keeps each write, none."""

        def passes_to(layer: Node) -> tuple[Node, ...]:
            return () if kind(layer.kind).keeps_each_write(layer) else self.children(layer)

        return tuple(_walk(self.children(node), passes_to).values())

    def backing(self, device: Node) -> tuple[Node, ...]:
        """Return the filesystems that hold the backing file of a loop device; empty for a disk."""
        direct = self.children(device)
        holders = (below for node in direct if node.layer == "file" for below in self.children(node))
        return tuple(real for node in (*direct, *holders) for real in self._storing(node))

    def gets_every_write(self, level: Level) -> bool:
        return not any(above.may_reduce_bytes for above in self.levels[: self.levels.index(level)])

    def drops_flushes(self, level: Level, device: Node) -> bool | None:
        """Return whether a "write through" on the path to this device drops flushes; None if that is not known."""
        if device not in level.devices:
            return None
        above = (node for node in level.path if device.id in {node.id, *_walk(self.children(node), self.children)})
        if any(node.write_cache == "write through" for node in above):
            return True
        return False if device.write_cache == "write back" else None

    def is_device(self, node: Node) -> bool:
        """Return whether it is a disk or a loop device, which have a cache of their own."""
        return node.layer == "block" and not self._within(node)

    def ends_level(self, device: str) -> bool:
        return any(device == node.id for level in self.levels for node in level.devices)

    def without_copy(self, lost: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the layers among ``lost`` whose data neither a copy nor parity can replace."""
        return self._fatal(self.nodes[0], lost) if self.nodes and lost else ()

    def without_checked_copy(self, stale: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the layers among ``stale`` whose old data, after a power cut, no layer above detects and repairs."""
        stale = tuple(node for node in stale if node in self.written)
        if not stale:
            return ()
        top = self.nodes[0]
        together = self._fatal(top, stale, returns=True)  # without those below another stale layer
        return tuple(node for node in stale if node in together or self._fatal(top, (node,), returns=True))

    def _fatal(self, node: Node, lost: tuple[Node, ...], *, returns: bool = False) -> tuple[Node, ...]:
        """Return the layers among ``lost`` that make ``node`` lose data.

        ``returns``: after a power cut the lost layers return with old data. They may then be read, even those that no
        write waits for.
        """
        if node in lost:
            return (node,)
        row = kind(node.kind)
        members = zip(self.children(node), self._forwarded(node), strict=True)
        read = (child for child, each in members if each.bytes != "never" or (returns and each.flushes != "never"))
        roles = ((child, node.below_roles.get(child.id)) for child in read)
        needed = [(child, role) for child, role in roles if role not in row.dispensable_roles]
        single = [child for child, role in needed if role in _AUXILIARY]
        copies = [child for child, role in needed if role not in _AUXILIARY]
        found = [fatal for child in single if (fatal := self._fatal(child, lost, returns=returns))]
        broken = {child.id: fatal for child in copies if (fatal := self._fatal(child, lost, returns=returns))}
        ids = [child.id for child in copies]
        if returns:
            too_many = len(broken) > row.corrected_members(node, len(ids))
        else:
            too_many = row.loses_data(node, ids, broken.keys())
        return tuple(each for fatal in (*found, *(broken.values() if too_many else ())) for each in fatal)

    def _reached(self, follows: Callable[[Forwarded], bool]) -> tuple[Node, ...]:
        found = _walk(
            self.nodes[:1],
            lambda node: [
                child
                for child, each in zip(self.children(node), self._forwarded(node), strict=True)
                if each != NOTHING and follows(each)
            ],
        )
        return tuple(node for node in self.nodes if node.id in found)

    def _forwarded(self, node: Node) -> list[Forwarded]:
        roles = {child.id: node.below_roles.get(child.id) for child in self.children(node)}
        all_roles, forwards = tuple(roles.values()), kind(node.kind).forwards
        return [forwards(node, Member(name, role), all_roles, self.nodes[0]) for name, role in roles.items()]

    def _storing(self, node: Node) -> Iterator[Node]:
        """Yield the filesystems that store the files of this one: an overlay stores them in another."""
        if kind(node.kind).over_filesystem:
            for below in self.children(node):
                yield from self._storing(below)
        elif node.layer in {"filesystem", "memory", "remote"}:
            yield node

    def _level(self, filesystem: Node) -> Level:
        path = tuple(_walk(self._within(filesystem), self._within).values())
        return Level(filesystem, path, tuple(node for node in path if node.layer == "block" and not self._within(node)))

    def _within(self, node: Node) -> list[Node]:
        return [below for below in self.children(node) if below.layer in _WITHIN_LEVEL]


def _walk(start: Iterable[Node], below: Callable[[Node], Iterable[Node]]) -> dict[str, Node]:
    """Return the layers that are reached from these ones by id, nearest first, each once."""
    found: dict[str, Node] = {}
    pending = list(start)
    while pending:
        node = pending.pop(0)
        if node.id not in found:
            found[node.id] = node
            pending.extend(below(node))
    return found
