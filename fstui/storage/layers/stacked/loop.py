"""Loop devices: a file that serves as a disk.

Readings: ``backing_file``, ``dio`` (1 | 0), ``offset``, ``ro``. The kernel appends " (deleted)" to the path of a
deleted file.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from fstui.model.storage import Node, Reading, SyncPath
from fstui.proc import Mount
from fstui.storage import tool_output
from fstui.storage.layers.facts import is_read_only
from fstui.storage.layers.kinds import LayerKind, kind
from fstui.storage.layers.readers import DeviceReader, LayerDescription, without_none
from fstui.storage.tool_output import Command

_MEMFD = "/memfd:"
"""The beginning of the path of a file in memory (memfd_create(2)), which has no name in any directory."""
_DELETED = " (deleted)"
LIST_COMMAND = ("losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-MAJ:MIN,BACK-INO")
"""Prints the device number of the filesystem of each file, and the inode of the file. They come from the loop device
itself (LOOP_GET_STATUS64, loop(4)), so they are correct even if the path leads to another file."""
_STAT_OUTPUT = r"(?a)(\d{1,15}) (\d{1,20}) ([0-9a-f]{1,8}):([0-9a-f]{1,8})"
"""What ``stat_command`` prints."""


class Identity(NamedTuple):
    """What identifies a file independently of its path."""

    device: str
    """``major:minor`` of its filesystem."""
    inode: str
    """Empty if losetup is too old to print it."""


def uses_direct_io(node: Node) -> bool:
    return node.value("dio") == "1"


def deleted_backing_file(node: Node) -> Reading | None:
    """Return ``backing_file`` if that name was deleted. The file may still have another name (a hard link)."""
    file = node.reading("backing_file")
    is_deleted = file is not None and file.value.endswith(_DELETED) and not file.value.startswith(_MEMFD)
    return file if is_deleted else None


def stat_command(path: str) -> Command:
    """Return the command that prints what is at a path: device number, inode, its own number if it is a device node."""
    return ("stat", "--dereference", "--format=%d %i %t:%T", "--", path)


def file_layer(path: str, mount: Mount | None, reason: str | None = None) -> Node:
    """Return the layer of a file that serves as a disk, on the filesystem of a mount."""
    file_kind = kind("backing-file")
    below = (f"mount:{mount.mount_point}",) if mount is not None else ()
    return file_kind.node(f"file:{path}", path, below=below, reason=reason or file_kind.reason)


class LoopReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        path = f"/sys/block/{name}/loop/backing_file"
        file = self.tree.text(path)
        below, other_layers = self._backing(name, file) if file else ((), ())
        settings = (
            Reading(what="backing_file", value=file, path=path) if file else None,
            self.tree.reading("dio", f"/sys/block/{name}/loop/dio"),
            self.tree.reading("offset", f"/sys/block/{name}/loop/offset"),
            self.tree.reading("ro", f"/sys/block/{name}/ro", only=("1",)),
        )
        return LayerDescription(
            below=below,
            readings=(*without_none(settings), *self.queue_readings(name)),
            identity=f"file {file}",
            other_layers=other_layers,
        )

    def worth_listing(self, node: Node) -> bool:
        return bool(node.below)

    def _backing(self, name: str, file: str) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        device = self.sources.names.by_path(file) or self._device_behind_node(name, file)
        if device is not None:
            return (device,), ()
        path = file.removesuffix(_DELETED)
        if path.startswith(_MEMFD):
            memory = kind("tmpfs").node(f"memory:{path}", "memory", layer="memory")
            return (memory.id,), (memory,)
        layer = self._file_layer(name, path)
        return (layer.id,), (layer,)

    def _device_behind_node(self, name: str, file: str) -> str | None:
        """Return the block device that backs the loop device if the path of its backing file leads to a device node.

        In a container, the node may be outside /dev, or may have another name than the kernel's.
        """
        identity, backing, device = self._identities.get(name), *self._file_at(file)
        if backing is None or (identity is not None and backing != identity):
            return None
        return self.sources.names.by_number(device)

    def _file_at(self, path: str) -> tuple[Identity | None, str]:
        """Return what is at a path, None if that is unknown; and ``major:minor`` if it is a device node, else 0:0."""
        output = tool_output.output_of(self.sources.tool_outputs, stat_command(path)) or ""
        if (match := re.fullmatch(_STAT_OUTPUT, output.strip())) is None:
            return None, ""
        number, major, minor = int(match[1]), int(match[3], 16), int(match[4], 16)
        return Identity(f"{os.major(number)}:{os.minor(number)}", inode=match[2]), f"{major}:{minor}"

    def _is_another_file(self, name: str, path: str) -> bool:
        """Return whether the file at that path cannot be the file of the loop device. Used if losetup printed nothing.

        It cannot be that file if it does not exist, or if its filesystem was mounted after that on the loop device.
        """
        if tool_output.reports_absence(self.sources.tool_outputs, stat_command(path)):
            return True
        mount = self.sources.mount_of_path(path)
        mount_of_loop = self.sources.mount_of_device(self.tree.stripped(f"/sys/block/{name}/dev") or "")
        return mount is not None and mount_of_loop is not None and mount.line > mount_of_loop.line

    def _file_layer(self, name: str, path: str) -> Node:
        """Return the layer of the backing file. In this mount namespace, its path may lead to another file.

        Then the loop device was set up in another mount namespace, or a filesystem was mounted over the file later.
        """
        identity, visible_mount = self._identities.get(name), self.sources.mount_of_path(path)
        if identity is None and self._is_another_file(name, path):
            reason = "it is not at this path in this mount namespace, so its filesystem is not known"
            return file_layer(path, None, reason)
        if identity is not None and visible_mount is not None and not self._is_on(visible_mount, identity, path):
            reason = f"its filesystem ({identity.device}) is not the one at this path in this mount namespace"
            return file_layer(path, self.sources.mount_of_device(identity.device), reason)
        return file_layer(path, visible_mount)

    def _is_on(self, mount: Mount, identity: Identity, path: str) -> bool:
        """Return whether the file is at ``path``, which leads to ``mount``.

        If stat(1) printed nothing, return True on btrfs, whose subvolumes have anonymous numbers (0:N) of their own.
        """
        if identity.device == mount.device:
            return True
        file, _ = self._file_at(path)
        if file is None:
            return mount.fstype == "btrfs" and identity.device.startswith("0:")
        return file == identity if identity.inode else file.device == identity.device

    @cached_property
    def _identities(self) -> Mapping[str, Identity]:
        """The file of each loop device; empty if losetup printed nothing."""
        # losetup prints the blanks that align the columns as \x20
        output = (tool_output.output_of(self.sources.tool_outputs, LIST_COMMAND) or "").replace("\\x20", " ")
        lines = (line.split() for line in output.split("\n"))
        return {words[0].removeprefix("/dev/"): Identity(words[1], "".join(words[2:])) for words in lines if words[1:]}


class Loop(LayerKind, frozen=True, kw_only=True):
    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        """Return the commands that list the files of all loop devices and identify the file at each path.

        The paths of read-only devices are left out, because no write reaches their files.
        """
        files = (node.value("backing_file") for node in nodes if not is_read_only(node))
        paths = (file for file in files if file is not None and not file.startswith(_MEMFD))
        return (LIST_COMMAND, *map(stat_command, paths))

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        buffered = "" if uses_direct_io(node) else "; direct-io is off: O_DIRECT writes above stay in the page cache"
        return self.sync, self.reason + buffered


KINDS = (
    Loop(
        name="loop",
        name_prefix="loop",
        reader=LoopReader,
        sync="passes",
        reason="a flush becomes an fsync of the backing file",
        counts_flushes=True,
        flush_is_fsync=True,
        adds_bytes=False,
        settings=("dio",),
    ),
    *(
        LayerKind(name=name, layer="file", sync="passes", reason="an fsync of the file")
        for name in ("backing-file", "file")  # "file": documents of the first version
    ),
)
