"""Volumes of a ZFS pool: block devices that answer a flush as a dataset answers a sync.

``volume`` is the name in the pool, by the links that udev makes below /dev/zvol; ``sync`` and ``logbias`` are told by
``zfs`` (zfsprops(7)), ``zil_replay_disable`` by the module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from fstui.layers.kinds import Kind
from fstui.layers.readers import Device, DeviceReader, Role, some, with_readings
from fstui.layers.sources.claims import Question
from fstui.layers.zfs import COLUMNS, PARAMETERS, REPLAY, facts, properties
from fstui.model.storage import Node, Reading, SyncPath

LINKS = "/dev/zvol"
_DEEPEST = 50
"""Of names in a pool (ZFS_MAX_DATASET_NAME_LEN leaves no room for more)."""


class VolumeReader(DeviceReader):
    """Reads volumes."""

    def read(self, name: str) -> Device:
        volume = self._names.get(name)
        told = Reading(what="volume", value=volume, path=f"{LINKS}/{volume}") if volume else None
        replay = self.tree.reading(REPLAY, f"{PARAMETERS}/{REPLAY}")
        return Device(self.row.name, volume or name, self.slaves(name), (*some([told, replay]), *self.queue(name)))

    def asked(self, node: Node, roles: tuple[Role, ...]) -> tuple[Node, tuple[Role, ...]]:
        """With the properties that decide what a flush is worth."""
        volume = node.reading("volume")
        told = properties(self.sources.claims).get(volume.value, ()) if volume else ()
        return with_readings(node, told), roles

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {path.rpartition("/")[2]: name for name, path in self._links(LINKS, _DEEPEST)}

    def _links(self, directory: str, depth: int) -> Iterator[tuple[str, str]]:
        """The name of each volume, and where its link leads."""
        for name in self.tree.names(directory) if depth else ():
            path = f"{directory}/{name}"
            target = self.tree.link(path)
            if target is not None:
                yield path.removeprefix(f"{LINKS}/"), target
            else:
                yield from self._links(path, depth - 1)


class Volume(Kind, frozen=True, kw_only=True):
    """The row of a volume."""

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        told = facts(node)
        if told is None or told.disabled is None:
            return "unknown", self.because
        if told.disabled.value:
            return "stops", "sync=disabled: every flush returns at once"
        return "passes", "a flush commits the intent log"

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Of each volume its properties. Users are answered, too."""
        named = (node.reading("volume") for node in nodes)
        return tuple(Question(("zfs", "get", *COLUMNS, "sync,logbias", told.value)) for told in named if told)


KINDS = (
    Volume(
        name="zvol",
        layer="block",
        device_names="zd",
        because="what it does with a flush is not told here",
        may_cache=True,
    ),
)
DEVICES = VolumeReader
