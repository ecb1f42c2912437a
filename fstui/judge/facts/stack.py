"""The stack as the rules read it: each filesystem with the devices it writes to, level by level to the bottom.

A level ends where a device has no other block layer beneath it: at a disk, or at a loop device, whose backing file
belongs to the filesystem of the next level; so does a file that a pool stands on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.facts import DEVICE_UNSEEN
from fstui.storage.layers.handing import NOTHING, Handed, Member

_WITHIN = ("block", "pool")
_ALONE = ("journal", "log", "metadata")
"""Roles of which there is one: no leg beside it holds the same."""


class Level(NamedTuple):
    """A filesystem and what it stands on, down to the next filesystem or the bottom."""

    filesystem: Node
    path: tuple[Node, ...]
    """Every block layer and pool of this level, topmost first, the devices included."""
    devices: tuple[Node, ...]
    """Where the level ends: disks, or loop devices on a file of the next level."""

    @property
    def claims_fua(self) -> bool | None:
        """The device that the filesystem's data lies on says whether it supports FUA; None where it does not say, or
        files may lie on one of several that say different things. A journal's or a log's own device is not asked."""
        roles = self.filesystem.below_roles
        data = [name for name in self.filesystem.below if roles.get(name) not in _ALONE]
        told = {self._takes_fua(name) for name in data}
        return told.pop() if len(told) == 1 else None

    def _takes_fua(self, name: str) -> bool | None:
        """By its own word; a partition's is its disk's."""
        node = next((node for node in self.path if node.id == name), None)
        if node is None or node.fua is not None or len(node.below) != 1:
            return node.fua if node is not None else None
        return self._takes_fua(node.below[0])

    @property
    def reduces(self) -> bool:
        """A layer on the way compresses or removes duplicates: fewer bytes may honestly arrive."""
        return any(kind(node.kind).reduces for node in self.path)


class Aside(NamedTuple):
    """What a layer keeps on a device that its data does not lie on."""

    layer: Node
    role: str


class Stack:
    """The layers of a target. Without a target there are none."""

    def __init__(self, target: Target | None) -> None:
        self.nodes = target.stack if target else ()
        self.block_bytes = target.space.block_bytes if target and target.space else 0
        """Of the topmost filesystem; 0 where nobody asked."""
        self._total_bytes = target.space.total_bytes if target and target.space else 0

    @cached_property
    def lowest(self) -> tuple[Node, ...]:
        """The layers with nothing below."""
        return tuple(node for node in self.nodes if node.lowest)

    @cached_property
    def filesystems(self) -> tuple[Node, ...]:
        """Every filesystem of the stack, the backing files' too."""
        return tuple(node for node in self.nodes if node.layer == "filesystem")

    @cached_property
    def reaches_further(self) -> bool:
        """The topmost filesystem is larger than the devices that it is known to stand on, so it has others that nothing
        names: f2fs lists them in its superblock alone (mkfs.f2fs -c). Or any has one whose path leads nowhere here."""
        if any(node.reading(DEVICE_UNSEEN) for node in self.filesystems):
            return True
        below = self.children(self.nodes[0]) if self.nodes else ()
        sizes = [node.size_bytes for node in below if node.layer == "block"]
        known = [size for size in sizes if size is not None]
        return bool(known) and len(known) == len(below) and self._total_bytes > sum(known)

    @cached_property
    def in_memory(self) -> tuple[Node, ...]:
        """The layers that forget with the power: tmpfs, ramfs, zram, RAM disks, or what was declared to be memory.

        The lowest of them, where a filesystem in memory has a layer of its own beneath.
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
    def forgets(self) -> tuple[Node, ...]:
        """Those of them with which the data is gone: no copies, and no more of an array than it can do without."""
        return self.lost_with(self.in_memory)

    def lost_with(self, gone: tuple[Node, ...]) -> tuple[Node, ...]:
        """Those of them with which the data is gone."""
        return self._lost(self.nodes[0], gone) if self.nodes and gone else ()

    def aside(self, node: Node) -> Aside | None:
        """Whose journal, log or metadata lies there, where nothing else does; None where data does."""
        above = [each for each in self.nodes if node.id in each.below]
        roles = [(each, each.below_roles.get(node.id)) for each in above]
        found = [Aside(each, role) if role in _ALONE and role is not None else self.aside(each) for each, role in roles]
        return found[0] if found and all(found) else None

    def stale_with(self, late: tuple[Node, ...]) -> tuple[Node, ...]:
        """Those of them that come back after a power cut with old data which nothing above would correct."""
        late = tuple(node for node in late if node in self.written)
        if not late:
            return ()
        top = self.nodes[0]
        together = self._lost(top, late, back=True)
        return tuple(node for node in late if node in together or self._lost(top, (node,), back=True))

    @cached_property
    def written(self) -> tuple[Node, ...]:
        """The layers that writes and flushes may come to: not what is only read, as a snapshot's origin, and no spare
        or member that is out."""
        found: set[str] = set()
        pending = list(self.nodes[:1])
        while pending:
            node = pending.pop()
            if node.id not in found:
                found.add(node.id)
                handed = zip(self.children(node), self._handed(node), strict=True)
                pending.extend(child for child, each in handed if not each.only_read and each != NOTHING)
        return tuple(node for node in self.nodes if node.id in found)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels, topmost first. An overlay is not a level: its upper directory's filesystem is."""
        found: dict[str, Level] = {}
        pending = [real for top in self.nodes[:1] for real in self._real(top)]
        while pending:
            filesystem = pending.pop(0)
            if filesystem.id not in found:
                found[filesystem.id] = level = self._level(filesystem)
                pending.extend(node for device in level.devices for node in self.backing(device))
                pending.extend(self.beneath_pools(level))
        return tuple(found.values())

    def children(self, node: Node) -> tuple[Node, ...]:
        """The layers directly beneath. Ids that the stack does not hold are left out."""
        return tuple(other for other in self.nodes if other.id in node.below)

    def beneath(self, node: Node) -> tuple[Node, ...]:
        """Every layer beneath, each once, nearest first."""
        return self._beneath(node, self.children)

    def flushed_beneath(self, node: Node) -> tuple[Node, ...]:
        """Those of them that its flushes must come to: not what lies only under one that keeps each write by itself."""
        return self._beneath(node, lambda each: () if kind(each.kind).keeps_each_write(each) else self.children(each))

    def _beneath(self, node: Node, next_below: Callable[[Node], Sequence[Node]]) -> tuple[Node, ...]:
        found: dict[str, Node] = {}
        pending = list(self.children(node))
        while pending:
            below = pending.pop(0)
            if below.id not in found:
                found[below.id] = below
                pending.extend(next_below(below))
        return tuple(found.values())

    def backing(self, device: Node) -> tuple[Node, ...]:
        """The filesystems that hold the backing file of a loop device; nothing for a disk."""
        direct = self.children(device)
        holders = (below for node in direct if node.layer == "file" for below in self.children(node))
        return tuple(real for node in (*direct, *holders) for real in self._real(node))

    def beneath_pools(self, level: Level) -> tuple[Node, ...]:
        """The filesystems that hold the files which pools of that level stand on."""
        return tuple(real for node in level.path if node.layer == "pool" for real in self.backing(node))

    def gets_every_write(self, level: Level) -> bool:
        """No level above it leaves any out."""
        return not any(above.reduces for above in self.levels[: self.levels.index(level)])

    def drops_flushes(self, level: Level, device: Node) -> bool | None:
        """Whether the kernel drops flushes on the way to this device ("write through"); None where it does not say."""
        return self._drops.get((level.filesystem.id, device.id))

    def is_device(self, node: Node) -> bool:
        """A disk or a loop device, which have a cache of their own."""
        return node.layer == "block" and not any(below.layer in _WITHIN for below in self.children(node))

    def ends_in(self, device: str) -> bool:
        """A level ends there, whose flushes are counted."""
        return device in self._devices

    @cached_property
    def _devices(self) -> frozenset[str]:
        return frozenset(device.id for level in self.levels for device in level.devices)

    @cached_property
    def _drops(self) -> dict[tuple[str, str], bool | None]:
        return {
            (level.filesystem.id, device.id): self._is_dropped(level, device)
            for level in self.levels
            for device in level.devices
        }

    def _is_dropped(self, level: Level, device: Node) -> bool | None:
        above = (node for node in level.path if device.id in {node.id, *(below.id for below in self.beneath(node))})
        if any(node.write_cache == "write through" for node in above):
            return True
        return False if device.write_cache == "write back" else None

    def _lost(self, node: Node, gone: tuple[Node, ...], *, back: bool = False) -> tuple[Node, ...]:
        """Those of them by which what this one holds is lost; ``back``: they come back, with old data, and a copy
        that nobody waits for may be read as well."""
        if node in gone:
            return (node,)
        row = kind(node.kind)
        members = zip(self.children(node), self._handed(node), strict=True)
        holds = (child for child, each in members if each.bytes != "never" or (back and each.flushes != "never"))
        roles = ((child, node.below_roles.get(child.id)) for child in holds)
        holders = [(child, role) for child, role in roles if role not in row.dispensable]
        alone, copies = ([child for child, role in holders if (role in _ALONE) is one] for one in (True, False))
        without = [found for child in alone if (found := self._lost(child, gone, back=back))]
        lost = {child.id: found for child in copies if (found := self._lost(child, gone, back=back))}
        ids = [child.id for child in copies]
        too_many = len(lost) > row.corrects(node, len(ids)) if back else row.loses(node, ids, lost.keys())
        return tuple(each for found in (*without, *(lost.values() if too_many else ())) for each in found)

    def _handed(self, node: Node) -> list[Handed]:
        """What each of the layers directly beneath gets."""
        roles = {child.id: node.below_roles.get(child.id) for child in self.children(node)}
        beside, hands = tuple(roles.values()), kind(node.kind).hands
        return [hands(node, Member(name, role), beside, self.nodes[0]) for name, role in roles.items()]

    def _real(self, node: Node) -> Iterator[Node]:
        if kind(node.kind).over_filesystem:
            for below in self.children(node):
                yield from self._real(below)
        elif node.layer in {"filesystem", "memory", "remote"}:
            yield node

    def _level(self, filesystem: Node) -> Level:
        path: dict[str, Node] = {}
        devices: dict[str, Node] = {}
        pending = list(self.children(filesystem))
        while pending:
            node = pending.pop(0)
            if node.layer not in _WITHIN or node.id in path:
                continue
            path[node.id] = node
            within = [below for below in self.children(node) if below.layer in _WITHIN]
            pending.extend(within)
            if not within and node.layer == "block":
                devices[node.id] = node
        return Level(filesystem, tuple(path.values()), tuple(devices.values()))
