"""Mounted filesystems as the topmost layer of a stack: what they stand on, and what they do with a sync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fstui.inventory import fstypes, mounts
from fstui.inventory.blockdevices import BlockDevices
from fstui.inventory.files import Tree
from fstui.inventory.mounts import MOUNTINFO, Mount
from fstui.model import Node, Reading, SyncPath

_BARRIERS_OFF = frozenset({"nobarrier", "barrier=0", "barrier=none", "barrier=off"})
_JOURNALLED = frozenset({"ext3", "ext4"})
_EXT = frozenset({"ext2", "ext3", "ext4"})
_BTRFS = "/sys/fs/btrfs"
_ZFS_NOCACHEFLUSH = "/sys/module/zfs/parameters/zfs_nocacheflush"


class Bottom(NamedTuple):
    """What a filesystem that stands on no block device stands on: memory, another machine, a pool."""

    node: Node
    identity: str


class Filesystems:
    """The filesystems of one survey."""

    def __init__(self, tree: Tree, devices: BlockDevices, by_mount_point: Mapping[str, Mount]) -> None:
        self._tree = tree
        self._devices = devices
        self._by_mount_point = by_mount_point
        self.bottoms: dict[str, Bottom] = {}
        """Layers without a block device, by id, as they were met."""
        self._btrfs: dict[str, str] | None = None

    def node(self, mount: Mount) -> Node:
        """The filesystem's own node. ``below`` holds kernel names or ``mount:…``, ``memory:…``, ``remote:…``, ``pool:…``."""
        below, own = self._below(mount)
        readings = own + self._readings(mount)
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
            return (self._bottom(Node(id=f"memory:{fstype}", layer="memory", kind=fstype, name="memory", sync="stops",
                                      because="kept in memory")),), ()  # fmt: skip
        if fstypes.is_remote(fstype):
            return self._remote(mount), ()
        if fstype == "zfs":
            pool = mount.source.partition("/")[0]
            return (self._bottom(Node(id=f"pool:{pool}", layer="pool", kind="zfs", name=pool)),), ()
        if fstype == "overlay":
            return self._overlay(mount)
        if fstype == "btrfs":
            return self._btrfs_members(mount), ()
        name = self._devices.name_of(mount.device) or self._devices.name_at(mount.source)
        extra = self._extra(mount) if fstype == "xfs" else ()
        others = tuple(device for reading in extra if (device := self._devices.name_at(reading.value)))
        return tuple(dict.fromkeys(((name,) if name else ()) + others)), extra

    def _bottom(self, node: Node) -> str:
        if node.id not in self.bottoms:
            self.bottoms[node.id] = Bottom(node, f"{node.kind} {node.name}")
        return node.id

    def _remote(self, mount: Mount) -> tuple[str, ...]:
        fuse = mount.fstype.startswith("fuse")
        device = self._devices.name_of(mount.device) if mount.fstype == "fuseblk" else None
        name = mount.source or mount.fstype
        return (
            self._bottom(
                Node(
                    id=f"remote:{name}",
                    layer="remote",
                    kind=mount.fstype,
                    name=name,
                    below=(device,) if device else (),
                    because="a program of the user answers" if fuse else "the server answers, out of sight from here",
                )
            ),
        )

    def _overlay(self, mount: Mount) -> tuple[tuple[str, ...], tuple[Reading, ...]]:
        upper = mount.option("upperdir")
        if upper is None:
            return (), ()
        below = mounts.holder(upper, self._by_mount_point) if upper.startswith("/") else None
        # in a container the upper directory is named as the host sees it, and seems to lie on the overlay itself
        seen = below is not None and below.mount_point != mount.mount_point
        reading = Reading(what="upperdir", value=upper, path=MOUNTINFO)
        return (f"mount:{below.mount_point}",) if seen and below else (), (reading,)

    def _btrfs_members(self, mount: Mount) -> tuple[str, ...]:
        """mountinfo names one member and an anonymous number; sysfs names them all."""
        if self._btrfs is None:
            self._btrfs = {
                device: uuid
                for uuid in self._tree.names(_BTRFS)
                for device in self._tree.names(f"{_BTRFS}/{uuid}/devices")
            }
        name = self._devices.name_at(mount.source)
        if name is None:
            return ()
        uuid = self._btrfs.get(name)
        return self._tree.names(f"{_BTRFS}/{uuid}/devices") if uuid else (name,)

    def _extra(self, mount: Mount) -> tuple[Reading, ...]:
        """XFS keeps its log, or its real-time data, on devices of their own where these options say so."""
        found = ((what, mount.option(what)) for what in ("logdev", "rtdev"))
        return tuple(Reading(what=what, value=value, path=MOUNTINFO) for what, value in found if value)

    def _readings(self, mount: Mount) -> tuple[Reading, ...]:
        options = mount.super_options
        found: list[Reading] = []
        if mount.fstype in _EXT:
            found += self._ext(mount)
        elif _BARRIERS_OFF.intersection(options):
            found.append(Reading(what="barrier", value="nobarrier", path=MOUNTINFO))
        elif mount.fstype in fstypes.FLUSHING:
            found.append(Reading(what="barrier", value="barrier", path=MOUNTINFO))
        elif mount.fstype == "zfs" and self._tree.word(_ZFS_NOCACHEFLUSH) == "1":
            found.append(Reading(what="barrier", value="nobarrier", path=_ZFS_NOCACHEFLUSH))
        if mount.fstype == "btrfs":
            found += self._btrfs_level(mount)
        if mount.fstype == "overlay" and (volatile := {"volatile", "fsync=volatile"}.intersection(options)):
            found.append(Reading(what="volatile", value=volatile.pop(), path=MOUNTINFO))
        for option in options:
            name, _, value = option.partition("=")
            if name in ("compress", "compress-force", "compress_algorithm"):
                found.append(Reading(what="compress", value=value or "yes", path=MOUNTINFO))
            elif name == "dax" and value not in ("never", "inode"):
                found.append(Reading(what="dax", value=value or "yes", path=MOUNTINFO))
        if mount.root != "/" and mount.fstype != "btrfs":
            found.append(Reading(what="root", value=mount.root, path=MOUNTINFO))
        return tuple(found)

    def _ext(self, mount: Mount) -> list[Reading]:
        """The kernel's full list of options stands in /proc/fs/ext4; mountinfo leaves the defaults out."""
        device = self._devices.name_of(mount.device) or ""
        path = f"/proc/fs/ext4/{device}/options"
        options = (self._tree.text(path) or "").split("\n") if device else [""]
        if options == [""]:
            path, options = MOUNTINFO, list(mount.super_options)
        off = bool(_BARRIERS_OFF.intersection(options))
        found = [Reading(what="barrier", value="nobarrier" if off else "barrier", path=path)]
        data = next((option.removeprefix("data=") for option in options if option.startswith("data=")), None)
        if data:
            found.append(Reading(what="data", value=data, path=path))
        journal = f"/proc/fs/jbd2/{device}-8"
        if device and self._tree.exists(journal):
            found.append(Reading(what="journal", value="yes", path=journal))
        elif device and path != MOUNTINFO and mount.fstype in _EXT:
            found.append(self._without_inner_journal(device, data, path))
        return found

    def _without_inner_journal(self, device: str, data: str | None, path: str) -> Reading:
        """No journal, or one on another device: then a thread still writes it, and a data mode is in force."""
        task = f"/sys/fs/ext4/{device}/journal_task"
        if (self._tree.integer(task) or 0) > 0:
            return Reading(what="journal", value="yes", path=task)
        return Reading(what="journal", value="yes" if data else "no", path=path)

    def _btrfs_level(self, mount: Mount) -> list[Reading]:
        uuid = (self._btrfs or {}).get(self._devices.name_at(mount.source) or "")
        if uuid is None:
            return []
        directory = f"{_BTRFS}/{uuid}/allocation/data"
        profiles = ("single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6")
        level = [name for name in self._tree.names(directory) if name in profiles]
        return [Reading(what="level", value=name, path=directory) for name in level[:1]]

    def _state(self, mount: Mount, below: tuple[str, ...]) -> tuple[Reading, ...]:
        trouble: list[Reading] = []
        if mount.fstype in _EXT and below:
            errors = self._tree.reading("errors_count", f"/sys/fs/ext4/{below[0]}/errors_count")
            if errors is not None and errors.value != "0":
                trouble.append(errors)
        if mount.fstype == "btrfs":
            trouble += self._btrfs_state(mount)
        for option in ("emergency_ro", "shutdown"):
            if option in mount.super_options:
                trouble.append(Reading(what="forced read-only", value=option, path=MOUNTINFO))
        forced = (
            "ro" in mount.super_options and "rw" in mount.options and not trouble_named(trouble, "forced read-only")
        )
        if forced and mount.fstype not in fstypes.READ_ONLY:
            trouble.append(Reading(what="forced read-only", value="mounted rw, now ro", path=MOUNTINFO))
        return tuple(trouble)

    def _btrfs_state(self, mount: Mount) -> list[Reading]:
        uuid = (self._btrfs or {}).get(self._devices.name_at(mount.source) or "")
        directory = f"{_BTRFS}/{uuid}/devinfo"
        trouble = []
        for member in self._tree.names(directory) if uuid else ():
            missing = self._tree.reading("missing", f"{directory}/{member}/missing")
            if missing is not None and missing.value == "1":
                trouble.append(missing)
            path = f"{directory}/{member}/error_stats"
            errors = [line for line in (self._tree.text(path) or "").split("\n") if _counts(line)]
            if errors:
                trouble.append(Reading(what="errors", value=", ".join(errors), path=path))
        return trouble


def trouble_named(trouble: list[Reading], what: str) -> bool:
    """One of the readings has that name."""
    return any(reading.what == what for reading in trouble)


def _counts(line: str) -> bool:
    """``write_errs 3``: a counter above zero."""
    _, _, number = line.partition(" ")
    return number.isdecimal() and int(number[:18]) > 0


def _sync(mount: Mount, readings: tuple[Reading, ...]) -> tuple[SyncPath, str]:
    values = {reading.what: reading.value for reading in readings}
    if values.get("barrier") == "nobarrier":
        return "stops", "nobarrier: no flush is sent"
    if "volatile" in values:
        return "stops", f"{values['volatile']}: every sync is left out"
    if mount.fstype in fstypes.MEMORY:
        return "stops", "kept in memory"
    if mount.fstype == "overlay":
        return (
            ("passes", "synced in the upper directory") if "upperdir" in values else ("unknown", "no upper directory")
        )
    if mount.fstype in fstypes.FLUSHING:
        return "passes", "a sync ends in a flush"
    return "unknown", ""
