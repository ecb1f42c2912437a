"""A target directory, the stack of layers below it, and what was read about each layer."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from fstui.model.base import Base

MediumClass = Literal[
    "hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000", "ssd", "ssd-plp", "optane",
    "raid-cache", "network", "memory", "unknown",
]  # fmt: skip

MediumCache = Literal["none", "volatile", "plp", "unknown"]

Layer = Literal["filesystem", "file", "block", "pool", "remote", "memory", "flash"]

SyncPath = Literal["passes", "stops", "unknown"]

MEDIA: tuple[MediumClass, ...] = get_args(MediumClass)

CACHES: tuple[MediumCache, ...] = get_args(MediumCache)


class Reading(Base, frozen=True, kw_only=True):
    """One fact: ``what`` it is, its ``value``, and the ``path`` of the file or the command it comes from."""

    what: str
    value: str
    path: str


class Medium(Base, frozen=True, kw_only=True):
    """The kind of a lowest device, as recognised or as declared by the user."""

    class_: MediumClass = msgspec.field(default="unknown", name="class")
    rpm: int | None = None
    write_cache: MediumCache = "unknown"
    ephemeral: bool | None = None
    """The data is lost when the cloud instance ends. Whether a sync is durable does not depend on this."""
    declared: bool = False
    reason: str = msgspec.field(default="", name="because")
    """Why the medium is of this class, with the source."""


class Node(Base, frozen=True, kw_only=True):
    """One layer of a stack.

    The module of a layer's family in ``fstui.storage.layers`` explains the names of its readings. If the path of a
    reading is a command line, a child process ran the command. Any layer may have the reading ``missing``: what could
    not be read, and why.
    """

    id: str
    """Kernel name of a block device (``sda1``), otherwise ``kind:name``: ``mount:/srv``, ``file:/x.img``."""
    layer: Layer
    kind: str
    """disk, partition, loop, dm-linear, dm-crypt, md, bcache, zram, ext4, xfs, btrfs, overlay, tmpfs, nfs4, …"""
    name: str
    """The usual name: ``data/queue`` for an LVM volume, the mount point for a filesystem."""
    below: tuple[str, ...] = ()
    """The ids of the layers directly below."""
    below_roles: dict[str, str] = {}
    """The role that each layer below has for this layer, if known. One device may have different roles for different
    layers. cache | origin | metadata | data | cow | log | realtime | journal | mirror leg | stripe | path | slog |
    special | l2arc | spare; ``cache`` is the fast device of a dm-cache, dm-writecache or bcache, ``origin`` the slow
    one."""
    lowest: bool = False
    model: str | None = None
    link: str | None = None
    """How the device is attached: sata, nvme, usb…"""
    rotational: bool | None = None
    write_cache: Literal["write back", "write through"] | None = None
    """The kernel's view, /sys/block/X/queue/write_cache."""
    fua: bool | None = None
    counted: bool = False
    """The kernel counts flushes of this layer (whole disks with iostats=1; not partitions, dm, md, zram)."""
    sync: SyncPath = "unknown"
    """Whether this layer passes a sync on to the layers below."""
    reason: str = msgspec.field(default="", name="because")
    """Why ``sync`` has this value."""
    medium: Medium | None = None
    state: tuple[Reading, ...] = ()
    """Current faults: degraded, resyncing, errors_count, forced read-only, offline."""
    readings: tuple[Reading, ...] = ()
    """The facts that the rules use."""
    size_bytes: int | None = None

    def reading(self, what: str) -> Reading | None:
        return next((reading for reading in self.readings if reading.what == what), None)

    def value(self, what: str) -> str | None:
        reading = self.reading(what)
        return reading.value if reading is not None else None


class Space(Base, frozen=True, kw_only=True):
    """Space on a filesystem that an ordinary user can still use, from statvfs(3)."""

    total_bytes: int
    free_bytes: int
    block_bytes: int = 0
    """The smallest unit of allocation and of writes through the page cache; 0: unknown."""

    @classmethod
    def from_statvfs(cls, total_bytes: int, free_bytes: int, block_bytes: int = 0) -> Space | None:
        """Return the space; None for a filesystem that reports no size (ramfs, many FUSE filesystems)."""
        return cls(total_bytes=total_bytes, free_bytes=free_bytes, block_bytes=block_bytes) if total_bytes else None


SIMULATED = "simulated:"
"""The identity of simulated storage begins with this word."""


class Target(Base, frozen=True, kw_only=True):
    """A directory on a mounted filesystem, and the layers below it down to the lowest devices."""

    path: str
    mount_point: str
    fstype: str
    source: str
    mount_options: tuple[str, ...] = ()
    identity: str = ""
    """Hash of serials, kinds, cache settings and mount options. Survived power cuts are counted per identity."""
    stack: tuple[Node, ...] = ()
    """From top to bottom; ``stack[0]`` is the filesystem itself."""
    space: Space | None = None
    """None if unknown, or if the filesystem reports no size."""
    silent_s: float | None = None
    """How long statvfs(3) has not returned, because the server or the disk hangs; None if it has returned."""
    pseudo: bool = False
    """The filesystem cannot hold files (proc, sysfs, cgroup …)."""

    @property
    def simulated(self) -> str | None:
        """The name of the simulated disk; None for real storage."""
        return self.identity.removeprefix(SIMULATED) if self.identity.startswith(SIMULATED) else None

    def node(self, node_id: str) -> Node:
        """Return the layer with that id. Raises KeyError if there is none."""
        for node in self.stack:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    @property
    def lowest(self) -> tuple[Node, ...]:
        return tuple(node for node in self.stack if node.lowest)

    @property
    def devices(self) -> tuple[Node, ...]:
        """The devices that receive the filesystem's own requests: its disks or loop device, not disks below a loop."""
        reached_ids, pending_ids = set[str](), {node.id for node in self.stack[:1]}
        while pending_ids:
            reached_ids |= pending_ids
            upper = [node for node in self.stack if node.id in pending_ids and node.kind != "loop"]
            pending_ids = {below for node in upper for below in node.below} - reached_ids
        return tuple(node for node in self.stack if node.id in reached_ids and (node.lowest or node.kind == "loop"))
