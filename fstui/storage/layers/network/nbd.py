"""nbd: a disk that a program answers for, on another box or on this very one.

Its flushes are counted; where its server states no volatile cache (NBD_FLAG_SEND_FLUSH), the kernel sends none.
``offers_flush``: it states one, by its flags (debugfs) or since FUA is taken, which the kernel's driver takes of no
other (drivers/block/nbd.c), whatever the kernel was told since. What a
server of this box keeps it on is followed where that is proved (``nbd_servers``): syncs are not counted there, since
how often it syncs is the server's affair, but what forgets there forgets. Readings: ``server`` (its program),
``served_file`` (what it has open for writing), ``backing_file`` and ``links`` as of a loop device, ``server_settings``
(files), ``server_syncs`` (each write | unknown | no), ``served`` (cache=unsafe | copyonwrite).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.devices.disk import Drive
from fstui.storage.layers.facts import one_of
from fstui.storage.layers.kinds import Kind, Unsent
from fstui.storage.layers.network.nbd_programs import COPIES
from fstui.storage.layers.network.nbd_servers import NbdServers, questions
from fstui.storage.layers.readers import Device, DeviceReader, some
from fstui.storage.layers.sources.claims import Question


class NbdReader(DeviceReader):
    """Reads nbd devices."""

    @cached_property
    def _servers(self) -> NbdServers:
        return NbdServers(self.sources)

    def read(self, name: str) -> Device:
        behind = self._servers.behind(name)
        readings = (*self.queue(name), *some([self._offers_flush(name)]), *behind.readings)
        return Device(self.row.name, name, behind.below, readings, others=behind.others)

    def _offers_flush(self, name: str) -> Reading | None:
        """Whoever told the kernel "write through" changes neither what the server offers nor that FUA is taken."""
        flags, fua = f"/sys/kernel/debug/nbd/{name}/flags", f"/sys/block/{name}/queue/fua"
        if "NBD_FLAG_SEND_FLUSH" in (self.tree.text(flags) or ""):
            return Reading(what="offers_flush", value="yes", path=flags)
        return Reading(what="offers_flush", value="yes", path=fua) if self.tree.word(fua) == "1" else None


class Nbd(Drive, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Who talks to whom is asked wherever there is one that is in use."""
        return tuple(questions(nodes))

    def keeps_each_write(self, node: Node) -> bool:
        """Its server syncs each one, or may do so for all that is known: then no flush need be asked for. One that
        offers a flush does not, if it does not say so."""
        told = one_of(node, "server_syncs", {"each write": True, "unknown": node.reading("offers_flush") is None})
        return told is not None and told.value

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        if self.unsent(node) is None and self.keeps_each_write(node):
            return "unknown", "write through: whether its server on this box makes each write durable is not known"
        return super().sync_of(node)

    def unsent(self, node: Node) -> Unsent | None:
        found = super().unsent(node)
        if found is None or found.option != COPIES:
            return found
        means = "reaches a file that its server on this box forgets with the connection"
        return found._replace(misses="flush that lasts", means=means)


KINDS = (
    Nbd(
        name="nbd",
        layer="block",
        device_names="nbd",
        counts_flushes=True,
        networked=True,
        members_asked=True,
    ),
    Kind(name="nbdkit", layer="memory", sync="stops", because="kept in the server's own memory", in_memory=True),
)
DEVICES = NbdReader
