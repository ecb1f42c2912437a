"""The base of all readers of layers, and the readings that all block devices and filesystems have.

Readings of any filesystem: ``barrier`` (barrier | nobarrier), ``compress``, ``sync_option`` (sync), ``root`` (of a bind
mount or subvolume); for a file of the run ``sync_flag`` (S: chattr +S) and ``nocow_flag`` (C).

Readings of any block device: ``write_cache`` (write back | write through, the kernel's view), ``fua``, ``rotational``,
``iostats``.

A reader reads the layers of one kind. It lives as long as the survey, so a table or statistics file that covers all of
them is read once. Readings are shown and saved in the order in which they are returned.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import ATOMIC_WRITE_SIZE
from fstui.storage.layers.kinds import LayerKind, all_kinds, kind
from fstui.storage.tool_output import ToolOutputs
from fstui.storage.tree import BlockDeviceNames, Tree

BARRIERS_OFF = frozenset({"nobarrier", "barrier=0", "barrier=none", "barrier=off"})
NO_DEVICE_MAJOR = "0"
"""The major number of filesystems without a block device."""


class Sources(NamedTuple):
    tree: Tree
    names: BlockDeviceNames
    tool_outputs: ToolOutputs
    mount_of_path: Callable[[str], Mount | None]
    mount_of_device: Callable[[str], Mount | None]
    """Return a mount of the filesystem with that device number, or None."""


class LayerDescription(NamedTuple):
    below: tuple[str, ...] = ()
    """Kernel names, ``mount:…`` of another filesystem, or ids of ``other_layers``."""
    readings: tuple[Reading, ...] = ()
    state: tuple[Reading, ...] = ()
    roles: Mapping[str, str] = {}
    """The roles of the layers below in this layer, by their ids."""
    other_layers: tuple[Node, ...] = ()
    """Layers below that are neither devices nor filesystems: a file, memory, a server, a pool with its groups."""
    identity: str = ""
    """What distinguishes a device from others of its kind: serial, wwid, uuid. Every user can read it."""
    kind: str = ""
    """Empty: the reader's kind."""
    label: str = ""
    """Empty: the device's kernel name."""
    model: str | None = None
    link: str | None = None


class Reader:
    def __init__(self, layer_kind: LayerKind, sources: Sources) -> None:
        self.layer_kind = layer_kind
        self.sources = sources
        self.tree = sources.tree


class DeviceReader(Reader):
    """Reads block devices of one kind. The base class reads the devices below and the queue, which all drivers have."""

    def recognises(self, name: str) -> bool:
        """Return whether a device is of this kind. Its name has the prefix of this kind."""
        return True

    def worth_listing(self, node: Node) -> bool:
        """Return whether to list the device even if no filesystem is on it."""
        return self.layer_kind.listed_unused

    def read(self, name: str) -> LayerDescription:
        return LayerDescription(self.slaves(name), self.queue_readings(name))

    def with_tool_output(self, node: Node) -> Node:
        """Return the device, completed by what tools reported."""
        return node

    def slaves(self, name: str) -> tuple[str, ...]:
        return self.tree.names(f"/sys/block/{name}/slaves")

    def queue_readings(self, name: str) -> tuple[Reading, ...]:
        """Return what the kernel reports of every whole device (Documentation/ABI/stable/sysfs-block)."""
        files = ("write_cache", "fua", "rotational", "iostats")
        queue = f"/sys/block/{name}/queue"
        atomic_write_size = self.tree.reading(ATOMIC_WRITE_SIZE, f"{queue}/{ATOMIC_WRITE_SIZE}", unless=("0",))
        return without_none([*(self.tree.reading(file, f"{queue}/{file}") for file in files), atomic_write_size])


class FilesystemReader(Reader):
    """Reads filesystems of one kind. The base class reads filesystems on one block device, from the mount alone."""

    def read(self, mount: Mount) -> LayerDescription:
        description = self.read_layers_below(mount)
        device = description.below[0] if description.below else ""
        sync = (Reading(what="sync_option", value="sync", path=MOUNTINFO),) if "sync" in mount.all_options else ()
        # for a bind mount or a subvolume, a directory of the filesystem other than /
        root = (Reading(what="root", value=mount.root, path=MOUNTINFO),) if mount.root != "/" else ()
        readings = (
            *description.readings,
            *self.settings(mount, device),
            *_compression(mount),
            *sync,
            *root,
        )
        removed_device = () if description.below else self._removed_device(mount)
        state = (*removed_device, *self.fault_readings(device), *_forced_read_only(mount, self.layer_kind))
        return description._replace(readings=readings, state=state)

    def _removed_device(self, mount: Mount) -> tuple[Reading, ...]:
        """Return a reading if the block device was removed while mounted: the kernel has no device with its number."""
        needs_no_device = mount.device.partition(":")[0] == NO_DEVICE_MAJOR
        has_device = self.sources.names.by_number(mount.device) is not None
        # an empty /sys/dev/block proves nothing: sysfs may not be mounted
        if needs_no_device or has_device or not self.layer_kind.is_known or not self.tree.names("/sys/dev/block"):
            return ()
        return (Reading(what="device", value="gone", path=f"/sys/dev/block/{mount.device}"),)

    def read_layers_below(self, mount: Mount) -> LayerDescription:
        """Return the layers below, and readings of the mount options that name them."""
        if self.layer_kind.in_memory:
            memory = self.layer_kind.node(f"memory:{mount.fstype}", "memory", layer="memory")
            return LayerDescription((memory.id,), other_layers=(memory,))
        return LayerDescription(self.members(mount))

    def members(self, mount: Mount) -> tuple[str, ...]:
        names = self.sources.names
        name = names.by_number(mount.device) or names.by_path(mount.source)
        return (name,) if name is not None else ()

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        """Return ``barrier``, and settings of the filesystem on that device, from the mount options or a tool."""
        if BARRIERS_OFF.intersection(mount.super_options):
            return (Reading(what="barrier", value="nobarrier", path=MOUNTINFO),)
        return (Reading(what="barrier", value="barrier", path=MOUNTINFO),) if self.layer_kind.flushes_on_sync else ()

    def fault_readings(self, device: str) -> tuple[Reading, ...]:
        return ()


class Readers:
    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._devices = [(layer_kind.reader or DeviceReader)(layer_kind, sources) for layer_kind in _device_kinds()]
        self._filesystems: dict[str, FilesystemReader] = {}

    def device_reader(self, name: str) -> DeviceReader:
        candidates = (reader for reader in self._devices if name.startswith(reader.layer_kind.name_prefix or ""))
        return next(reader for reader in candidates if reader.recognises(name))

    def filesystem_reader(self, fstype: str) -> FilesystemReader:
        layer_kind = kind(fstype)
        if layer_kind.name not in self._filesystems:
            self._filesystems[layer_kind.name] = (layer_kind.reader or FilesystemReader)(layer_kind, self.sources)
        return self._filesystems[layer_kind.name]


def with_readings(node: Node, new_readings: tuple[Reading, ...]) -> Node:
    return msgspec.structs.replace(node, readings=node.readings + new_readings) if new_readings else node


def without_none(readings: Iterable[Reading | None]) -> tuple[Reading, ...]:
    return tuple(reading for reading in readings if reading is not None)


@cache
def _device_kinds() -> list[LayerKind]:
    """Return the kinds that a kernel name identifies: longest prefix first, the empty prefix last."""
    named = (layer_kind for layer_kind in all_kinds().values() if layer_kind.name_prefix is not None)
    return sorted(named, key=lambda layer_kind: -len(layer_kind.name_prefix or ""))


def _compression(mount: Mount) -> Iterator[Reading]:
    """Yield ``compress`` if an option enables it. Fewer bytes may then arrive below than were written."""
    for option in mount.super_options:
        name, _, value = option.partition("=")
        if name in ("compress", "compress-force", "compress_algorithm"):
            yield Reading(what="compress", value=value or "yes", path=MOUNTINFO)


def _forced_read_only(mount: Mount, layer_kind: LayerKind) -> tuple[Reading, ...]:
    """Return a reading if the kernel made the filesystem read-only: after an error, or when it was shut down."""
    reasons = [option for option in mount.super_options if option in ("emergency_ro", "shutdown")]
    # super options belong to the filesystem, other options to this mount
    if not reasons and "ro" in mount.super_options and "rw" in mount.options and not layer_kind.read_only:
        reasons = ["mounted rw, now ro"]
    return tuple(Reading(what="forced read-only", value=value, path=MOUNTINFO) for value in reasons[:1])
