"""Find what changed in a stack since the run began. The counters of a step with a changed stack cannot be judged."""

from collections.abc import Iterator
from itertools import groupby

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.filesystems.btrfs import EXCLUSIVE
from fstui.storage.layers.stacked.dm import PVMOVE
from fstui.storage.layers.zfs.datasets import REPLAY_PARAMETER

_READINGS = (
    *("barrier", "data", "volatile", "sync", "sync_option", "compress", "level"),
    *("cache_mode", "cache_type", "dio", "backing_file"),
    REPLAY_PARAMETER,
)
"""Readings of a layer that determine how many flushes are expected, or whether its data will still exist."""
_MISSING_MEMBERS = ("degraded", "faulty")
"""States of an array with a failed member, which receives no more requests."""
_MOVES = frozenset({EXCLUSIVE, PVMOVE})
"""Operations that move data, so that it is unknown which device receives a flush."""


def changes(first_stack: tuple[Node, ...], *later_stacks: tuple[Node, ...]) -> tuple[str, ...]:
    """Return a line for each setting that changed after the first reading of the stack: ``sda: fua 1 → 0``."""
    stacks = [{node.id: node for node in stack} for stack in later_stacks if stack]
    gone_lines = (f"{first_stack[0].id}: gone",) if first_stack and not all(later_stacks) else ()
    lines = (line for node in first_stack for line in _node_changes(node, [stack.get(node.id) for stack in stacks]))
    return (*gone_lines, *lines)


def current_stack(before: Target, now: Target) -> tuple[Node, ...]:
    """Return the stack as it is now; empty if another filesystem is mounted over the measured filesystem."""
    mounts = [(target.mount_point, target.fstype) for target in (before, now)]
    has_same_source = before.source == now.source or not kind(before.fstype).needs_device
    return now.stack if mounts[0] == mounts[1] and has_same_source else ()


def _node_changes(before: Node, later_nodes: list[Node | None]) -> Iterator[str]:
    present_nodes = [node for node in later_nodes if node is not None]
    if len(present_nodes) < len(later_nodes):
        yield f"{before.id}: gone"
        return
    for properties in zip(*map(_properties, (before, *present_nodes)), strict=True):
        name = properties[0][0]
        values = [value for value, _ in groupby(value for _, value in properties)]  # without repetitions
        if len(values) > 1:
            yield f"{before.id}: {name} {' → '.join(values)}"
    moves = (reading for node in present_nodes for reading in node.state if reading.what in _MOVES)
    yield from dict.fromkeys(f"{before.id}: {reading.what} {reading.value}" for reading in moves)


def _properties(node: Node) -> Iterator[tuple[str, str]]:
    yield "write cache", node.write_cache or "not stated"
    yield "FUA", "yes" if node.fua else "no"
    yield "counted", "yes" if node.counted else "no"
    yield "below", " ".join(sorted(node.below)) or "nothing"
    for what in _READINGS:
        yield what, node.value(what) or "not stated"
    for what in _MISSING_MEMBERS:
        yield what, " ".join(reading.value for reading in node.state if reading.what == what) or "no"
