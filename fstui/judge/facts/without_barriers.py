"""Filesystems, and ZFS volumes, that were told to send no flushes, and the write caches beneath them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.defects import Hit
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps
from fstui.model.run import Evidence
from fstui.model.storage import Node, Reading
from fstui.storage.layers import kind
from fstui.storage.layers.devices import disk
from fstui.storage.layers.devices.caches import (
    has_cache,
    hidden_by_controller,
    may_outlive_power_cut,
    protected_cache,
    volatile_cache,
)
from fstui.storage.layers.facts import barriers


class _Caches(NamedTuple):
    """The disks and loop devices below a filesystem that sends no flushes, by their write caches."""

    all: tuple[Node, ...]

    @property
    def on(self) -> tuple[Node, ...]:
        """Those whose write cache is on, whatever the kernel was told."""
        return tuple(filter(_is_on, self.all))

    @property
    def off(self) -> tuple[Node, ...]:
        return tuple(node for node in self.all if has_cache(node) is False and not _is_on(node))

    @property
    def unheard(self) -> tuple[Node, ...]:
        """Those of them whose host offers no flush: that the kernel says "write through" means nothing there."""
        offers = ((node, disk.facts(node).host_flushes) for node in self.off)
        return tuple(node for node, offered in offers if offered and not offered.value)

    @property
    def outcome(self) -> str:
        if not all(map(may_outlive_power_cut, self.on)):
            return "volatile_cache"
        if any(map(hidden_by_controller, self.on)):
            return "unknown_controller"
        if self.on:
            return "protected_cache"
        if self.unheard:
            return "silent_host"
        return "no_cache" if self.all and len(self.off) == len(self.all) else "unknown_cache"


def barriers_off(evidence: Evidence, stack: Stack, _: Steps) -> Iterator[Hit]:
    """Yield the filesystems and ZFS volumes that sent no flushes during the whole run.

    What that means depends on the caches below. Of copies, what is stored on them may tell by its checksums which are
    right: then nothing is lost.
    """
    off = [(each, told) for each in stack.written if (told := _barriers_off(each, evidence))]
    stale = stack.stale_with(tuple(each for each, _ in off))
    for each, reading in off:
        caches = _Caches(_caches_beneath(stack, each))
        texts = {
            "on": words.devices(caches.on),
            "off": words.devices(caches.off),
            "unheard": words.devices(caches.unheard),
            "barriers_on": _barriers_on(each, reading),
        }
        because = (words.reading(each, reading), *map(_cache_line, caches.all))
        yield Hit(caches.outcome if each in stale else "copied", each, because, texts)


def _is_on(node: Node) -> bool:
    told = volatile_cache(node)
    return bool(has_cache(node)) or (told is not None and told.value)


def _barriers_on(filesystem: Node, barrier: Reading) -> str:
    option = kind(filesystem.kind).barriers_on
    if option is None:
        return f"echo 0 > {barrier.path}, then run fsync-rate there."
    return f"mount -o remount,{option} {filesystem.name}, then run fsync-rate there."


def _cache_line(node: Node) -> str:
    protected = f", {node.medium.because or node.medium.class_}" if node.medium and protected_cache(node) else ""
    told = volatile_cache(node)
    better = told is not None and (node.write_cache is None or (told.value and not has_cache(node)))
    return (words.reading(node, told.reading) if told and better else words.write_cache(node)) + protected


def _barriers_off(filesystem: Node, evidence: Evidence) -> Reading | None:
    told = barriers(filesystem)
    off = told and not told.value and not evidence.changed(filesystem.id, told.reading.what)
    return told.reading if told and off else None


def _caches_beneath(stack: Stack, filesystem: Node) -> tuple[Node, ...]:
    """Disks and loop devices have a cache of their own; md always claims one, dm repeats what is below."""
    return tuple(node for node in stack.flushed_beneath(filesystem) if stack.is_device(node))
