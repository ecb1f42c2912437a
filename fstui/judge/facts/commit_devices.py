"""The devices that a sync waits for: of a write-back cache the fast one, of a ZFS pool its log, else the lowest."""

from __future__ import annotations

from fstui.judge.facts.stack import Stack
from fstui.model.storage import MediumClass, Node
from fstui.storage.layers import kind


def commit_devices(stack: Stack) -> tuple[Node, ...]:
    """Those of the lowest devices. Nothing where it cannot be told whether a cache answers."""
    pending = list(stack.nodes[:1])
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        below = kind(node.kind).waits_for(node, stack.children(node), stack.nodes[0])
        if below is None:
            return ()
        pending.extend(below)
    return tuple(node for node in stack.lowest if node.id in seen)


def media_classes(devices: tuple[Node, ...]) -> frozenset[MediumClass]:
    """The classes of medium among them."""
    return frozenset(node.medium.class_ if node.medium else "unknown" for node in devices)
