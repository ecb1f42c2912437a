"""Filesystems, and ZFS volumes, that were told to send no flushes, and the write caches beneath them."""

from __future__ import annotations

from typing import NamedTuple

from fstui.judge.facts.stack import Stack
from fstui.model.run import Evidence
from fstui.model.storage import Node, Reading
from fstui.storage.layers.devices import disk
from fstui.storage.layers.devices.caches import has_cache, hidden_by_controller, may_outlive_power_cut, volatile_cache
from fstui.storage.layers.facts import barriers


class WithoutBarriers(NamedTuple):
    """A filesystem, or a volume of ZFS, that was told to send no flushes, and the disks and loop devices beneath it."""

    filesystem: Node
    barrier: Reading
    caches: tuple[Node, ...]
    corrected: bool = False
    """It holds copies, and what stands on them tells by its checksums which are right."""

    @property
    def on(self) -> tuple[Node, ...]:
        """Those whose write cache is on, whatever the kernel was told."""
        return tuple(filter(_is_on, self.caches))

    @property
    def off(self) -> tuple[Node, ...]:
        return tuple(node for node in self.caches if has_cache(node) is False and not _is_on(node))

    @property
    def unheard(self) -> tuple[Node, ...]:
        """Those of them whose host offers no flush: that the kernel says "write through" means nothing there."""
        offers = ((node, disk.facts(node).host_flushes) for node in self.off)
        return tuple(node for node, offered in offers if offered and not offered.value)

    @property
    def hidden(self) -> tuple[Node, ...]:
        """Those whose cache is on, while nobody tells whether it is a controller's, with a battery."""
        return tuple(filter(hidden_by_controller, self.on))

    @property
    def loses_data(self) -> bool:
        """A cache is on that nothing keeps through a power cut."""
        return not self.corrected and not all(map(may_outlive_power_cut, self.on))


def _is_on(node: Node) -> bool:
    told = volatile_cache(node)
    return bool(has_cache(node)) or (told is not None and told.value)


def without_barriers(stack: Stack, evidence: Evidence) -> tuple[WithoutBarriers, ...]:
    """Return those whose barriers were off during the whole run."""
    off = [(each, told) for each in stack.written if (told := _barriers_off(each, evidence))]
    stale = stack.stale_with(tuple(each for each, _ in off))
    return tuple(
        WithoutBarriers(each, reading, _caches_beneath(stack, each), corrected=each not in stale)
        for each, reading in off
    )


def _barriers_off(filesystem: Node, evidence: Evidence) -> Reading | None:
    told = barriers(filesystem)
    off = told and not told.value and not evidence.changed(filesystem.id, told.reading.what)
    return told.reading if told and off else None


def _caches_beneath(stack: Stack, filesystem: Node) -> tuple[Node, ...]:
    """Disks and loop devices have a cache of their own; md always claims one, dm repeats what is below."""
    return tuple(node for node in stack.flushed_beneath(filesystem) if stack.is_device(node))
