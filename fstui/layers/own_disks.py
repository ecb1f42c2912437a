"""Disks that this very box makes for itself: its SCSI target looped back, its NVMe target looped back, null_blk.

Such a disk may be a file in memory, which its model does not say. In configfs: the address of a loopback port
(``host:0:port``) and the store behind each of its units, whose ``info`` names the file; the ``device_path`` of an NVMe
namespace; a null_blk device under the name that it was given there (drivers/target/loopback/tcm_loop.c,
target_core_file.c; drivers/nvme/target/configfs.c; drivers/block/null_blk/main.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fstui.layers.kinds import kind
from fstui.layers.loop import file_layer
from fstui.layers.readers import Sources
from fstui.layers.sources.files import Tree
from fstui.model.storage import Node

_CONFIGFS = "/sys/kernel/config"
_UNIT = re.compile(r"/tcm_loop_\d+/.*/(\d+:0:\d+):(\d+)/block/")
_FILE = re.compile(r"File: (.+?)\s+Size: \d+")
_IN_MEMORY = "rd_mcp_"
"""How the kernel's RAM disk calls its stores."""


def in_memory(sources: Sources, name: str, path: str) -> tuple[Node, ...]:
    """What holds that disk's data, where it is this box's own memory. ``path``: where it hangs in /sys/devices.

    Nothing else is told: what a flush becomes there is a matter of how the store was opened.
    """
    found = (
        layer
        for layer in (*_scsi(sources, path), *_nvme(sources, name), *_null(sources, name, path))
        if layer is not None
    )
    return tuple(layer for layer in found if _forgets(sources, layer))[:1]


def _scsi(sources: Sources, path: str) -> Iterator[Node | None]:
    unit = _UNIT.search(path)
    for port in _ports(sources.tree) if unit else ():
        if unit and sources.tree.word(f"{port}/address") == unit[1]:
            lun = f"{port}/lun/lun_{unit[2]}"
            links = (sources.tree.link(f"{lun}/{entry}") for entry in sources.tree.names(lun))
            yield from (_store(sources, *link.split("/")[-2:]) for link in links if link and "/core/" in link)


def _ports(tree: Tree) -> Iterator[str]:
    home = f"{_CONFIGFS}/target/loopback"
    yield from (f"{home}/{name}/{port}" for name in tree.names(home) for port in tree.names(f"{home}/{name}"))


def _store(sources: Sources, driver: str, name: str) -> Node | None:
    if driver.startswith(_IN_MEMORY):
        return kind("tmpfs").node(f"memory:{driver}/{name}", "memory", layer="memory")
    info = sources.tree.text(f"{_CONFIGFS}/target/core/{driver}/{name}/info") or ""
    file = _FILE.search(info)
    return file_layer(sources, file[1]) if file else None


def _nvme(sources: Sources, name: str) -> Iterator[Node | None]:
    directory = f"/sys/block/{name}"
    if sources.tree.word(f"{directory}/device/transport") == "loop":
        subsystem = sources.tree.word(f"{directory}/device/subsysnqn") or ""
        number = sources.tree.word(f"{directory}/nsid") or ""
        home = f"{_CONFIGFS}/nvmet/subsystems/{subsystem}/namespaces/{number}"
        file = sources.tree.word(f"{home}/device_path")
        yield file_layer(sources, file) if file else None


def _null(sources: Sources, name: str, path: str) -> Iterator[Node]:
    if "/virtual/" in path and sources.tree.word(f"{_CONFIGFS}/nullb/{name}/power") == "1":
        yield kind("null_blk").node(f"memory:null_blk/{name}", "memory", layer="memory")


def _forgets(sources: Sources, layer: Node) -> bool:
    if layer.layer == "memory":
        return True
    holder = sources.holder(layer.name)
    device = sources.names.at(layer.name) is not None or (holder is not None and holder.fstype == "devtmpfs")
    return holder is not None and kind(holder.fstype).in_memory and not device
