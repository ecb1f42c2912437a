"""Volumes of a ZFS pool: block devices that answer a flush as a dataset answers a sync.

``volume`` is the name in the pool, by the links that udev makes below /dev/zvol; ``sync`` and ``logbias`` are told by
``zfs`` (zfsprops(7)), ``zil_replay_disable`` and ``barrier`` (barrier | nobarrier: flushes are dropped) by the module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.claims import Question
from fstui.storage.layers.facts import barriers
from fstui.storage.layers.forwarding import AT_TIMES, Forwarded, Member
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import Device, DeviceReader, Role, some, with_readings
from fstui.storage.layers.zfs.datasets import (
    COLUMNS,
    PARAMETERS,
    REPLAY,
    barrier,
    facts,
    is_always,
    of_pool,
    pools,
    properties,
)
from fstui.storage.layers.zfs.zpool import Pool, Pools

LINKS = "/dev/zvol"
_DEEPEST = 50
"""Of names in a pool (ZFS_MAX_DATASET_NAME_LEN leaves no room for more)."""


class VolumeReader(DeviceReader):
    """Reads volumes."""

    def read(self, name: str) -> Device:
        volume = self._names.get(name)
        told = Reading(what="volume", value=volume, path=f"{LINKS}/{volume}") if volume else None
        replay = self.tree.reading(REPLAY, f"{PARAMETERS}/{REPLAY}")
        pool = self._pools.pool(volume.partition("/")[0]) if volume else Pool(())
        return Device(
            kind=self.row.name,
            label=volume or name,
            below=tuple(layer.id for layer in pool.layers[:1]),
            readings=(*some([told, replay]), *barrier(self.tree), *self.queue(name)),
            roles=pool.roles,
            others=pool.layers,
        )

    def with_answers(self, node: Node, roles: tuple[Role, ...]) -> tuple[Node, tuple[Role, ...]]:
        """With the properties that decide what a flush is worth."""
        volume = node.reading("volume")
        told = properties(self.sources.claims).get(volume.value, ()) if volume else ()
        return with_readings(node, told), roles

    @cached_property
    def _pools(self) -> Pools:
        return pools(self.sources)

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

    def keeps_each_write(self, node: Node) -> bool:
        """With sync=always each write is in the intent log before it is answered (zfsprops(7)), and on the disks unless
        the module was told to send them no flushes; after a power cut the log is read, unless it was told not to."""
        told, sends = facts(node), barriers(node)
        kept = told is None or told.replayed is None or told.replayed.value
        return is_always(node.readings) and kept and (sends is None or sends.value)

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Of each volume its properties, and its pool's devices. Users are answered, too."""
        names = [told.value for node in nodes if (told := node.reading("volume"))]
        of_pools = (command for name in names for command in of_pool(name.partition("/")[0]))
        of_volumes = (("zfs", "get", *COLUMNS, "sync,logbias", name) for name in names)
        return tuple(Question(command) for command in dict.fromkeys((*of_pools, *of_volumes)))

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """A flush with nothing to commit writes and flushes nothing; the data follows with a transaction group."""
        return AT_TIMES

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Its log's devices or all: that is a matter of its own ``logbias``, which its pool is not asked with."""
        return None


KINDS = (
    Volume(
        name="zvol",
        layer="block",
        device_names="zd",
        because="what it does with a flush is not told here",
        may_cache=True,
        barriers_on=None,
    ),
)
DEVICES = VolumeReader
