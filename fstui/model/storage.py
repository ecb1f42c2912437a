"""Storage: a target, the stack of layers beneath it, and what was read of each."""

from __future__ import annotations

from typing import Literal

import msgspec

from fstui.model.base import Base

MediumClass = Literal[
    "hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000", "ssd", "ssd-plp", "optane",
    "raid-cache", "network", "memory", "unknown",
]  # fmt: skip

MediumCache = Literal["none", "volatile", "plp", "unknown"]

Layer = Literal["filesystem", "file", "block", "pool", "remote", "memory", "flash"]

SyncPath = Literal["passes", "stops", "unknown"]

MEDIA: tuple[MediumClass, ...] = (
    "hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000", "ssd", "ssd-plp", "optane",
    "raid-cache", "network", "memory", "unknown",
)  # fmt: skip

CACHES: tuple[MediumCache, ...] = ("none", "volatile", "plp", "unknown")


class Reading(Base, frozen=True, kw_only=True):
    """One fact and where it was read: ``what`` it is, the ``value`` found, the ``path`` it stood in."""

    what: str
    value: str
    path: str


class Medium(Base, frozen=True, kw_only=True):
    """What a lowest device really is, or what the user declared it to be."""

    class_: MediumClass = msgspec.field(default="unknown", name="class")
    rpm: int | None = None
    write_cache: MediumCache = "unknown"
    ephemeral: bool | None = None
    """The data dies with the instance. A separate axis from honesty."""
    declared: bool = False
    because: str = ""


class Node(Base, frozen=True, kw_only=True):
    """One layer of a stack. ``below`` names the ids of the layers that it stands on.

    ``readings`` has what was read of it, under names that its family's module in ``fstui.storage.layers`` explains; a
    path that is a command line was run by a child process. Any layer may have ``role``, what it is to one above it, and
    where that was read (``below_roles`` says to which); and ``missing``, what could not be read, and why.
    """

    id: str
    """Kernel name of a block device (``sda1``), else ``kind:name``: ``mount:/srv``, ``file:/x.img``."""
    layer: Layer
    kind: str
    """disk, partition, loop, dm-linear, dm-crypt, md, bcache, zram, ext4, xfs, btrfs, overlay, tmpfs, nfs4, …"""
    name: str
    """What a person calls it: ``data/queue`` for an LVM volume, the mount point for a filesystem."""
    below: tuple[str, ...] = ()
    below_roles: dict[str, str] = {}
    """What each of them is to this layer, where that is known: one device may be a stripe of one and a leg of another.
    cache | origin | metadata | data | cow | log | realtime | journal | mirror leg | stripe | path | slog | special |
    l2arc | spare; ``cache`` is the fast device of a dm-cache, dm-writecache or bcache, ``origin`` the slow one."""
    lowest: bool = False
    model: str | None = None
    link: str | None = None
    rotational: bool | None = None
    write_cache: Literal["write back", "write through"] | None = None
    """The kernel's view, /sys/block/X/queue/write_cache."""
    fua: bool | None = None
    counted: bool = False
    """This layer counts flushes (whole disks with iostats=1; not partitions, dm, md, zram)."""
    sync: SyncPath = "unknown"
    because: str = ""
    medium: Medium | None = None
    state: tuple[Reading, ...] = ()
    """What is wrong with this layer now: degraded, resyncing, errors_count, forced read-only, offline."""
    readings: tuple[Reading, ...] = ()
    """What the rules rest on."""
    size_bytes: int | None = None

    def reading(self, what: str) -> Reading | None:
        """The first reading of that name, or None where nothing was read."""
        return next((reading for reading in self.readings if reading.what == what), None)


class Space(Base, frozen=True, kw_only=True):
    """Room on a filesystem, from statvfs(3): what an ordinary user may still take."""

    total_bytes: int
    free_bytes: int
    block_bytes: int = 0
    """What it allocates, and writes through the page cache, at the least; 0: not asked."""

    @classmethod
    def stated(cls, total_bytes: int, free_bytes: int, block_bytes: int = 0) -> Space | None:
        """None of a filesystem that states no size (ramfs, many in user space): it has what memory or a server has."""
        return cls(total_bytes=total_bytes, free_bytes=free_bytes, block_bytes=block_bytes) if total_bytes else None


class Target(Base, frozen=True, kw_only=True):
    """A directory on a mounted filesystem and the graph from there down to the lowest devices."""

    path: str
    mount_point: str
    fstype: str
    source: str
    mount_options: tuple[str, ...] = ()
    identity: str = ""
    """Hash of serials, stack kinds, cache settings and mount options: survived power cuts count per identity."""
    stack: tuple[Node, ...] = ()
    """Topmost first; ``stack[0]`` is the filesystem itself."""
    space: Space | None = None
    """None where nobody asked, or the filesystem states no size."""
    silent_s: float | None = None
    """The filesystem has not answered statvfs for so long: its server or disk hangs."""
    pseudo: bool = False
    """It cannot hold files (proc, sysfs, cgroup …)."""

    def node(self, node_id: str) -> Node:
        """The layer of that id. Raises KeyError where there is none."""
        for node in self.stack:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    @property
    def lowest(self) -> tuple[Node, ...]:
        """The devices at the bottom of the graph."""
        return tuple(node for node in self.stack if node.lowest)
