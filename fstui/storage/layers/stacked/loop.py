"""Loop devices, a file of a filesystem as a disk: ``backing_file``, ``named`` (where its name ends in the kernel's word
for a deleted one), ``dio`` (1 | 0), ``offset``, ``ro``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage import claims
from fstui.storage.claims import Question
from fstui.storage.layers.facts import Fact, one_of
from fstui.storage.layers.kinds import Kind, kind
from fstui.storage.layers.readers import Device, DeviceReader, Sources, some

_MEMFD = "/memfd:"
"""A file in memory that no filesystem names (memfd_create(2))."""
_DELETED = " (deleted)"
BACKING = ("losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-MAJ:MIN,BACK-INO")
"""The filesystem that each file lies on, by its device number, and its inode: the loop's own word (LOOP_GET_STATUS64,
loop(4))."""
_AT_PATH = re.compile(r"(\d{1,15}) (\d{1,20}) ([0-9a-f]{1,8}):([0-9a-f]{1,8})(?: (\d{1,20}))?", re.ASCII)
_ABSENT = "No such file or directory"
"""stat(1) in the C locale."""
_SECTOR = 512
_PER_SUBVOLUME = "0"
"""The major number of devices that stand for nothing: each subvolume of btrfs has one of its own, mountinfo another."""


class Identity(NamedTuple):
    """Which file it is."""

    device: str
    """``major:minor`` of its filesystem."""
    inode: str
    """Empty where losetup is too old to tell."""


class LoopFacts(NamedTuple):
    """What was read of one."""

    direct: Fact[bool] | None
    """Direct I/O to the backing file; without it, what is written stays in the page cache until it is flushed."""
    deleted: Fact[bool] | None
    """The kernel says that the name with which the loop was set up is gone. A second hard link may lead to the file."""


def facts(node: Node) -> LoopFacts:
    """What the readings of a loop device say."""
    file = node.reading("backing_file")
    gone = file is not None and node.reading("named") is None and _is_called_deleted(file.value)
    return LoopFacts(
        direct=one_of(node, "dio", {"1": True, "0": False}),
        deleted=Fact(gone, file) if file is not None else None,
    )


def _is_called_deleted(file: str) -> bool:
    return file.endswith(_DELETED) and not file.startswith(_MEMFD)


def at_path(path: str) -> claims.Command:
    """What lies at a path: its device number and inode, the number of the device that it is, and its size."""
    return ("stat", "--dereference", "--format=%d %i %t:%T %s", "--", path)


def file_layer(sources: Sources, path: str) -> Node:
    """A file that serves as a disk, on the filesystem that holds it."""
    holder = sources.holder(path)
    below = (f"mount:{holder.mount_point}",) if holder is not None else ()
    return kind("backing-file").node(f"file:{path}", path, below=below)


class LoopReader(DeviceReader):
    """Reads loop devices."""

    def read(self, name: str) -> Device:
        path = f"/sys/block/{name}/loop/backing_file"
        file = self.tree.text(path)
        below, others = self._backing(name, file) if file else ((), ())
        return Device(
            kind=self.row.name,
            label=name,
            below=below,
            readings=(*self._own(name, path, file), *self.queue(name)),
            identity=f"file {file}",
            others=others,
        )

    def worth_listing(self, node: Node) -> bool:
        """It has a backing file."""
        return bool(node.below)

    def _own(self, name: str, path: str, file: str | None) -> tuple[Reading, ...]:
        read_only = self.tree.reading("ro", f"/sys/block/{name}/ro")
        return some(
            [
                Reading(what="backing_file", value=file, path=path) if file else None,
                self._named(name, file) if file else None,
                self.tree.reading("dio", f"/sys/block/{name}/loop/dio"),
                self.tree.reading("offset", f"/sys/block/{name}/loop/offset"),
                # a read-only loop says write through, whatever is below: nobody writes
                read_only if read_only and read_only.value == "1" else None,
            ]
        )

    def _backing(self, name: str, file: str) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        """The device that the file is, or the file itself."""
        device = self.sources.names.at(file) or self._node_elsewhere(name, file)
        if device is not None:
            return (device,), ()
        path = file if self._named(name, file) else file.removesuffix(_DELETED)
        if path.startswith(_MEMFD):
            memory = kind("tmpfs").node(f"memory:{path}", "memory", layer="memory")
            return (memory.id,), (memory,)
        layer = self._elsewhere(name, path) or file_layer(self.sources, path)
        return (layer.id,), (layer,)

    def _named(self, name: str, file: str) -> Reading | None:
        """It is called so, and was not deleted: at that very path lies what the loop says it has."""
        told, found = self._identities.get(name), self._found(file)
        if not file.endswith(_DELETED) or told is None or found is None or found[0] != told:
            return None
        return Reading(what="named", value=file, path=claims.line(at_path(file)))

    def _node_elsewhere(self, name: str, file: str) -> str | None:
        """The block device whose node lies there, outside of /dev or by a name of its own, as in a container."""
        told, found = self._identities.get(name), self._found(file)
        if found is None or (told is not None and found[0] != told):
            return None
        return self.sources.names.of(found[1])

    def _found(self, file: str) -> tuple[Identity, str] | None:
        """What lies at that path, and the number of the device that it is: 0:0 of a file."""
        said = _AT_PATH.fullmatch((claims.answer(self.sources.claims, at_path(file)) or "").strip())
        if said is None:
            return None
        number, inode, major, minor = int(said[1]), said[2], int(said[3], 16), int(said[4], 16)
        return Identity(f"{os.major(number)}:{os.minor(number)}", inode), f"{major}:{minor}"

    def _is_nowhere(self, path: str) -> bool:
        """Nothing lies at that path here, as in a container that has something else mounted where it begins."""
        said = self.sources.claims.get(claims.line(at_path(path)))
        return said is not None and said.error is not None and said.error.endswith(_ABSENT)

    def _is_smaller(self, name: str, path: str) -> bool:
        """What lies there has less room than the loop: another file, or no file."""
        said = _AT_PATH.fullmatch((claims.answer(self.sources.claims, at_path(path)) or "").strip())
        sectors = self.tree.integer(f"/sys/block/{name}/size")
        return said is not None and said[5] is not None and sectors is not None and int(said[5]) < sectors * _SECTOR

    def _is_covered(self, name: str, path: str) -> bool:
        """What holds that path was mounted when the loop was in use already: it had its file open by then."""
        here = self.sources.holder(path)
        above = self.sources.mounted(self.tree.word(f"/sys/block/{name}/dev") or "")
        return here is not None and above is not None and here.place > above.place

    def _elsewhere(self, name: str, path: str) -> Node | None:
        """The file, where its path leads to another filesystem here, or to nothing: the loop was set up in another
        mount namespace, or something was mounted over it later."""
        identity, here = self._identities.get(name), self.sources.holder(path)
        if identity is None and (
            self._is_nowhere(path) or self._is_smaller(name, path) or self._is_covered(name, path)
        ):
            node = kind("backing-file").node(f"file:{path}", path)
            return msgspec.structs.replace(
                node, because="it does not lie at its path here: its filesystem is not known"
            )
        if identity is None or here is None or identity.device == here.device:
            return None
        told = identity.device
        if told.partition(":")[0] == here.device.partition(":")[0] == _PER_SUBVOLUME:
            return None
        true = self.sources.mounted(told)
        node = kind("backing-file").node(f"file:{path}", path, below=(f"mount:{true.mount_point}",) if true else ())
        because = f"its filesystem ({told}) is not the one that its path leads to here"
        return msgspec.structs.replace(node, because=because)

    @cached_property
    def _identities(self) -> Mapping[str, Identity]:
        """The file under each loop, where losetup was asked."""
        said = (claims.answer(self.sources.claims, BACKING) or "").replace("\\x20", " ")
        lines = (line.split() for line in said.split("\n"))
        return {words[0].removeprefix("/dev/"): Identity(words[1], "".join(words[2:])) for words in lines if words[1:]}


class Loop(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """One list tells of all; where each path leads is asked of those that are written to."""
        files = (node.reading("backing_file") for node in nodes if node.reading("ro") is None)
        paths = (file.value for file in files if file is not None and not file.value.startswith(_MEMFD))
        return (
            Question(BACKING, root=True),
            *(Question(at_path(path)) for path in paths),
        )

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        direct = facts(node).direct
        buffered = "" if direct and direct.value else "; direct-io is off: O_DIRECT above ends in the page cache"
        return self.sync, self.because + buffered


KINDS = (
    Loop(
        name="loop",
        layer="block",
        device_names="loop",
        sync="passes",
        because="a flush becomes an fsync of the backing file",
        counts_flushes=True,
        flush_is_fsync=True,
        adds_bytes=False,
        settings=("dio",),
    ),
    *(
        Kind(name=name, layer="file", sync="passes", because="an fsync of the file")
        for name in ("backing-file", "file")  # "file" in documents of the first version
    ),
)
DEVICES = LoopReader
