"""Writes marked FUA that come to a device with a cache as plain ones, though what stands above was told otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge.facts.stack import Stack
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import may_outlive_power_cut
from fstui.storage.layers.devices.disk import PARTITION
from fstui.storage.layers.flushes import Sync, expected_flushes
from fstui.storage.layers.targets import scsi_target

_FORCED = Sync("O_DSYNC", direct=True)


class HandedAsPlain(NamedTuple):
    """Who says that it takes FUA, and the device that it hands such writes to without."""

    target: Node
    device: Node


def handed_as_plain(stack: Stack) -> tuple[HandedAsPlain, ...]:
    """Each, where a filesystem certainly makes a forced write of what would be a flush without FUA: data written with
    O_DIRECT and O_DSYNC, and the record that ends a commit."""
    found: dict[str, HandedAsPlain] = {}
    for level in stack.levels:
        each = expected_flushes(level.filesystem, _FORCED, claims_fua=True)
        if each is not None and each.fua.high < each.plain.low:
            found |= {plain.target.id: plain for plain in _below(stack, level.filesystem)}
    return tuple(found.values())


def _below(stack: Stack, filesystem: Node) -> Iterator[HandedAsPlain]:
    """On the ways down on which nobody says that it has no FUA: there the kernel makes a flush of it."""
    pending, seen = list(stack.children(filesystem)), set()
    while pending:
        node = pending.pop()
        if node.id in seen or node.layer != "block" or node.fua is False:
            continue
        seen.add(node.id)
        below = stack.children(node)
        pending.extend(below)
        for device in below if scsi_target.is_device_store(node) and node.write_cache == "write back" else ():
            whole = stack.children(device)[0] if device.kind == PARTITION.name else device
            if whole.fua is False and whole.write_cache == "write back" and not _keeps_all(stack, whole):
                yield HandedAsPlain(node, whole)


def _keeps_all(stack: Stack, device: Node) -> bool:
    """What it was given outlives a power cut, forced or not: it has a protected cache, or hands each write as it is to
    what has one."""
    below = stack.children(device)
    if not below:
        return may_outlive_power_cut(device)
    return kind(device.kind).takes_part and all(_keeps_all(stack, each) for each in below)
