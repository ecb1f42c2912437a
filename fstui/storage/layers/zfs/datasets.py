"""ZFS datasets, and the properties that decide what a sync costs and whether it is durable.

Readings: the tool ``zfs`` reports ``sync``, ``logbias``, ``recordsize``, ``compression``, ``primarycache`` and
``atime``. The path of such a reading ends with the origin of the value: "(inherited from tank)".

In /proc and /sys, every user can read ``zil_commit_count``, and the parameters ``zfs_nocacheflush`` and
``zil_nocacheflush`` (0 | 1) of the module. OpenZFS 2.2 and later count ZIL commits per dataset, earlier versions per
host.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node, Reading, SyncPath
from fstui.proc import Mount
from fstui.storage.layers.flushes import ONE_FLUSH, ExpectedFlushes, Sync
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import FilesystemReader, LayerDescription, Sources, without_none
from fstui.storage.layers.zfs.zpool import PARAMETERS, Pools, flush_parameters
from fstui.storage.tool_output import Command, missing_reading
from fstui.storage.tree import Tree

KSTAT = "/proc/spl/kstat/zfs"
REPLAY_PARAMETER = "zil_replay_disable"
COLUMNS = ("-H", "-p", "-o", "name,property,value,source")
PROPERTIES = ("sync", "logbias", "recordsize", "compression", "primarycache", "atime")
_NAMES_PER_COMMAND = 100
_COMMITS = rb"(?m)^zil_commit_count\s+\d+\s+(\d{1,18})\s*$"
_DATASET = rb"(?m)^dataset_name\s+\d+\s+(\S.*?)\s*$"


def sync_path(node: Node, call: str) -> tuple[SyncPath, str]:
    """Return what a dataset or volume does with a sync or flush (``call``), and why (zfsprops(7))."""
    sync = node.value("sync")
    if sync is None:
        return "unknown", "its properties are not known"
    if sync == "disabled":
        return "stops", f"sync=disabled: every {call} returns immediately"
    return "passes", f"a {call} commits the intent log"


class DatasetReader(FilesystemReader):
    def __init__(self, layer_kind: LayerKind, sources: Sources) -> None:
        super().__init__(layer_kind, sources)
        self._pools = Pools(sources)
        self._counter_paths: dict[str, Mapping[str, str]] = {}

    def read_layers_below(self, mount: Mount) -> LayerDescription:
        return self._pools.pool_below(mount.source)

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        """Return ``barrier``, which shows whether a parameter of the module drops flushes, and the other settings."""
        barrier = super().settings(mount, device) or barrier_reading(self.tree)
        name, tool_outputs = mount.source, self.sources.tool_outputs
        missing_properties = missing_reading("the dataset's properties", [("zfs", "get", "all", name)], tool_outputs)
        replay = self.tree.reading(REPLAY_PARAMETER, f"{PARAMETERS}/{REPLAY_PARAMETER}")
        properties = self._pools.properties.get(name, (missing_properties,))
        return (*barrier, *properties, *without_none([self._commit_reading(name), replay]))

    def _commit_reading(self, dataset: str) -> Reading | None:
        """Return ``zil_commit_count`` of the dataset, or of the whole host if the dataset has none."""
        paths = (self._counter_files(dataset.partition("/")[0]).get(dataset), f"{KSTAT}/zil")
        for path in filter(None, paths):
            if (count := read_commit_count(self.tree, path)) is not None:
                return Reading(what="zil_commit_count", value=str(count), path=path)
        return None

    def _counter_files(self, pool: str) -> Mapping[str, str]:
        """Return the path of the file with the commit count, by dataset of a pool. Search the files once per survey."""
        if pool not in self._counter_paths:
            directory = f"{KSTAT}/{pool}"
            paths = (f"{directory}/{name}" for name in self.tree.names(directory) if name.startswith("objset-"))
            matches = ((re.search(_DATASET, self.tree.data(path) or b""), path) for path in paths)
            self._counter_paths[pool] = {os.fsdecode(match[1]): path for match, path in matches if match}
        return self._counter_paths[pool]


def barrier_reading(tree: Tree) -> tuple[Reading, ...]:
    """Return ``barrier`` (barrier | nobarrier). Its path is the parameter, which may change during a run."""
    readings = flush_parameters(tree)
    if not readings:
        return ()
    dropping_reading = next((reading for reading in readings if reading.value == "1"), None)
    path = (dropping_reading or readings[0]).path
    return (Reading(what="barrier", value="nobarrier" if dropping_reading else "barrier", path=path),)


def read_commit_count(tree: Tree, path: str) -> int | None:
    match = re.search(_COMMITS, tree.data(path) or b"")
    return int(match[1]) if match else None


class ZfsDataset(LayerKind, frozen=True, kw_only=True):
    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        return sync_path(node, "sync")

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
        """Return one flush, as measured at each device that has the intent log (OpenZFS 2.1, with and without SLOG)."""
        return ONE_FLUSH

    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        return zfs_commands(sources, PROPERTIES)

    def counters(self, tree: Tree, nodes: Sequence[Node]) -> Iterable[DeviceCounters]:
        for node in nodes:
            if (intent_log := node.reading("zil_commit_count")) is not None:
                yield DeviceCounters(device=node.id, commits=read_commit_count(tree, intent_log.path))


def zfs_commands(names: Iterable[str], properties: Sequence[str]) -> tuple[Command, ...]:
    """Return the commands that report on datasets or volumes, and on their pools. They do not require root."""
    by_pool: dict[str, list[str]] = {}
    for name in sorted(filter(None, set(names))):
        by_pool.setdefault(name.partition("/")[0], []).append(name)
    commands: list[Command] = []
    for pool, members in by_pool.items():
        commands += [("zpool", "status", "-L", "-P", pool), ("zpool", "get", *COLUMNS, "ashift", pool)]
        batches = (members[start : start + _NAMES_PER_COMMAND] for start in range(0, len(members), _NAMES_PER_COMMAND))
        commands += [("zfs", "get", *COLUMNS, ",".join(properties), *batch) for batch in batches]
    return tuple(commands)


KINDS = (
    ZfsDataset(
        name="zfs",
        reader=DatasetReader,
        layer="filesystem",
        accepts_unaligned_direct=True,  # although statx(2) returns the record size (zfsprops(7), OpenZFS 2.3: "direct")
        copies_on_write=True,
        needs_device=False,
        barrier_option=None,
    ),
)
