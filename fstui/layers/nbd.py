"""nbd: a disk that a program answers for, on another box or on this very one.

Its flushes are counted; where its server states no volatile cache (NBD_FLAG_SEND_FLUSH), the kernel sends none. What a
server of this box keeps it on is followed where that is proved (``nbd_servers``): syncs are not counted there, since
how often it syncs is the server's affair, but what forgets there forgets. Readings: ``server`` (its program),
``served_file`` (what it has open for writing), ``backing_file`` and ``links`` as of a loop device, ``server_settings``
(files), ``server_syncs`` (each write | unknown | no), ``served`` (cache=unsafe | copyonwrite).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from fstui.layers.disk import Drive
from fstui.layers.facts import word
from fstui.layers.kinds import Unsent
from fstui.layers.nbd_servers import COPIES, NbdServers, questions
from fstui.layers.readers import Device, DeviceReader
from fstui.layers.sources.claims import Question
from fstui.model.storage import Node, SyncPath


class NbdReader(DeviceReader):
    """Reads nbd devices."""

    @cached_property
    def _servers(self) -> NbdServers:
        return NbdServers(self.sources)

    def read(self, name: str) -> Device:
        behind = self._servers.behind(name)
        readings = (*self.queue(name), *behind.readings)
        return Device(self.row.name, name, behind.below, readings, others=behind.others)


class Nbd(Drive, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Who talks to whom is asked wherever there is one that is in use."""
        return tuple(questions(nodes))

    def keeps_each_write(self, node: Node) -> bool:
        """Its server syncs each one, or may do so for all that is known: then no flush need be asked for."""
        told = word(node, "server_syncs")
        return told is not None and told.value != "no"

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        if (unsent := self.unsent(node)) is not None:
            return "stops", f"{unsent.option}: an fsync {unsent.briefly or unsent.means}"
        if self.keeps_each_write(node):
            return "unknown", "write through: whether its server on this box makes each write durable is not known"
        return super().sync_of(node)

    def unsent(self, node: Node) -> Unsent | None:
        told = word(node, "served")
        if told is None:
            return None
        forgets = told.value == COPIES
        return Unsent(
            told=told.reading,
            how="served",
            option=told.value,
            misses="flush that lasts" if forgets else "flush",
            means="reaches a file that its server on this box forgets with the connection"
            if forgets
            else "is answered by its server on this box, which asks for no flush",
            undo="Serve it without that option, then run again.",
        )


KINDS = (
    Nbd(
        name="nbd",
        layer="block",
        device_names="nbd",
        counts_flushes=True,
        networked=True,
        members_asked=True,
    ),
)
DEVICES = NbdReader
