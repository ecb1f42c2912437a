"""Devices whose flushes the kernel drops, because it was told that they have no cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.defects import Hit
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps
from fstui.model.run import Evidence
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import hidden_by_controller, outlives_power_cut, volatile_cache
from fstui.storage.layers.facts import read_only
from fstui.storage.layers.stacked import dm, loop

_THROUGH = "write through"
_CACHE = "write cache"


class _Override(NamedTuple):
    """A device that the kernel takes for "write through", and who says that its cache is on: a line each."""

    device: Node
    contradictions: tuple[str, ...]
    hidden: bool
    """Those caches are all behind controllers that may have a battery."""


def write_through_override(evidence: Evidence, stack: Stack, _: Steps) -> Iterator[Hit]:
    """Yield the devices that the kernel was told are "write through", while their cache is on.

    Of copies, what is stored on them may tell by its checksums which are right: then nothing is lost.
    """
    found = _Devices(evidence, stack).overridden()
    stale = stack.stale_with(tuple(override.device for override in found))
    for override in found:
        device = override.device
        outcome = "unknown_controller" if override.hidden else "lost"
        because = (
            words.read(device, "kernel's view", _THROUGH, f"/sys/block/{device.id}/queue/write_cache"),
            *override.contradictions,
        )
        yield Hit(outcome if device in stale else "copied", device, because)


class _Devices:
    def __init__(self, evidence: Evidence, stack: Stack) -> None:
        self._evidence, self._stack = evidence, stack

    def overridden(self) -> tuple[_Override, ...]:
        """Return those whose cache is on by what anything else says."""
        found = [
            self._override(node)
            for node in self._written_through()
            if not (node in self._stack.in_memory or outlives_power_cut(node) or self._is_only_read(node))
            and not (kind(node.kind).keeps_each_write(node) or self._gets_requests(node))
        ]
        return tuple(override for override in found if override.contradictions)

    def _written_through(self) -> Iterator[Node]:
        """The devices that the kernel took for "write through" during the whole run."""
        return (node for node in self._stack.written if node.write_cache == _THROUGH and self._stayed(node))

    def _stayed(self, node: Node) -> bool:
        return not self._evidence.changed(node.id, _CACHE)

    def _is_only_read(self, node: Node) -> bool:
        """Set read-only beneath a device that was writable before, it is written to all the same."""
        told = read_only(node)
        seen = (step.device(node.id) for step in self._evidence.steps)
        written = any(counters is not None and counters.written_bytes for counters in seen)
        return told is not None and told.value and not written

    def _gets_requests(self, node: Node) -> bool:
        """It is a path of multipath devices alone, which send their flushes past what the kernel takes it for."""
        above = [each for each in self._stack.nodes if node.id in each.below]
        return bool(above) and all(
            dm.sends_requests(each) and each.write_cache != _THROUGH and self._stayed(each) for each in above
        )

    def _override(self, node: Node) -> _Override:
        told = list(self._contradictions(node))
        return _Override(
            node,
            tuple(line for line, _ in told),
            hidden=bool(told) and all(hidden_by_controller(cached) for _, cached in told),
        )

    def _contradictions(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Each with the device whose cache it speaks of."""
        if (told := volatile_cache(node)) and told.value:
            yield words.reading(node, told.reading), node
        beneath = self._stack.flushed_beneath(node)
        cached = [each for each in beneath if each.write_cache == "write back" and not outlives_power_cut(each)]
        below = [each for each in cached if self._stayed(each)]
        for other in below:
            yield words.write_cache(other), other
        direct = loop.facts(node).direct
        buffers = direct is None or not direct.value
        if not below and self._stack.backing(node) and not self._stack.in_memory and buffers:
            yield f"{node.id}: keeps what it writes in the page cache until it is flushed (no direct-io)", node
