"""The nbd servers of this very box: nbd-server, qemu-nbd, nbdkit, or any other program that has one file of the disk's
size open for writing.

Which server it is: the client's socket is held by the process that serves the device (``/sys/block/nbdX/pid``, which
then has the device open: NBD_DO_IT), or by the kernel alone (the netlink interface). Its other end is a process of this
network namespace. Where the kernel alone holds it, the connection belongs to some nbd device of this box: to the only
one of that size, or, where the size of what is served is no file's, to the only one in use
(drivers/block/nbd.c). Which file it is: the one that the server has open for writing, by its device and inode, so that
the server may live in another mount namespace; a server that has several tells nothing.

nbd-server leaves a disk without ``flush`` to the page cache, but with ``sync`` it syncs each write (nbd-server(5)); of
others that offer no flush it is not known. ``copyonwrite`` writes to a file that is removed at the end (nbd-server(1)).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from fstui.layers import nbd_settings
from fstui.layers.kinds import kind
from fstui.layers.loop import file_layer
from fstui.layers.readers import Sources
from fstui.layers.sources import claims, processes
from fstui.layers.sources.claims import Command, Question
from fstui.layers.sources.processes import OpenFile
from fstui.layers.sources.sockets import CONNECTIONS, KERNEL, Connection, connections
from fstui.model.storage import Node, Reading

COPIES = nbd_settings.COPIES
_MEMFD = "/memfd:"
_DELETED = " (deleted)"
_SECTOR = 512
_MEMORY_PLUGINS = re.compile(r"/nbdkit-(?:memory|data|pattern)-plugin\.so$", re.M)
_MAPS_BYTES = 1 << 20
_IMAGES = frozenset({"qemu-nbd", "qemu-storage-daemon", "qemu-storage-da"})
"""They serve formats whose files are not as large as the disk."""
_UNSAFE = re.compile(r"--cache[ =]unsafe\b|\bno-flush=on\b")
_STAT = re.compile(r"(\d{1,15}) (\d{1,20}) (\d{1,19}) (\d{1,10})", re.ASCII)


class Behind(NamedTuple):
    """What a device stands on, where that is this box's own."""

    below: tuple[str, ...] = ()
    others: tuple[Node, ...] = ()
    readings: tuple[Reading, ...] = ()


class _Lies(NamedTuple):
    """What stat(1) told of a file."""

    which: tuple[str, str]
    """Device number of its filesystem, and inode."""
    size_bytes: int
    links: str


def lies_at(path: str) -> Command:
    """Device number of the filesystem, inode, size and links of what lies at a path."""
    return ("stat", "--dereference", "--format=%d %i %s %h", "--", path)


def questions(nodes: Iterable[Node]) -> Iterator[Question]:
    """What must be known of the servers of those devices."""
    for node in nodes:
        if node.size_bytes:
            yield Question(CONNECTIONS, root=True)
        for reading in node.readings:
            if reading.what == "served_file":
                yield from (Question(lies_at(path), root=True) for path in (reading.path, reading.value))
            elif reading.what == "server_settings":
                yield Question(nbd_settings.changed(reading.value), root=True)


class NbdServers:
    """Those that this box has, as they are in one survey."""

    def __init__(self, sources: Sources) -> None:
        self._sources, self._tree = sources, sources.tree

    def behind(self, name: str) -> Behind:
        """What that device stands on; nothing of one whose server is not known."""
        if not self._size_bytes(name):
            return Behind()
        servers = self._servers(name)
        files = [(server, file) for server in servers for file in self._files(name, server)]
        asked = tuple(Reading(what="served_file", value=file.name, path=file.descriptor) for _, file in files)
        found = {each: found for each in servers if (found := self._proved(name, each)) is not None}
        if len(found) != 1:
            return Behind(readings=asked)
        ((server, behind),) = found.items()
        program = Reading(what="server", value=processes.program(self._tree, server), path=f"/proc/{server}/exe")
        return behind._replace(readings=(program, *asked, *behind.readings, *self._settings(name, server)))

    def _servers(self, name: str) -> tuple[str, ...]:
        """The processes that may be its server."""
        holder = self._holder(name)
        ends = (each for each in self._connections if (holder in each.near if holder else each.near == KERNEL))
        return tuple(dict.fromkeys(server for each in ends for server in sorted(each.far)))

    @cached_property
    def _connections(self) -> tuple[Connection, ...]:
        return connections(self._sources.claims)

    @cached_property
    def _in_use(self) -> dict[str, int]:
        """The nbd devices that have a size."""
        names = (name for name in self._sources.names.wholes if re.fullmatch(r"nbd\d+", name))
        return {name: size for name in names if (size := self._size_bytes(name))}

    def _size_bytes(self, name: str) -> int:
        return (self._tree.integer(f"/sys/block/{name}/size") or 0) * _SECTOR

    def _holder(self, name: str) -> str:
        """The process that serves the device to the kernel; empty where that has only the socket."""
        number = self._tree.word(f"/sys/block/{name}/pid") or ""
        status = self._tree.text(f"/proc/{number}/status") or "" if number.isdecimal() else ""
        told = re.search(r"^Tgid:\t(\d+)$", status, re.M)  # a thread's is told
        return told[1] if told and processes.has_open(self._tree, told[1], f"/dev/{name}") else ""

    def _files(self, name: str, server: str) -> Iterator[OpenFile]:
        """What it has open for writing: no terminals and the like, nor the device itself."""
        for file in processes.written_files(self._tree, server):
            device = self._sources.names.at(file.name)
            special = file.name.startswith("/dev/") and not file.name.startswith("/dev/shm/")
            if device != name and (device is not None or not special):
                yield file

    def _proved(self, name: str, server: str) -> Behind | None:
        """What it keeps the device on, where that cannot be another device's."""
        files, program = tuple(self._files(name, server)), processes.program(self._tree, server)
        alone = self._is_only(name, None)
        if not files:
            return self._in_memory(server) if program == "nbdkit" and alone else None
        if alone and program == "nbd-server" and (copy := nbd_settings.copy(files, server)) is not None:
            return Behind(readings=(Reading(what="served", value=COPIES, path=copy.descriptor),))
        told = [self._lies(file, file.descriptor) for file in files]
        found = told[0]
        if found is None or any(each is None or each.which != found.which for each in told):
            return None
        same = found.size_bytes == self._size_bytes(name) and self._is_only(name, found.size_bytes)
        return self._on(files[0], found) if same or (alone and program in _IMAGES) else None

    def _is_only(self, name: str, size_bytes: int | None) -> bool:
        """No other device can be what the server serves: none of that size, or none at all; or its socket is known."""
        others = (size for other, size in self._in_use.items() if other != name)
        return bool(self._holder(name)) or not any(size_bytes is None or size == size_bytes for size in others)

    def _lies(self, file: OpenFile, path: str) -> _Lies | None:
        """What lies there; of a block device the size is the kernel's."""
        said = _STAT.fullmatch((claims.answer(self._sources.claims, lies_at(path)) or "").strip())
        device = self._sources.names.at(file.name)
        size = None if device is None else self._size_bytes(device)
        return None if said is None else _Lies((said[1], said[2]), int(said[3]) if size is None else size, said[4])

    def _in_memory(self, server: str) -> Behind | None:
        """A plugin that keeps it in the server's own memory."""
        maps = self._tree.text(f"/proc/{server}/maps", _MAPS_BYTES) or ""
        return _memory(f"memory:nbdkit {server}") if _MEMORY_PLUGINS.search(maps) else None

    def _on(self, file: OpenFile, found: _Lies) -> Behind:
        backing = Reading(what="backing_file", value=file.name, path=file.descriptor)
        if (device := self._sources.names.at(file.name)) is not None:
            return Behind((device,), (), (backing,))
        if file.name.startswith(_MEMFD):
            return _memory(f"memory:{file.name}")
        links = Reading(what="links", value=found.links, path=claims.line(lies_at(file.descriptor)))
        readings = (backing, links) if file.name.endswith(_DELETED) else (backing,)
        layer = self._layer(file, found)
        return Behind((layer.id,), (layer,), readings)

    def _layer(self, file: OpenFile, found: _Lies) -> Node:
        """The file, on the filesystem that holds it: by its path where that leads there, else by its number."""
        there = self._lies(file, file.name)
        if there is not None and there.which == found.which:
            return file_layer(self._sources, file.name)
        number = int(found.which[0])
        true = self._sources.mounted(f"{os.major(number)}:{os.minor(number)}")
        node = kind("backing-file").node(f"file:{file.name}", file.name)
        below = (f"mount:{true.mount_point}",) if true is not None else ()
        return msgspec.structs.replace(node, below=below)

    def _settings(self, name: str, server: str) -> Iterator[Reading]:
        """What its command line, or its settings, say of flushes."""
        line = " ".join(processes.words(self._tree, server))
        program = processes.program(self._tree, server)
        if program in _IMAGES and (told := _UNSAFE.search(line)):
            yield Reading(what="served", value=told[0], path=f"/proc/{server}/cmdline")
        if self._tree.word(f"/sys/block/{name}/queue/write_cache") == "write through":
            files = [file.name for file in self._files(name, server)]
            yield from nbd_settings.readings(self._sources, server, program, files[0] if files else "")


def _memory(node_id: str) -> Behind:
    node = kind("tmpfs").node(node_id, "memory", layer="memory")
    return Behind((node.id,), (node,))
