"""What every face calls a layer, and expects of a filesystem, by its kind."""

from __future__ import annotations

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.devices import disk


def called(node: Node) -> str:
    """The kind of a layer in words: ``encrypted`` for dm-crypt; empty for a disk, whose name says it."""
    label = kind(node.kind).label
    return node.kind if label is None else label


def link(node: Node) -> str:
    """``sata 6.0 Gbps``: how a disk is attached, where its name does not say so, and how fast."""
    rate = disk.facts(node).link_rate
    named = "" if node.link and node.id.startswith(node.link) else node.link
    return " ".join(filter(None, [named, rate.value if rate else None]))


def unread(node: Node) -> tuple[str, ...]:
    """What could not be read of it, each with the reason."""
    return tuple(reading.value for reading in node.readings if reading.what == "missing")


def in_memory(target: Target) -> bool:
    """It forgets with the power by its very type, which surprises nobody."""
    return kind(target.fstype).in_memory
