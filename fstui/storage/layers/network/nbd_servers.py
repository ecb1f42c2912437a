"""Which program of this very box serves an nbd device, and from what: nbd-server, qemu-nbd, nbdkit, or any other that
has one file of the disk's size open for writing (``held_files``).

Which server it is: the client's socket is held by the process that serves the device (``/sys/block/nbdX/pid``, which
then has the device open: NBD_DO_IT), or by the kernel alone (the netlink interface). Its other end is a process of this
network namespace. Where the kernel alone holds it, the connection belongs to some nbd device of this box: to the one
that root can read through it (TCP alone counts what comes), to the only one of that size, or, where the size of what is
served is no file's, to the only one in use (drivers/block/nbd.c). A server that has several files tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from fstui.model.storage import Node, Reading
from fstui.storage.layers.network import nbd_programs, nbd_settings
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import claims, processes
from fstui.storage.layers.sources.claims import Command, Question
from fstui.storage.layers.sources.processes import OpenFile
from fstui.storage.layers.sources.sockets import CONNECTIONS, KERNEL, Connection, Ends, connections, ends_in
from fstui.storage.layers.targets import held_files
from fstui.storage.layers.targets.held_files import Behind, HeldFiles


def read_over(name: str) -> Command:
    """The connection through which what is read from that device comes."""
    return ("nbd_connection", f"/dev/{name}")


def questions(nodes: Iterable[Node]) -> Iterator[Question]:
    """What must be known of the servers of those devices."""
    in_use = [node for node in nodes if node.size_bytes]
    if in_use:
        yield Question(CONNECTIONS, root=True)
    if len(in_use) > 1:
        yield from (Question(read_over(node.id), root=True) for node in in_use)
    for node in nodes:
        yield from held_files.questions(node)
        yield from nbd_settings.questions(node)


class NbdServers:
    """Those that this box has, as they are in one survey."""

    def __init__(self, sources: Sources) -> None:
        self._sources, self._tree = sources, sources.tree
        self._held = HeldFiles(sources)

    def behind(self, name: str) -> Behind:
        """What that device stands on; nothing of one whose server is not known."""
        servers = {server: self._held.of(server, name) for server in self._servers(name)}
        asked = held_files.asked(file for files in servers.values() for file in files)
        proved = ((server, self._proved(name, server, files)) for server, files in servers.items())
        found = [(server, behind) for server, behind in proved if behind is not None]
        if len(found) != 1:
            return Behind(readings=asked)
        ((server, behind),) = found
        program = processes.program(self._tree, server)
        first = Reading(what="server", value=program, path=f"/proc/{server}/exe")
        through = self._tree.word(f"/sys/block/{name}/queue/write_cache") == "write through"
        told = nbd_programs.told(self._sources, server, program, servers[server], through=through)
        return behind._replace(readings=(first, *asked, *behind.readings, *told))

    def _servers(self, name: str) -> tuple[str, ...]:
        """The processes that may be its server; none of a device that is not in use."""
        holder, own = self._holder(name), self._read_over(name)
        kernels = (each for each in self._connections if each.near == KERNEL and own in (None, each.ends))
        ends = (each for each in self._connections if holder in each.near) if holder else kernels
        found = dict.fromkeys(server for each in ends for server in sorted(each.far))
        return tuple(found) if self._held.size_bytes(name) else ()

    @cached_property
    def _connections(self) -> tuple[Connection, ...]:
        return connections(self._sources.claims)

    @cached_property
    def _in_use(self) -> dict[str, int]:
        """The nbd devices that have a size, in bytes."""
        names = (name for name in self._sources.names.wholes if re.fullmatch(r"nbd\d+", name))
        return {name: size for name in names if (size := self._held.size_bytes(name))}

    def _holder(self, name: str) -> str:
        """The process that serves the device to the kernel; empty where that has only the socket."""
        number = self._tree.word(f"/sys/block/{name}/pid") or ""
        status = self._tree.text(f"/proc/{number}/status") or "" if number.isdecimal() else ""
        told = re.search(r"^Tgid:\t(\d+)$", status, re.M)  # a thread's is told
        return told[1] if told and processes.has_open(self._tree, told[1], f"/dev/{name}") else ""

    def _read_over(self, name: str) -> Ends | None:
        """The connection that was seen to be the device's."""
        told = claims.answer(self._sources.claims, read_over(name))
        return ends_in(told) if told is not None else None

    def _proved(self, name: str, server: str, files: tuple[OpenFile, ...]) -> Behind | None:
        """What it keeps the device on, where that cannot be another device's."""
        program, alone = processes.program(self._tree, server), self._is_only(name, None)
        if alone and (own := nbd_programs.without_a_disk(self._tree, server, program, files)) is not None:
            return own
        told = [self._held.lies(file) for file in files]
        found = told[0] if told else None
        if found is None or any(each is None or each.which != found.which for each in told):
            return None
        same = found.size_bytes == self._held.size_bytes(name) and self._is_only(name, found.size_bytes)
        proved = same or (alone and program in nbd_programs.IMAGES)
        return self._held.behind(files[0], found) if proved else None

    def _is_only(self, name: str, size_bytes: int | None) -> bool:
        """No other device can be what the server serves: none of that size, or none at all; or its socket is known."""
        others = (size for other, size in self._in_use.items() if other != name)
        known = self._holder(name) or self._read_over(name) is not None
        return bool(known) or not any(size_bytes is None or size == size_bytes for size in others)
