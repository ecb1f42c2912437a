"""Mounted filesystems as the topmost layer of a stack, each by the reader of its kind."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fstui.model.storage import Node
from fstui.proc import Mount
from fstui.storage.layers.kinds import kind, sync_of
from fstui.storage.layers.readers import Readers, Role
from fstui.storage.layers.sources.files import Tree

_SINGLE_FILES = frozenset({"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})
"""What container engines mount one file each over: such a mount is no directory."""


class Mounted(NamedTuple):
    """A filesystem as a layer, with what it stands on that is no block device."""

    node: Node
    roles: tuple[Role, ...]
    others: tuple[Node, ...]


def mounted(mount: Mount, readers: Readers) -> Mounted:
    """The filesystem of that mount. ``below`` holds kernel names, ``mount:…``, and ids of ``others``."""
    read = readers.of_filesystem(mount.fstype).read(mount)
    node = Node(
        id=f"mount:{mount.mount_point}",
        layer="filesystem",
        kind=mount.fstype,
        name=mount.mount_point,
        below=read.below,
        state=read.state,
        readings=read.readings,
    )
    sync, because = sync_of(node)
    return Mounted(msgspec.structs.replace(node, sync=sync, because=because), read.roles, read.others)


def nodev(tree: Tree) -> frozenset[str]:
    """The filesystem types that need no device, from /proc/filesystems."""
    lines = (tree.text("/proc/filesystems") or "").split("\n")
    return frozenset(line.removeprefix("nodev").strip() for line in lines if line.startswith("nodev"))


def is_pseudo(mount: Mount, without_device: frozenset[str]) -> bool:
    """The mount cannot hold files: a window into the kernel, or a scaffold for such windows below /proc and /sys.

    An unknown type is one where the kernel needs no device for it and its source names neither a path nor a server.
    """
    row = kind(mount.fstype)
    if row.pseudo or mount.mount_point.startswith(("/proc/", "/sys/")) or mount.mount_point in _SINGLE_FILES:
        return True
    unknown = row.needs_device and mount.fstype in without_device
    return unknown and not any(mark in mount.source for mark in "/:\\")
