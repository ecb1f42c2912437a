"""nbd: a disk that a server answers for. Its flushes are counted; where the server states no volatile cache
(NBD_FLAG_SEND_FLUSH), the kernel sends none.

``offers_flush``: the server states one, by its flags (debugfs), or because FUA is supported: the kernel's driver
accepts FUA from no other server (drivers/block/nbd.c), whatever the kernel is configured to assume later.
"""

from __future__ import annotations

from fstui.model.storage import Reading
from fstui.storage.layers.devices.disk import Drive
from fstui.storage.layers.readers import Device, DeviceReader, some


class NbdReader(DeviceReader):
    """Reads nbd devices."""

    def read(self, name: str) -> Device:
        return Device(self.row.name, name, (), (*self.queue(name), *some([self._offers_flush(name)])))

    def _offers_flush(self, name: str) -> Reading | None:
        flags, fua = f"/sys/kernel/debug/nbd/{name}/flags", f"/sys/block/{name}/queue/fua"
        if "NBD_FLAG_SEND_FLUSH" in (self.tree.text(flags) or ""):
            return Reading(what="offers_flush", value="yes", path=flags)
        return Reading(what="offers_flush", value="yes", path=fua) if self.tree.word(fua) == "1" else None


KINDS = (Drive(name="nbd", layer="block", device_names="nbd", counts_flushes=True, networked=True),)
DEVICES = NbdReader
