"""Describe block devices and mounted filesystems as layers of a stack, with the reader of each kind."""

from typing import Literal

from fstui.model.storage import Node
from fstui.proc import Mount
from fstui.storage.layers.devices import disk
from fstui.storage.layers.kinds import kind
from fstui.storage.layers.readers import LayerDescription, Readers, without_none
from fstui.storage.tree import SECTOR_BYTES, Tree, integer

FLUSH_FIELDS = 17
"""Number of fields of ``stat`` since Linux 5.5. The last two are the completed flushes and their milliseconds."""

# any other text means unknown
_WRITE_CACHES: dict[str, Literal["write back", "write through"]] = {
    "write back": "write back",
    "write through": "write through",
}


SurveyedLayer = tuple[Node, LayerDescription]
"""A layer whose ``sync`` is not set yet, and its description. ``below`` has kernel names, ``mount:…``, and ids of
``other_layers``."""


def device_node(name: str, readers: Readers) -> SurveyedLayer:
    disk_name = readers.sources.names.whole_device(name)
    if name != disk_name:
        return _partition(name, disk_name, readers.sources.tree)
    tree, reader = readers.sources.tree, readers.device_reader(name)
    description = reader.read(name)
    description = description._replace(kind=description.kind or reader.layer_kind.name)
    layer_kind = kind(description.kind)
    # reversed, because the first of two readings with the same name is used
    values = {reading.what: reading.value for reading in reversed(description.readings)}
    # a size of 0: the medium was taken out, or the server of the device is gone
    no_medium = tree.reading("size", f"/sys/block/{name}/size", only=("0",))
    node = Node(
        id=name,
        layer="block",
        kind=description.kind,
        name=description.label or name,
        below=description.below,
        below_roles=dict(description.roles),
        model=description.model,
        link=description.link,
        rotational=_flag(values.get("rotational")),
        write_cache=_WRITE_CACHES.get(values.get("write_cache", "")),
        fua=_flag(values.get("fua")),
        counted=layer_kind.counts_flushes and bool(_flag(values.get("iostats"))) and _counts_flushes(tree, name),
        state=(*description.state, *without_none([no_medium])),
        readings=description.readings,
        size_bytes=_size(tree, f"/sys/block/{name}"),
    )
    # computed before the output of tools is added, because the identity must not depend on which user runs fstui
    description = description._replace(identity=_identity(description, node))
    return reader.with_tool_output(node), description


def _partition(name: str, disk_name: str, tree: Tree) -> SurveyedLayer:
    directory = f"/sys/class/block/{name}"
    readings = without_none([tree.reading("iostats", f"/sys/block/{disk_name}/queue/iostats")])
    node = disk.PARTITION.node(name, name, below=(disk_name,), readings=readings, size_bytes=_size(tree, directory))
    return node, LayerDescription(identity=f"partition {tree.stripped(f'{directory}/partition') or name}")


def _counts_flushes(tree: Tree, name: str) -> bool:
    """Return whether the driver is request-based (it has hardware queues in mq/) and the kernel counts flushes."""
    stat = tree.data(f"/sys/block/{name}/stat") or b""
    return len(stat.split()) >= FLUSH_FIELDS and tree.exists(f"/sys/block/{name}/mq")


def _size(tree: Tree, directory: str) -> int | None:
    sectors = tree.integer(f"{directory}/size")
    return None if sectors is None else sectors * SECTOR_BYTES


def _identity(description: LayerDescription, node: Node) -> str:
    settings = {"write_cache", *kind(description.kind).settings}
    values = [f"{reading.what}={reading.value}" for reading in description.readings if reading.what in settings]
    return " ".join([description.kind, description.identity or f"{node.id} {node.size_bytes}", *values])


def _flag(value: str | None) -> bool | None:
    number = integer(value)
    return None if number is None else bool(number)


_SINGLE_FILES = frozenset({"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})
"""Container engines mount a file over each of these, so such a mount is a file and not a directory."""


def filesystem_node(mount: Mount, readers: Readers) -> SurveyedLayer:
    description = readers.filesystem_reader(mount.fstype).read(mount)
    node = Node(
        id=f"mount:{mount.mount_point}",
        layer="filesystem",
        kind=mount.fstype,
        name=mount.mount_point,
        below=description.below,
        below_roles=dict(description.roles),
        state=description.state,
        readings=description.readings,
    )
    return node, description._replace(identity=mount.fstype)


def types_without_device(tree: Tree) -> frozenset[str]:
    """Return the types of filesystems for which the kernel needs no block device."""
    lines = (tree.text("/proc/filesystems") or "").split("\n")
    return frozenset(line.removeprefix("nodev").strip() for line in lines if line.startswith("nodev"))


def is_pseudo(mount: Mount, without_device: frozenset[str]) -> bool:
    """Return whether the mount cannot hold a user's files: a kernel interface, a single file, or below /proc or /sys.

    A mount of an unknown type is pseudo if the kernel needs no device for the type, and the source of the mount is
    neither a path nor a server.
    """
    layer_kind = kind(mount.fstype)
    if layer_kind.pseudo or mount.mount_point.startswith(("/proc/", "/sys/")) or mount.mount_point in _SINGLE_FILES:
        return True
    has_unknown_type = layer_kind.needs_device and mount.fstype in without_device
    return has_unknown_type and not any(character in mount.source for character in "/:\\")
