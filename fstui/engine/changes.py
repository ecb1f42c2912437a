"""What of a stack is another after a step than before it, or about to be: then no count of that step means what it
seems to.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.layers.btrfs import EXCLUSIVE
from fstui.layers.dm import PVMOVE
from fstui.layers.zfs import REPLAY
from fstui.model.storage import Node

_READINGS = (
    *("barrier", "data", "volatile", "sync", "sync_option", "compress", "dax", "level", "cache_mode", "dio"),
    REPLAY,
)
"""Readings that rules of counting rest on."""
_MOVES = frozenset({EXCLUSIVE, PVMOVE})
"""Work under way by which data lies elsewhere a moment later, or in two places: what arrives at each is not known."""


def changes(before: tuple[Node, ...], after: tuple[Node, ...]) -> tuple[str, ...]:
    """One line for each thing that changed, or is changing: ``sda: write cache write back → write through``."""
    now = {node.id: node for node in after}
    return tuple(line for node in before for line in _changed(node, now.get(node.id)))


def _changed(before: Node, after: Node | None) -> Iterator[str]:
    if after is None:
        yield f"{before.id}: gone"
        return
    said = zip(_said(before), _said(after), strict=True)
    yield from (f"{before.id}: {what} {was} → {now}" for (what, was), (_, now) in said if was != now)
    yield from (f"{after.id}: {work.what} {work.value}" for work in after.state if work.what in _MOVES)


def _said(node: Node) -> Iterator[tuple[str, str]]:
    yield "write cache", node.write_cache or "not stated"
    yield "FUA", "yes" if node.fua else "no"
    yield "counted", "yes" if node.counted else "no"
    yield "stands on", " ".join(sorted(node.below)) or "nothing"
    for what in _READINGS:
        found = node.reading(what)
        yield what, found.value if found else "not stated"
