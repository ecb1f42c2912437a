"""Loop devices, a file of a filesystem as a disk: ``backing_file``, ``dio`` (1 | 0), ``offset``, ``ro``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from fstui.layers.facts import Fact, one_of
from fstui.layers.kinds import Kind, kind
from fstui.layers.readers import Device, DeviceReader, Sources, some
from fstui.layers.sources import claims
from fstui.layers.sources.claims import Question
from fstui.model.storage import Node, Reading, SyncPath

_MEMFD = "/memfd:"
"""A file in memory that no filesystem names (memfd_create(2))."""
_DELETED = " (deleted)"
_BEGAN_NAMELESS = re.compile(r"/#\d+ \(deleted\)$")
"""O_TMPFILE (open(2)): a name that linkat(2) gave it later does not show here."""
BACKING = ("losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-MAJ:MIN")
"""The filesystem that each file lies on, by its device number: the loop's own word (LOOP_GET_STATUS64, loop(4))."""
_PER_SUBVOLUME = "0"
"""The major number of devices that stand for nothing: each subvolume of btrfs has one of its own, mountinfo another."""


class LoopFacts(NamedTuple):
    """What was read of one."""

    direct: Fact[bool] | None
    """Direct I/O to the backing file; without it, what is written stays in the page cache until it is flushed."""
    deleted: Fact[bool] | None
    """No name leads to the file any more, so it goes with the device. Unknown of one that began without a name."""


def facts(node: Node) -> LoopFacts:
    """What the readings of a loop device say."""
    return LoopFacts(
        direct=one_of(node, "dio", {"1": True, "0": False}), deleted=_deleted(node.reading("backing_file"))
    )


def _deleted(file: Reading | None) -> Fact[bool] | None:
    if file is None or _BEGAN_NAMELESS.search(file.value):
        return None
    return Fact(file.value.endswith(_DELETED) and not file.value.startswith(_MEMFD), file)


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
                self.tree.reading("dio", f"/sys/block/{name}/loop/dio"),
                self.tree.reading("offset", f"/sys/block/{name}/loop/offset"),
                # a read-only loop says write through, whatever is below: nobody writes
                read_only if read_only and read_only.value == "1" else None,
            ]
        )

    def _backing(self, name: str, file: str) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        """The device that the file is, or the file itself."""
        if (device := self.sources.names.at(file)) is not None:
            return (device,), ()
        path = file.removesuffix(_DELETED)
        if path.startswith(_MEMFD):
            memory = kind("tmpfs").node(f"memory:{path}", "memory", layer="memory")
            return (memory.id,), (memory,)
        layer = self._elsewhere(name, path) or file_layer(self.sources, path)
        return (layer.id,), (layer,)

    def _elsewhere(self, name: str, path: str) -> Node | None:
        """The file, where its path leads to another filesystem here: the loop was set up in another mount namespace, or
        something was mounted over it later."""
        told, here = self._numbers.get(name), self.sources.holder(path)
        if told is None or here is None or told == here.device:
            return None
        if told.partition(":")[0] == here.device.partition(":")[0] == _PER_SUBVOLUME:
            return None
        true = self.sources.mounted(told)
        node = kind("backing-file").node(f"file:{path}", path, below=(f"mount:{true.mount_point}",) if true else ())
        because = f"its filesystem ({told}) is not the one that its path leads to here"
        return msgspec.structs.replace(node, because=because)

    @cached_property
    def _numbers(self) -> Mapping[str, str]:
        """The device number of the filesystem under each loop, where losetup was asked."""
        said = (claims.answer(self.sources.claims, BACKING) or "").replace("\\x20", " ")
        lines = (line.split() for line in said.split("\n"))
        return {words[0].removeprefix("/dev/"): words[1] for words in lines if len(words) == 2}


class Loop(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """One list tells of all."""
        return (Question(BACKING, root=True),)

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
        adds_bytes=False,
        settings=("dio",),
    ),
    Kind(name="backing-file", layer="file", sync="passes", because="an fsync of the file"),
)
DEVICES = LoopReader
