"""The stack as the rules read it: each filesystem with the devices it writes to, level by level to the bottom.

A level ends where a device has no other block layer beneath it: at a disk, or at a loop device, whose backing file
belongs to the filesystem of the next level.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.model import Node, Target

MEMORY_KINDS = frozenset({"tmpfs", "ramfs", "zram", "brd", "ram"})
_WITHIN = ("block", "pool")


class Level(NamedTuple):
    """A filesystem and what it stands on, down to the next filesystem or the bottom."""

    filesystem: Node
    path: tuple[Node, ...]
    """Every block layer and pool of this level, topmost first, the devices included."""
    devices: tuple[Node, ...]
    """Where the level ends: disks, or loop devices on a file of the next level."""

    @property
    def mirror(self) -> str | None:
        """``raid1`` or ``raid10`` where each leg receives every flush, else None."""
        for node in self.path:
            level = node.reading("level")
            if node.kind == "dm-mirror":
                return "raid1"
            if level and level.value in {"raid1", "raid10"}:
                return level.value
        return None


def children(target: Target, node: Node) -> tuple[Node, ...]:
    """The layers directly beneath. Ids that the stack does not hold are left out."""
    return tuple(other for other in target.stack if other.id in node.below)


def beneath(target: Target, node: Node) -> tuple[Node, ...]:
    """Every layer beneath, each once, nearest first."""
    found: dict[str, Node] = {}
    pending = list(children(target, node))
    while pending:
        below = pending.pop(0)
        if below.id not in found:
            found[below.id] = below
            pending.extend(children(target, below))
    return tuple(found.values())


def filesystems(target: Target) -> tuple[Node, ...]:
    """Every filesystem of the stack, the backing files' too."""
    return tuple(node for node in target.stack if node.layer == "filesystem")


def levels(target: Target) -> tuple[Level, ...]:
    """The levels of the stack, topmost first. An overlay is not a level: its upper directory's filesystem is."""
    if not target.stack:
        return ()
    found: dict[str, Level] = {}
    pending = list(_real(target, target.stack[0]))
    while pending:
        filesystem = pending.pop(0)
        if filesystem.id not in found:
            found[filesystem.id] = level = _level(target, filesystem)
            pending.extend(node for device in level.devices for node in backing(target, device))
    return tuple(found.values())


def backing(target: Target, device: Node) -> tuple[Node, ...]:
    """The filesystems that hold the backing file of a loop device; nothing for a disk."""
    direct = children(target, device)
    holders = (below for node in direct if node.layer == "file" for below in children(target, node))
    return tuple(real for node in (*direct, *holders) for real in _real(target, node))


def memory(target: Target) -> tuple[Node, ...]:
    """The layers that forget with the power: tmpfs, ramfs, zram, brd, or what was declared to be memory.

    The lowest of them, where a filesystem in memory has a layer of its own beneath.
    """
    found = tuple(
        node
        for node in target.stack
        if node.layer == "memory"
        or node.kind in MEMORY_KINDS
        or (node.lowest and node.medium is not None and node.medium.class_ == "memory")
    )
    return tuple(node for node in found if node.lowest) or found


def stripped(target: Target, level: Level, device: Node) -> bool | None:
    """Whether the kernel drops flushes on the way to this device ("write through"); None where it does not say."""
    if any(
        node.write_cache == "write through" for node in level.path if node == device or _leads_to(target, node, device)
    ):
        return True
    return False if device.write_cache == "write back" else None


def _leads_to(target: Target, node: Node, device: Node) -> bool:
    return any(below.id == device.id for below in beneath(target, node))


def _real(target: Target, node: Node) -> Iterator[Node]:
    if node.kind == "overlay":
        for below in children(target, node):
            yield from _real(target, below)
    elif node.layer in {"filesystem", "memory", "remote"}:
        yield node


def _level(target: Target, filesystem: Node) -> Level:
    path: dict[str, Node] = {}
    devices: dict[str, Node] = {}
    pending = list(children(target, filesystem))
    while pending:
        node = pending.pop(0)
        if node.layer not in _WITHIN or node.id in path:
            continue
        path[node.id] = node
        within = [below for below in children(target, node) if below.layer in _WITHIN]
        pending.extend(within)
        if not within and node.layer == "block":
            devices[node.id] = node
    return Level(filesystem, tuple(path.values()), tuple(devices.values()))
