"""Find what changed in a stack since the run began. The counters of a step with a changed stack cannot be judged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.filesystems.btrfs import EXCLUSIVE
from fstui.storage.layers.stacked.dm import PVMOVE
from fstui.storage.layers.zfs.datasets import REPLAY

_READINGS = (
    *("barrier", "data", "volatile", "sync", "sync_option", "compress", "level"),
    *("cache_mode", "cache_type", "dio"),
    REPLAY,
)
"""Readings on which the expected number of flushes depends."""
_MISSING_MEMBERS = ("degraded", "faulty")
"""States of an array with a failed member, which gets no more requests."""
_MOVES = frozenset({EXCLUSIVE, PVMOVE})
"""Work that moves data, so that it is unknown which device gets a flush."""


def changes(*seen: tuple[Node, ...]) -> tuple[str, ...]:
    """Return a line for each setting that changed after the first reading: ``sda: fua 1 → 0``."""
    later = [{node.id: node for node in stack} for stack in seen[1:] if stack]
    gone = (f"{seen[0][0].id}: gone",) if seen[0] and not all(seen[1:]) else ()
    lines = (line for node in seen[0] for line in _changed(node, [stack.get(node.id) for stack in later]))
    return (*gone, *lines)


def still_there(before: Target, now: Target) -> tuple[Node, ...]:
    """Return the stack as it is now, or nothing if another filesystem was mounted over the measured one."""
    places = [(target.mount_point, target.fstype) for target in (before, now)]
    same = before.source == now.source or not kind(before.fstype).needs_device
    return now.stack if places[0] == places[1] and same else ()


def _changed(before: Node, later: list[Node | None]) -> Iterator[str]:
    there = [node for node in later if node is not None]
    if len(there) < len(later):
        yield f"{before.id}: gone"
        return
    for readings in zip(*map(_properties, (before, *there)), strict=True):
        values = [value for value, _ in groupby(value for _, value in readings)]  # without repetitions
        if len(values) > 1:
            yield f"{before.id}: {readings[0][0]} {' → '.join(values)}"
    moves = (work for node in there for work in node.state if work.what in _MOVES)
    yield from dict.fromkeys(f"{before.id}: {work.what} {work.value}" for work in moves)


def _properties(node: Node) -> Iterator[tuple[str, str]]:
    yield "write cache", node.write_cache or "not stated"
    yield "FUA", "yes" if node.fua else "no"
    yield "counted", "yes" if node.counted else "no"
    yield "below", " ".join(sorted(node.below)) or "nothing"
    for what in _READINGS:
        yield what, node.value(what) or "not stated"
    for what in _MISSING_MEMBERS:
        yield what, " ".join(reading.value for reading in node.state if reading.what == what) or "no"
