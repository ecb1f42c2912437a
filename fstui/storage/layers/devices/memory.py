"""What forgets with the power: filesystems in memory, and block devices in it."""

from __future__ import annotations

from functools import partial

from fstui.model.storage import Node
from fstui.proc import Mount
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import DeviceReader, Filesystem, FilesystemReader


class MemoryReader(FilesystemReader):
    """Reads filesystems in memory: each kind stands on memory of its own."""

    def stands_on(self, mount: Mount) -> Filesystem:
        node_id = f"memory:{mount.fstype}"
        return Filesystem((node_id,), others=(self.row.node(node_id, "memory", layer="memory"),))


class MemoryDeviceReader(DeviceReader):
    """Reads block devices in memory."""

    def recognises(self, name: str) -> bool:
        """Of names that other drivers have as well, the driver's own directory tells."""
        return self.row.name != _RAPIDDISK or (is_memory(name) and self.tree.exists(f"/sys/kernel/{_RAPIDDISK}"))

    def worth_listing(self, node: Node) -> bool:
        """The kernel makes sixteen of brd's whether or not anybody uses one."""
        return node.kind != "ram"


_RAPIDDISK = "rapiddisk"
"""``rd0``, beside its ``/sys/kernel/rapiddisk`` (pkoutoupis/rapiddisk, module/rapiddisk.c); Mylex called its disks
``rd/c0d0``."""
_OF_MACHINES = ("xpram", "dcssblk", "ps3vram", "z2ram")
"""Expanded storage and shared segments of IBM Z (a segment is kept where somebody saves it), the PlayStation's graphics
memory, the Amiga's Zorro (drivers/s390/block, drivers/block)."""
_forgets = partial(Kind, sync="stops", because="kept in memory", in_memory=True)

KINDS = (
    *(_forgets(name=name, layer="filesystem", needs_device=False) for name in ("tmpfs", "ramfs", "devtmpfs", "rootfs")),
    _forgets(name="zram", layer="block", device_names="zram", accounting="own"),
    _forgets(name="null_blk", layer="block", device_names="nullb"),
    _forgets(name="ram", layer="block", device_names="ram", accounting="none"),
    _forgets(name=_RAPIDDISK, layer="block", device_names="rd"),
    *(_forgets(name=name, layer="block", device_names=name) for name in _OF_MACHINES),
)


def is_memory(name: str) -> bool:
    """A block device that is memory by its kernel name, as these of this family are."""
    starts = (row.device_names for row in KINDS if row.device_names)
    return any(name.startswith(start) and name.removeprefix(start).isdecimal() for start in starts)


FILESYSTEMS = MemoryReader
DEVICES = MemoryDeviceReader
