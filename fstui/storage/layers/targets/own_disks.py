"""Disks that this very box makes for itself: those of its own NVMe target, null_blk (its SCSI target: ``scsi_target``).

Such a disk may be a file in memory, which its model does not say. In configfs: the ``device_path`` of an NVMe
namespace, looped back or reached at an address of this box, where the disk has the namespace's own ``device_uuid``; a
null_blk device under the name that it was given there (drivers/nvme/target/configfs.c; drivers/block/null_blk/main.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fstui.model.storage import Node
from fstui.storage.layers.kinds import kind
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import addresses
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.stacked.loop import file_layer

_CONFIGFS = "/sys/kernel/config"
_ADDRESS = re.compile(r"\btraddr=([^,\s]+)")


def in_memory(sources: Sources, name: str, path: str) -> tuple[Node, ...]:
    """What holds that disk's data, where it is this box's own memory. ``path``: where it hangs in /sys/devices.

    Nothing else is told: what a flush becomes there is a matter of how the store was opened.
    """
    found = (layer for layer in (*_nvme(sources, name), *_null(sources, name, path)) if layer is not None)
    return tuple(layer for layer in found if _forgets(sources, layer))[:1]


def _nvme(sources: Sources, name: str) -> Iterator[Node | None]:
    home = _namespace(sources.tree, name)
    file = sources.tree.word(f"{home}/device_path") if home is not None else None
    yield file_layer(sources, file) if file else None


def _namespace(tree: Tree, name: str) -> str | None:
    """Where this box's own target has that disk; None of one that may be another box's."""
    directory = f"/sys/block/{name}"
    subsystem, number = tree.word(f"{directory}/device/subsysnqn"), tree.word(f"{directory}/nsid")
    home = f"{_CONFIGFS}/nvmet/subsystems/{subsystem}/namespaces/{number}"
    if tree.word(f"{directory}/device/transport") == "loop":
        return home
    address = _ADDRESS.search(tree.text(f"{directory}/device/address") or "")
    uuid = tree.word(f"{directory}/uuid")
    ours = address is not None and addresses.is_own(tree, address[1]) and uuid == tree.word(f"{home}/device_uuid")
    return home if uuid and ours else None


def _null(sources: Sources, name: str, path: str) -> Iterator[Node]:
    if "/virtual/" in path and sources.tree.word(f"{_CONFIGFS}/nullb/{name}/power") == "1":
        yield kind("null_blk").node(f"memory:null_blk/{name}", "memory", layer="memory")


def _forgets(sources: Sources, layer: Node) -> bool:
    if layer.layer == "memory":
        return True
    holder = sources.holder(layer.name)
    device = sources.names.at(layer.name) is not None or (holder is not None and holder.fstype == "devtmpfs")
    return holder is not None and kind(holder.fstype).in_memory and not device
