"""Volumes of a ZFS pool: block devices that handle a flush as a dataset handles a sync.

``volume`` is the name in the pool, from the links that udev creates below /dev/zvol. The tool ``zfs`` reports ``sync``
and ``logbias`` (zfsprops(7)). The parameters of the module give ``zil_replay_disable`` and ``barrier`` (barrier |
nobarrier: flushes are dropped).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.facts import barriers_off
from fstui.storage.layers.forwarding import SOMETIMES, Forwarded
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import DeviceReader, LayerDescription, with_readings, without_none
from fstui.storage.layers.zfs.datasets import REPLAY_PARAMETER, barrier_reading, sync_path, zfs_commands
from fstui.storage.layers.zfs.zpool import PARAMETERS, Pools
from fstui.storage.tool_output import Command

LINKS = "/dev/zvol"
_MAX_DEPTH = 50
"""Maximum depth of the search for links. ZFS limits the depth of names in a pool too."""


class VolumeReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        volume = self._volume_names.get(name)
        name_reading = Reading(what="volume", value=volume, path=f"{LINKS}/{volume}") if volume else None
        replay = self.tree.reading(REPLAY_PARAMETER, f"{PARAMETERS}/{REPLAY_PARAMETER}")
        pool = self._pools.pool_below(volume) if volume else LayerDescription()
        readings = (*without_none([name_reading, replay]), *barrier_reading(self.tree), *self.queue_readings(name))
        return pool._replace(readings=readings, label=volume or "")

    def with_tool_output(self, node: Node) -> Node:
        return with_readings(node, self._pools.properties.get(node.value("volume") or "", ()))

    @cached_property
    def _pools(self) -> Pools:
        return Pools(self.sources)

    @cached_property
    def _volume_names(self) -> Mapping[str, str]:
        return {path.rpartition("/")[2]: name for name, path in self._links(LINKS, _MAX_DEPTH)}

    def _links(self, directory: str, depth: int) -> Iterator[tuple[str, str]]:
        for name in self.tree.names(directory) if depth else ():
            path = f"{directory}/{name}"
            target = self.tree.link(path)
            if target is not None:
                yield path.removeprefix(f"{LINKS}/"), target
            else:
                yield from self._links(path, depth - 1)


class Volume(LayerKind, frozen=True, kw_only=True):
    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        return sync_path(node, "flush")

    def is_each_write_durable(self, node: Node) -> bool:
        """Return whether sync=always is in effect: then each write is in the intent log before it is acknowledged."""
        return node.value("sync") == "always" and node.value(REPLAY_PARAMETER) != "1" and not barriers_off(node)

    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        # one command for each volume: if a volume was destroyed, zfs reports an error for all names of a command
        names = (node.value("volume") or "" for node in nodes)
        return tuple(dict.fromkeys(command for name in names for command in zfs_commands([name], ("sync", "logbias"))))

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return SOMETIMES. A flush causes no flush below if the intent log has nothing to commit; ZFS writes the data
        later, with a transaction group."""
        return SOMETIMES

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return None. Whether a sync waits for the log device depends on ``logbias``, which is a property of the
        volume, not of the pool."""
        return None


KINDS = (Volume(name="zvol", name_prefix="zd", reader=VolumeReader, may_cache=True, barrier_option=None),)
