"""Mounted filesystems as the topmost layer of a stack: what they stand on, and what they do with a sync."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from fstui.inventory import ext, fstypes, mounts, remote
from fstui.inventory.blockdevices import BlockDevices
from fstui.inventory.btrfs import Btrfs
from fstui.inventory.claims import UNASKED, Claims
from fstui.inventory.files import Tree
from fstui.inventory.mounts import MOUNTINFO, Mount
from fstui.inventory.pools import Pools
from fstui.inventory.roles import Roles
from fstui.model import Node, Reading, SyncPath

_SYNC: Mapping[str, tuple[SyncPath, str]] = {
    **dict.fromkeys(fstypes.MEMORY, ("stops", "kept in memory")),
    **dict.fromkeys(fstypes.FLUSHING, ("passes", "a sync ends in a flush")),
}
_XFS_ROLES = {"logdev": "log", "rtdev": "realtime"}


class Filesystems:
    """The filesystems of one survey."""

    def __init__(
        self,
        tree: Tree,
        devices: BlockDevices,
        by_mount_point: Mapping[str, Mount],
        roles: Roles | None = None,
        claims: Claims = UNASKED,
    ) -> None:
        self._tree = tree
        self._devices = devices
        self._by_mount_point = by_mount_point
        self._roles = roles or Roles()
        self.bottoms: dict[str, Node] = {}
        """What filesystems without a block device stand on (memory, a server, a pool), by id, as they were met."""
        self._btrfs = Btrfs(tree)
        self._pools = Pools(tree, devices, self._roles, claims)

    def node(self, mount: Mount) -> Node:
        """The filesystem's own node. ``below`` holds ids of this survey: kernel names, ``mount:…``, ``memory:…`` …"""
        below, own = self._below(mount)
        readings = own + self._readings(mount, below[0] if below else "")
        sync, because = _sync(mount, readings)
        return Node(
            id=f"mount:{mount.mount_point}",
            layer="filesystem",
            kind=mount.fstype,
            name=mount.mount_point,
            below=below,
            sync=sync,
            because=because,
            state=self._state(mount, below),
            readings=readings,
        )

    def _below(self, mount: Mount) -> tuple[tuple[str, ...], tuple[Reading, ...]]:
        """Ids of the layers below, and the options that name them."""
        fstype = mount.fstype
        if fstype in fstypes.MEMORY:
            return self._bottom("memory", fstype, "memory", "kept in memory"), ()
        if fstypes.is_remote(fstype):
            fuse = fstype.startswith("fuse")
            because = "a program of a user answers" if fuse else "the server answers, out of sight from here"
            device = self._devices.name_of(mount.device) if fstype == "fuseblk" else None
            return self._bottom("remote", fstype, mount.source or fstype, because, device), ()
        if fstype == "zfs":
            nodes = self._pools.nodes(mount.source.partition("/")[0])
            self.bottoms.update({node.id: node for node in nodes})
            return (nodes[0].id,), ()
        if fstype == "overlay":
            return self._overlay(mount)
        members = self._members(mount)
        others, own = self._apart(mount, members)
        return tuple(dict.fromkeys((*members, *others))), own

    def _apart(self, mount: Mount, members: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Reading, ...]]:
        """Devices that hold the log, the real-time data or the journal, and nothing else of the filesystem."""
        if mount.fstype in ext.TYPES and members:
            journal = ext.journal_device(self._tree, members[0])
            if journal is None or journal not in self._devices.names:
                return (), ()
            path = f"/sys/fs/ext4/{members[0]}/journal_task"
            self._roles.add([(journal, Reading(what="role", value="journal", path=path))])
            return (journal,), ()
        options = self._extra(mount) if mount.fstype == "xfs" else ()
        named = [(name, option) for option in options if (name := self._devices.name_at(option.value)) is not None]
        self._roles.add(
            (name, Reading(what="role", value=_XFS_ROLES[option.what], path=MOUNTINFO)) for name, option in named
        )
        return tuple(name for name, _ in named), options

    def _members(self, mount: Mount) -> tuple[str, ...]:
        """The block devices that hold the filesystem's data."""
        name = self._devices.name_of(mount.device) or self._devices.name_at(mount.source)
        if mount.fstype == "btrfs" and name is not None:
            return self._btrfs.members(name)
        if mount.fstype == "bcachefs":  # all of them, with colons between
            return tuple(filter(None, map(self._devices.name_at, mount.source.split(":"))))
        return (name,) if name is not None else ()

    def _bottom(
        self, layer: Literal["memory", "remote"], kind: str, name: str, because: str, device: str | None = None
    ) -> tuple[str]:
        node_id = f"{layer}:{kind if layer == 'memory' else name}"
        if node_id not in self.bottoms:
            self.bottoms[node_id] = Node(
                id=node_id,
                layer=layer,
                kind=kind,
                name=name,
                below=(device,) if device is not None else (),
                sync="stops" if layer == "memory" else "unknown",
                because=because,
            )
        return (node_id,)

    def _overlay(self, mount: Mount) -> tuple[tuple[str, ...], tuple[Reading, ...]]:
        upper = mount.option("upperdir")
        if upper is None:
            return (), ()
        below = mounts.holder(upper, self._by_mount_point) if upper.startswith("/") else None
        # in a container the upper directory is named as the host sees it, and seems to lie on the overlay itself
        seen = below is not None and below.mount_point != mount.mount_point
        reading = Reading(what="upperdir", value=upper, path=MOUNTINFO)
        return (f"mount:{below.mount_point}",) if seen and below else (), (reading,)

    def _extra(self, mount: Mount) -> tuple[Reading, ...]:
        """XFS keeps its log, or its real-time data, on devices of their own where these options say so."""
        found = ((what, mount.option(what)) for what in ("logdev", "rtdev"))
        return tuple(Reading(what=what, value=value, path=MOUNTINFO) for what, value in found if value)

    def _readings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        found = [*self._barrier(mount, device)]
        if mount.fstype == "btrfs" and (level := self._btrfs.level(device)) is not None:
            found.append(level)
        if mount.fstype == "overlay":
            volatile = (option for option in mount.super_options if option in ("volatile", "fsync=volatile"))
            found += [Reading(what="volatile", value=option, path=MOUNTINFO) for option in volatile]
        for option in mount.super_options:
            name, _, value = option.partition("=")
            if name in ("compress", "compress-force", "compress_algorithm"):
                found.append(Reading(what="compress", value=value or "yes", path=MOUNTINFO))
            elif name == "dax" and value not in ("never", "inode"):
                found.append(Reading(what="dax", value=value or "yes", path=MOUNTINFO))
        if "sync" in mount.all_options and not fstypes.is_remote(mount.fstype):
            found.append(Reading(what="sync_option", value="sync", path=MOUNTINFO))
        if mount.fstype == "zfs":
            found += self._pools.dataset(mount.source)
        elif fstypes.is_remote(mount.fstype):
            found += remote.readings(mount, self._sent_over_nfs)
        if mount.root != "/":  # a bind mount, or a subvolume
            found.append(Reading(what="root", value=mount.root, path=MOUNTINFO))
        return tuple(found)

    @cached_property
    def _sent_over_nfs(self) -> Mapping[str, remote.NfsCounts]:
        return remote.nfs_counts(self._tree)

    def _barrier(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        if mount.fstype in ext.TYPES and device:
            return ext.readings(self._tree, device, mount.super_options)
        if ext.BARRIERS_OFF.intersection(mount.super_options):
            return (Reading(what="barrier", value="nobarrier", path=MOUNTINFO),)
        if mount.fstype == "zfs" and (dropped := self._pools.drops_flushes()) is not None:
            return (Reading(what="barrier", value="nobarrier", path=dropped.path),)
        known = mount.fstype in fstypes.FLUSHING
        return (Reading(what="barrier", value="barrier", path=MOUNTINFO),) if known else ()

    def _state(self, mount: Mount, below: tuple[str, ...]) -> tuple[Reading, ...]:
        device = below[0] if below else ""
        trouble: tuple[Reading, ...] = ()
        if mount.fstype in ext.TYPES:
            trouble = ext.trouble(self._tree, device)
        elif mount.fstype == "btrfs":
            trouble = self._btrfs.trouble(device)
        return trouble + _forced_read_only(mount)


def _forced_read_only(mount: Mount) -> tuple[Reading, ...]:
    """The kernel took the right to write away: after an error, or by a shutdown of the filesystem."""
    said = [option for option in mount.super_options if option in ("emergency_ro", "shutdown")]
    if not said and "ro" in mount.super_options and "rw" in mount.options and mount.fstype not in fstypes.READ_ONLY:
        said = ["mounted rw, now ro"]
    return tuple(Reading(what="forced read-only", value=value, path=MOUNTINFO) for value in said[:1])


def _sync(mount: Mount, readings: tuple[Reading, ...]) -> tuple[SyncPath, str]:
    values = {reading.what: reading.value for reading in readings}
    if values.get("barrier") == "nobarrier":
        return "stops", "nobarrier: no flush is sent"
    if "volatile" in values:
        return "stops", f"{values['volatile']}: every sync is left out"
    if mount.fstype == "overlay":
        return (
            ("passes", "synced in the upper directory") if "upperdir" in values else ("unknown", "no upper directory")
        )
    if mount.fstype == "zfs":
        return _sync_of_dataset(values.get("sync"))
    return _SYNC.get(mount.fstype) or remote.sync_of(mount.fstype, values)


def _sync_of_dataset(sync: str | None) -> tuple[SyncPath, str]:
    """zfsprops(7): disabled returns at once, standard and always commit the intent log."""
    if sync == "disabled":
        return "stops", "sync=disabled: every sync returns at once"
    return (
        ("passes", "a sync commits the intent log") if sync is not None else ("unknown", "its properties are not told")
    )
