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

    def worth_listing(self, node: Node) -> bool:
        """The kernel makes sixteen of brd's whether or not anybody uses one."""
        return node.kind != "ram"


_forgets = partial(Kind, sync="stops", because="kept in memory", in_memory=True)

KINDS = (
    *(_forgets(name=name, layer="filesystem", needs_device=False) for name in ("tmpfs", "ramfs", "devtmpfs", "rootfs")),
    _forgets(name="zram", layer="block", device_names="zram", accounting="own"),
    _forgets(name="ram", layer="block", device_names="ram", accounting="none"),
)


FILESYSTEMS = MemoryReader
DEVICES = MemoryDeviceReader
