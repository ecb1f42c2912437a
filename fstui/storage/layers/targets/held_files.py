"""Disks that a program of this very box serves from a file that it has open: where that file lies.

It is known by its device and inode, so that the server may live in another mount namespace, and its path may lead to
another file here. Readings of the disk: ``served_file`` (what its server has open for writing), ``backing_file`` and
``links`` as of a loop device.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from fstui.model.storage import Node, Reading
from fstui.storage.layers.kinds import kind
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import claims, processes
from fstui.storage.layers.sources.claims import Command, Question
from fstui.storage.layers.sources.processes import OpenFile
from fstui.storage.layers.stacked.loop import file_layer

_FILE = "served_file"
_MEMFD = "/memfd:"
_DELETED = " (deleted)"
_SECTOR = 512
_STAT = re.compile(r"(\d{1,15}) (\d{1,20}) (\d{1,19}) (\d{1,10})", re.ASCII)


class Behind(NamedTuple):
    """What a disk stands on, where that is this box's own."""

    below: tuple[str, ...] = ()
    """Kernel names, or ids of ``others``."""
    others: tuple[Node, ...] = ()
    readings: tuple[Reading, ...] = ()


class Lies(NamedTuple):
    """What stat(1) told of a file."""

    which: tuple[str, str]
    """Device number of its filesystem, and inode."""
    size_bytes: int
    links: str


def lies_at(path: str) -> Command:
    """Device number of the filesystem, inode, size and links of what lies at a path."""
    return ("stat", "--dereference", "--format=%d %i %s %h", "--", path)


def questions(node: Node) -> Iterator[Question]:
    """What must be known of the files that its server may keep it in."""
    for reading in node.readings:
        if reading.what == _FILE:
            yield from (Question(lies_at(path), root=True) for path in (reading.path, reading.value))


def asked(files: Iterable[OpenFile]) -> tuple[Reading, ...]:
    """``served_file`` of each."""
    return tuple(Reading(what=_FILE, value=file.name, path=file.descriptor) for file in files)


def is_held(disk: Node) -> bool:
    """Its server's files were asked about."""
    return disk.reading(_FILE) is not None


def in_memory(node_id: str, of: str = "tmpfs") -> Behind:
    """It is kept in memory, which no filesystem names: a memfd is tmpfs's (memfd_create(2)), or a program's own."""
    node = kind(of).node(node_id, "memory", layer="memory")
    return Behind((node.id,), (node,))


class HeldFiles:
    """Those of any process, as they are in one survey."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def of(self, server: str, disk: str) -> tuple[OpenFile, ...]:
        """What it has open for writing: no terminals and the like, nor the disk that it serves."""
        return tuple(
            file
            for file in processes.written_files(self._sources.tree, server)
            if (device := self._sources.names.at(file.name)) != disk and (device is not None or not _special(file))
        )

    def size_bytes(self, disk: str) -> int:
        """Of a block device, by its name."""
        return (self._sources.tree.integer(f"/sys/block/{disk}/size") or 0) * _SECTOR

    def lies(self, file: OpenFile, path: str = "") -> Lies | None:
        """What the process has there, or what lies at ``path``; of a block device the size is the kernel's."""
        said = _STAT.fullmatch((claims.answer(self._sources.claims, lies_at(path or file.descriptor)) or "").strip())
        device = self._sources.names.at(file.name)
        size = None if device is None else self.size_bytes(device)
        return None if said is None else Lies((said[1], said[2]), int(said[3]) if size is None else size, said[4])

    def behind(self, file: OpenFile, found: Lies) -> Behind:
        """What a disk stands on that is kept in that file."""
        backing = Reading(what="backing_file", value=file.name, path=file.descriptor)
        if (device := self._sources.names.at(file.name)) is not None:
            return Behind((device,), (), (backing,))
        if file.name.startswith(_MEMFD):
            return in_memory(f"memory:{file.name}")
        links = Reading(what="links", value=found.links, path=claims.line(lies_at(file.descriptor)))
        layer = self._layer(file, found)
        return Behind((layer.id,), (layer,), (backing, links) if file.name.endswith(_DELETED) else (backing,))

    def _layer(self, file: OpenFile, found: Lies) -> Node:
        """The file, on the filesystem that holds it: by its path where that leads there, else by its number."""
        there = self.lies(file, file.name)
        if there is not None and there.which == found.which:
            return file_layer(self._sources, file.name)
        number = int(found.which[0])
        true = self._sources.mounted(f"{os.major(number)}:{os.minor(number)}")
        node = kind("backing-file").node(f"file:{file.name}", file.name)
        below = (f"mount:{true.mount_point}",) if true is not None else ()
        return msgspec.structs.replace(node, below=below)


def _special(file: OpenFile) -> bool:
    return file.name.startswith("/dev/") and not file.name.startswith("/dev/shm/")
