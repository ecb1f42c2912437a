"""How one survey reads layers: the readings that all block devices and filesystems have, and the base of all readers.

Readings of any filesystem: ``barrier`` (barrier | nobarrier), ``compress``, ``sync_option`` (sync), ``root`` (of a bind
mount or subvolume); for a file of the run ``sync_flag`` (S: chattr +S) and ``nocow_flag`` (C).

Readings of any block device: ``write_cache`` (write back | write through, the kernel's view), ``fua``, ``rotational``,
``iostats``.

A reader reads the layers of one kind. It lives as long as the survey, so a table or statistics file that covers all of
them is read once. Readings are shown and saved in the order in which they are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.claims import Claims
from fstui.storage.layers import kinds
from fstui.storage.layers.facts import UNTORN
from fstui.storage.layers.kinds import LayerKind, kind
from fstui.storage.tree import BlockDeviceNames, Tree

BARRIERS_OFF = frozenset({"nobarrier", "barrier=0", "barrier=none", "barrier=off"})
NO_DEVICE_MAJOR = "0"
"""The major number of filesystems without a block device."""


class Sources(NamedTuple):
    tree: Tree
    names: BlockDeviceNames
    claims: Claims
    mount_of_path: Callable[[str], Mount | None]
    mounted: Callable[[str], Mount | None]
    """Return a mount of the filesystem with that device number."""


class LayerDescription(NamedTuple):
    below: tuple[str, ...] = ()
    """Kernel names, ``mount:…`` of another filesystem, or ids of ``others``."""
    readings: tuple[Reading, ...] = ()
    state: tuple[Reading, ...] = ()
    roles: Mapping[str, str] = {}
    """By the ids of layers below: what the layer directly above uses them for."""
    others: tuple[Node, ...] = ()
    """Layers below that are neither devices nor filesystems: a file, memory, a server, a pool with its groups."""
    identity: str = ""
    """What distinguishes a device from others of its kind: serial, wwid, uuid. Every user can read it."""
    kind: str = ""
    """Empty: the reader's kind."""
    label: str = ""
    """Empty: the device's kernel name."""
    model: str | None = None
    link: str | None = None


class DeviceReader:
    """Reads block devices of one kind. The base class reads drivers that report nothing but the devices below."""

    def __init__(self, row: LayerKind, sources: Sources) -> None:
        self.row = row
        self.sources = sources
        self.tree = sources.tree

    def recognises(self, name: str) -> bool:
        """Return whether a device whose name fits this kind is of this kind."""
        return True

    def worth_listing(self, node: Node) -> bool:
        """Return whether to list the device although no filesystem is on it."""
        return self.row.listed_unused

    def read(self, name: str) -> LayerDescription:
        return LayerDescription(self.slaves(name), self.queue(name))

    def with_answers(self, node: Node, roles: Mapping[str, str]) -> tuple[Node, Mapping[str, str]]:
        """Return the device and the roles of the devices below, completed by what tools reported."""
        return node, roles

    def slaves(self, name: str) -> tuple[str, ...]:
        return self.tree.names(f"/sys/block/{name}/slaves")

    def queue(self, name: str) -> tuple[Reading, ...]:
        """Return what the kernel reports of every whole device (Documentation/ABI/stable/sysfs-block)."""
        files = ("write_cache", "fua", "rotational", "iostats")
        readings = [self.tree.reading(file, f"/sys/block/{name}/queue/{file}") for file in files]
        return without_none([*readings, self.tree.reading(UNTORN, f"/sys/block/{name}/queue/{UNTORN}", unless=("0",))])


class FilesystemReader:
    """Reads filesystems of one kind. The base class reads those on one block device, from the mount alone."""

    def __init__(self, row: LayerKind, sources: Sources) -> None:
        self.row = row
        self.sources = sources
        self.tree = sources.tree

    def read(self, mount: Mount) -> LayerDescription:
        found = self.read_below(mount)
        device = found.below[0] if found.below else ""
        # for a bind mount or a subvolume, another directory than / of the filesystem
        root = (Reading(what="root", value=mount.root, path=MOUNTINFO),) if mount.root != "/" else ()
        readings = (
            *found.readings,
            *self.settings(mount, device),
            *_compression(mount),
            *self.more(mount),
            *root,
        )
        gone = () if found.below else self._gone(mount)
        state = (*gone, *self.trouble(device), *_forced_read_only(mount, self.row))
        return found._replace(readings=readings, state=state)

    def _gone(self, mount: Mount) -> tuple[Reading, ...]:
        """Return a reading if the block device was removed while it was mounted: the kernel has no device of that
        number."""
        without_device = mount.device.partition(":")[0] == NO_DEVICE_MAJOR
        found = without_device or self.sources.names.of(mount.device) is not None
        # an empty /sys/dev/block proves nothing: sysfs may not be mounted
        if found or not self.row.known or not self.tree.names("/sys/dev/block"):
            return ()
        return (Reading(what="device", value="gone", path=f"/sys/dev/block/{mount.device}"),)

    def read_below(self, mount: Mount) -> LayerDescription:
        """Return the layers below, and readings of the mount options that name them."""
        if self.row.in_memory:
            memory = self.row.node(f"memory:{mount.fstype}", "memory", layer="memory")
            return LayerDescription((memory.id,), others=(memory,))
        return LayerDescription(self.members(mount))

    def members(self, mount: Mount) -> tuple[str, ...]:
        names = self.sources.names
        name = names.of(mount.device) or names.at(mount.source)
        return (name,) if name is not None else ()

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        """Return ``barrier``, and how the filesystem on that device was set up."""
        if BARRIERS_OFF.intersection(mount.super_options):
            return (Reading(what="barrier", value="nobarrier", path=MOUNTINFO),)
        return (Reading(what="barrier", value="barrier", path=MOUNTINFO),) if self.row.flushes_on_sync else ()

    def more(self, mount: Mount) -> tuple[Reading, ...]:
        """Return readings that the mount options or a tool add."""
        synced = "sync" in mount.all_options
        return (Reading(what="sync_option", value="sync", path=MOUNTINFO),) if synced else ()

    def trouble(self, device: str) -> tuple[Reading, ...]:
        """Return what is wrong with the filesystem on that device now."""
        return ()


class Readers:
    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._devices = [(row.device_names or "", reader(row, sources)) for row, reader in _device_readers()]
        self._filesystems: dict[str, FilesystemReader] = {}

    def of_device(self, name: str) -> DeviceReader:
        named = (reader for prefix, reader in self._devices if name.startswith(prefix))
        return next(reader for reader in named if reader.recognises(name))

    def of_filesystem(self, fstype: str) -> FilesystemReader:
        row = kind(fstype)
        if row.name not in self._filesystems:
            reader_class = _filesystem_readers().get(row.name, FilesystemReader)
            self._filesystems[row.name] = reader_class(row, self.sources)
        return self._filesystems[row.name]


def with_readings(node: Node, more: tuple[Reading, ...]) -> Node:
    return msgspec.structs.replace(node, readings=node.readings + more) if more else node


def without_none(found: Iterable[Reading | None]) -> tuple[Reading, ...]:
    return tuple(reading for reading in found if reading is not None)


@cache
def _device_readers() -> tuple[tuple[LayerKind, type[DeviceReader]], ...]:
    """Return the kinds that are recognised by kernel names, longest prefix first: the last one matches any name."""
    found = [
        (row, getattr(module, "DEVICES", DeviceReader))
        for module in kinds.modules()
        for row in module.KINDS
        if row.device_names is not None
    ]
    return tuple(sorted(found, key=lambda pair: -len(pair[0].device_names or "")))


@cache
def _filesystem_readers() -> dict[str, type[FilesystemReader]]:
    return {
        row.name: module.FILESYSTEMS
        for module in kinds.modules()
        for row in module.KINDS
        if row.layer == "filesystem" and hasattr(module, "FILESYSTEMS")
    }


def _compression(mount: Mount) -> Iterator[Reading]:
    """Yield ``compress`` if an option enables it. Fewer bytes may then arrive below than were written."""
    for option in mount.super_options:
        name, _, value = option.partition("=")
        if name in ("compress", "compress-force", "compress_algorithm"):
            yield Reading(what="compress", value=value or "yes", path=MOUNTINFO)


def _forced_read_only(mount: Mount, row: LayerKind) -> tuple[Reading, ...]:
    """Return a reading if the kernel made the filesystem read-only: after an error, or when it was shut down."""
    found = [option for option in mount.super_options if option in ("emergency_ro", "shutdown")]
    # the super options are those of the filesystem, the others those of this mount
    if not found and "ro" in mount.super_options and "rw" in mount.options and not row.read_only:
        found = ["mounted rw, now ro"]
    return tuple(Reading(what="forced read-only", value=value, path=MOUNTINFO) for value in found[:1])
