"""The devices that a sync waits for: of a write-back cache the fast one, of a ZFS pool its log, else the lowest."""

from __future__ import annotations

from fstui.judge.layers import children
from fstui.model import MediumClass, Node, Target

_CACHES = frozenset({"bcache", "dm-cache", "dm-writecache"})
_NEVER = frozenset({"l2arc", "spare", "metadata"})
"""A read cache, a spare, and the metadata of a cache or a thin pool hold no commit's data."""


def answering(target: Target) -> tuple[Node, ...]:
    """Those of the lowest devices. Nothing where it cannot be told whether a cache answers."""
    found: dict[str, Node] = {}
    pending = list(target.stack[:1])
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        if node.lowest:
            found[node.id] = node
        below = _asked(target, node)
        if below is None:
            return ()
        pending.extend(below)
    return tuple(node for node in target.lowest if node.id in found)


def classes(target: Target) -> frozenset[MediumClass]:
    """The classes of medium among them."""
    return frozenset(node.medium.class_ if node.medium else "unknown" for node in answering(target))


def _asked(target: Target, node: Node) -> list[Node] | None:
    """The layers beneath that a sync waits for; None where the cache's mode, or which device is which, is not known."""
    below = [child for child in children(target, node) if not _roles(child) & _NEVER]
    if node.kind in _CACHES:
        unused = _unused_by(node)
        used = [child for child in below if unused not in _roles(child)]
        return used if unused and len(used) < len(below) else None
    logs = [child for child in below if "slog" in _roles(child)]
    return logs if node.kind == "zpool" and logs and not _past_the_log(target) else below


def _unused_by(cache: Node) -> str | None:
    """The role that no sync waits for; None where the cache's mode was not read."""
    if cache.kind == "dm-writecache":
        return "origin"
    mode = cache.reading("cache_mode")
    if mode is None:
        return None
    return "origin" if mode.value == "writeback" else "cache"


def _past_the_log(target: Target) -> bool:
    """logbias=throughput writes past the log device."""
    bias = target.stack[0].reading("logbias")
    return bias is not None and bias.value == "throughput"


def _roles(node: Node) -> set[str]:
    return {reading.value for reading in node.readings if reading.what == "role"}
