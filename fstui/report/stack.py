"""Describe the layers of a stack. This module imports no rules, so that the first screen appears sooner."""

from collections.abc import Iterable

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.devices.health import backup_failed

_HEALTH = {
    "percent_used": "{}\u00a0% used", "unsafe_shutdowns": "unsafe shutdowns: {}", "media_errors": "media errors: {}",
    "pending_sectors": "unreadable sectors: {}", "reallocated_sectors": "reallocated sectors: {}",
    "grown_defects": "grown defects: {}", "backup": "capacitor {}", "smart_status": "SMART self-assessment {}",
}  # fmt: skip
"""What a drive reports about its health, with its text in the report."""


def kind_label(node: Node) -> str:
    """Return the kind of a layer in words: ``encrypted`` for dm-crypt; empty for a disk, whose name is enough."""
    label = kind(node.kind).label
    return node.kind if label is None else label


def link(node: Node) -> str:
    """Return the link of a disk and its rate: ``sata 6.0 Gbps``. Omit the link if the disk's name says it (nvme0n1)."""
    link_name = "" if node.link and node.id.startswith(node.link) else node.link
    return " ".join(filter(None, [link_name, node.value("link_rate")]))


def medium(node: Node) -> str:
    """Return the kind of a device's medium, ``hdd-7200 (declared)``; empty if it is not known."""
    device_medium = node.medium
    if device_medium is None or device_medium.class_ == "unknown":
        return ""
    return device_medium.class_ + (" (declared)" if device_medium.declared else "")


def unreadable_properties(node: Node) -> tuple[str, ...]:
    """Return the properties of a layer that could not be read, each with the reason."""
    return tuple(reading.value for reading in node.readings if reading.what == "missing")


def health(node: Node) -> str:
    """Return what the drive reports about its health: ``3 % used, unsafe shutdowns: 40``; empty if nothing was read."""
    texts = [pattern.format(value) for what, pattern in _HEALTH.items() if (value := node.value(what)) is not None]
    # NVMe reports a failed capacitor as a bit of critical_warning, not as a value
    texts += ["capacitor failed"] if backup_failed(node) and node.reading("backup") is None else []
    return ", ".join(texts)


def in_memory(target: Target) -> bool:
    """Return whether the filesystem keeps its data only in memory, like a tmpfs, so that a power cut loses it."""
    return kind(target.fstype).in_memory


def stack_line(target: Target | None) -> str:
    """Return the stack in one line, layer by layer: ``ext4 › sda1 › sda``, ``xfs › md0 › sda + sdb``."""
    if target is None or not target.stack:
        return ""
    nodes = {node.id: node for node in target.stack}
    line, visited, level = [], set(), [target.stack[0]]
    while level:
        visited |= {node.id for node in level}
        line.append(_level(level[0].kind if level[0].layer == "filesystem" else node.name for node in level))
        names = dict.fromkeys(name for node in level for name in node.below if name in nodes and name not in visited)
        level = [nodes[name] for name in names]
    return " › ".join(line)


def _level(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return " + ".join(distinct) if len(distinct) <= 3 else f"{distinct[0]} + {len(distinct) - 1} more"
