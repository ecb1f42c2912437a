"""DRBD: a disk of this box that is also written on others (DRBD user's guide; drivers/block/drbd).

``connection`` (Connected | Established | StandAlone | SyncSource …), ``node_role`` and ``disk_state`` (of this node /
of the peer), ``protocol`` (A | B | C) and ``write_ordering`` (flush | drain | none, by the options disk-flushes and
disk-drain) stand in /proc/drbd (8.4, for everybody) or in debugfs (9, for root, a file per peer); ``resource`` in
debugfs. md-flushes is told nowhere.

A program's flush goes to the disk below and waits for nothing else, whatever the options say: 8.4.11 handed 500 of 500
down with ``disk-flushes no`` and ``disk-drain no``. These are about the writes that a peer sends.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.handing import ALL, AT_TIMES, Handed, Member, by_role
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import Device, DeviceReader, Role

PROC = "/proc/drbd"
DEBUGFS = "/sys/kernel/debug/drbd"
_VOLUME = re.compile(r"/resources/(.+)/volumes/(\d+)$")
_LINE = re.compile(r"^ *(\d+): cs:(\w+) ro:(\w+)/(\w+) ds:(\w+)/(\w+) (.) (\S)\S*\n.* wo:(\w)", re.MULTILINE)
_ORDERINGS = {"f": "flush", "d": "drain", "n": "none", "b": "barrier", "0": "none", "1": "drain", "2": "flush"}
"""8.4 tells a letter, 9 a number."""
_HEALTHY = frozenset({"Connected", "Established"})
_PEER_HAS = {
    "A": "may not have the data yet (protocol A)",
    "B": "has the data in memory (protocol B)",
    "C": "has written the data (protocol C)",
}
_UNTOLD = Reading(what="missing", value="DRBD's state: 8.4 tells it to everybody, 9 to root", path=PROC)


class Told(NamedTuple):
    """One line of /proc/drbd: a device and its only peer; of DRBD 9, one of its peers."""

    path: str
    connection: str
    node: str
    peer: str
    disk: str
    peer_disk: str
    protocol: str
    """A blank where no peer is configured."""
    io: str
    """``s`` where it is suspended, else ``r``."""
    ordering: str

    def readings(self) -> Iterator[Reading]:
        told = {
            "connection": self.connection,
            "node_role": f"{self.node}/{self.peer}",
            "disk_state": f"{self.disk}/{self.peer_disk}",
            "protocol": self.protocol.strip(),
            "write_ordering": _ORDERINGS.get(self.ordering, self.ordering),
        }
        return (Reading(what=what, value=value, path=self.path) for what, value in told.items() if value)

    def trouble(self) -> Iterator[Reading]:
        """What keeps it from being two good copies. What an absent peer has is not known."""
        here, there = self.disk != "UpToDate", self.peer != "Unknown" and self.peer_disk != "UpToDate"
        if self.connection not in _HEALTHY:
            yield Reading(what="connection", value=self.connection, path=self.path)
        if here or there:
            yield Reading(what="disk_state", value=f"{self.disk}/{self.peer_disk}", path=self.path)
        if self.io == "s":
            yield Reading(what="io", value="suspended", path=self.path)


class DrbdReader(DeviceReader):
    """Reads DRBD devices. Their disk is in slaves/ (seen on 6.12), beside it a metadata device where they have one."""

    def read(self, name: str) -> Device:
        minor = name.removeprefix("drbd")
        volume = _VOLUME.search(self.tree.link(f"{DEBUGFS}/minors/{minor}") or "")
        label = f"{volume[1]}/{volume[2]}" if volume else name
        named = (Reading(what="resource", value=label, path=f"{DEBUGFS}/minors/{minor}"),) if volume else ()
        told = self._proc.get(minor) or tuple(self._peers(volume[1], volume[2]) if volume else ())
        own = tuple(reading for each in told for reading in each.readings()) or (_UNTOLD,)
        return Device(
            kind=self.row.name,
            label=label,
            below=self.slaves(name),
            readings=(*named, *own, *self.queue(name)),
            state=tuple(reading for each in told for reading in each.trouble()),
            roles=tuple(self._roles(name, self.slaves(name))),
        )

    def _roles(self, name: str, slaves: tuple[str, ...]) -> Iterator[Role]:
        """Which of two devices holds the metadata is told nowhere; but only the other has room for the data."""
        needed = self._size(name)
        roomy = {slave for slave in slaves if needed and self._size(slave) >= needed}
        for slave in slaves if len(slaves) > 1 and len(roomy) == 1 else ():
            path = f"/sys/class/block/{slave}/size"
            yield slave, Reading(what="role", value="data" if slave in roomy else "metadata", path=path)

    def _size(self, name: str) -> int:
        return self.tree.integer(f"/sys/class/block/{name}/size") or 0

    @cached_property
    def _proc(self) -> Mapping[str, tuple[Told, ...]]:
        """By minor number."""
        return {minor: (told,) for minor, told in _parsed(self.tree.text(PROC) or "", PROC)}

    def _peers(self, resource: str, volume: str) -> Iterator[Told]:
        connections = f"{DEBUGFS}/resources/{resource}/connections"
        for peer in self.tree.names(connections):
            path = f"{connections}/{peer}/{volume}/proc_drbd"
            yield from (told for _, told in _parsed(self.tree.text(path) or "", path))


def _parsed(text: str, path: str) -> Iterator[tuple[str, Told]]:
    for match in _LINE.finditer(text):
        minor, *rest = match.groups()
        yield minor, Told(path, *rest)


class Drbd(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        """Its disk gets everything. Of two devices, one holds metadata."""
        return by_role(member.role, ALL if member.role == "data" or len(beside) == 1 else AT_TIMES)

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        values: dict[str, set[str]] = {}
        for reading in node.readings:
            values.setdefault(reading.what, set()).add(reading.value)
        if any(state.startswith("Diskless/") for state in values.get("disk_state", ())):
            return "unknown", "it has no disk of its own: what the peer does with a flush cannot be seen from here"
        connected = any(not role.endswith("/Unknown") for role in values.get("node_role", ()))
        weakest = min(values.get("protocol", ()), default="") if connected else ""
        if weakest in _PEER_HAS:
            return self.sync, f"{self.because}; by then the peer {_PEER_HAS[weakest]}"
        return self.sync, self.because + ("; no peer is connected" if "node_role" in values else "")


KINDS = (
    Drbd(
        name="drbd",
        layer="block",
        device_names="drbd",
        sync="passes",
        because="a flush goes to the disk below",
        accounting="own",
        networked=True,  # it is the lowest layer only where it has no disk
    ),
)
DEVICES = DrbdReader
