"""Read what the kernel counts for every layer, from /sys/class/block/X/stat (Documentation/block/stat.rst).

Only ``stat`` is read, because the counters are read several times per second. The survey has found out what each layer
counts. Other files count the commits of ZFS datasets and NFS mounts. Their paths are in the survey's readings.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from fstui.model.counters import Counters, DeviceCounters
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.kinds import group_by_kind
from fstui.storage.tree import MAX_DIGITS, SECTOR_BYTES, Tree


def read_counters(nodes: Sequence[Node], root: Path = Path("/")) -> Counters:
    """Read the counters of each device, dataset and NFS mount among the nodes, one after the other."""
    tree = Tree(root)
    began_ns = time.monotonic_ns()
    distinct_nodes = {node.id: node for node in nodes}.values()
    devices = [node for node in distinct_nodes if node.layer == "block"]
    counters = [_device(node, tree.data(f"/sys/class/block/{node.id}/stat", 4096)) for node in devices]
    filesystems = [node for node in distinct_nodes if node.layer == "filesystem"]
    for name, nodes_of_kind in group_by_kind(filesystems).items():
        counters += kind(name).counters(tree, nodes_of_kind)
    return Counters(
        monotonic_ns=began_ns,
        until_ns=time.monotonic_ns(),
        devices=tuple(counter for counter in counters if counter is not None),
    )


def _device(node: Node, stat: bytes | None) -> DeviceCounters | None:
    if stat is None:
        return None
    accounting = kind(node.kind).accounting
    is_switched_off = accounting == "queue" and node.value("iostats") == "0"
    # the file had 11 fields until Linux 4.18 added discards (15 fields) and 5.5 flushes (17 fields)
    fields = _numbers(stat)
    if is_switched_off or accounting == "none" or len(fields) < 9:
        return DeviceCounters(device=node.id)
    has_flush_fields = node.counted and len(fields) >= 17
    return DeviceCounters(
        device=node.id,
        reads=fields[0],
        read_bytes=fields[2] * SECTOR_BYTES,
        read_ms=fields[3],
        writes=fields[4],
        written_bytes=fields[6] * SECTOR_BYTES,
        write_ms=fields[7],
        flushes=fields[15] if has_flush_fields else None,
        flush_ms=fields[16] if has_flush_fields else None,
        discards=fields[11] if len(fields) >= 15 else None,
        busy_ms=fields[9] if len(fields) >= 10 else None,
        in_flight=fields[8],
    )


def _numbers(stat: bytes) -> list[int]:
    words = stat.split()
    try:
        return [int(word) for word in words] if max(map(len, words), default=0) <= MAX_DIGITS else []
    except ValueError:
        return []
