"""Devices whose flushes the kernel drops, because it was told that they have no cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts import moved
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.switches import Switched, Switches
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import hidden_by_controller, outlives_power_cut, volatile_cache
from fstui.storage.layers.facts import read_only
from fstui.storage.layers.stacked import dm, loop

THROUGH = "write through"
_CACHE = "write cache"


class Override(NamedTuple):
    """A device that the kernel takes for "write through", and who says that its cache is on: a line each."""

    device: Node
    contradictions: tuple[str, ...]
    switched: Switched | None = None
    """When somebody told the kernel so; None where that was so before the run."""
    hidden: bool = False
    """Those caches are all behind controllers that may have a battery."""
    came: Step | None = None
    """In which it came beneath what is measured; None of one that was there before the run."""

    @property
    def name(self) -> str:
        """With since when data lies there."""
        return f"{self.device.id}, where data lies since {self.came.name}," if self.came else self.device.id


class Overrides(NamedTuple):
    """By what they cost."""

    losing: tuple[Override, ...]
    corrected: tuple[Override, ...]
    """Each holds copies, and what stands on them tells by its checksums which are right."""
    hidden: tuple[Override, ...] = ()
    """They may cost nothing: nobody tells whether what is in those caches outlives a power cut."""
    flickering: tuple[Override, ...] = ()
    """Nothing but themselves says that their cache was on all the while; and yet it was switched again and again."""


def overrides(evidence: Evidence, stack: Stack) -> Overrides:
    """The devices that the kernel was told are "write through", while their cache is on."""
    return _Told(evidence, stack).overrides()


class _Told:
    def __init__(self, evidence: Evidence, stack: Stack) -> None:
        self._evidence, self._stack = evidence, stack
        self._switches = Switches(evidence.steps)

    def overrides(self) -> Overrides:
        found = [
            self._override(node, switched)
            for node, switched in self._written_through()
            if not (node in self._stack.in_memory or outlives_power_cut(node) or self._is_only_read(node))
            and not (kind(node.kind).keeps_each_write(node) or self._gets_requests(node))
        ]
        overrides = tuple(override for override in found if override.contradictions)
        flickering = tuple(override for override in found if not override.contradictions and self._flickers(override))
        stale = self._stack.stale_with(tuple(override.device for override in (*overrides, *flickering)))
        return Overrides(
            losing=tuple(override for override in overrides if override.device in stale and not override.hidden),
            hidden=tuple(override for override in overrides if override.device in stale and override.hidden),
            corrected=tuple(override for override in overrides if override.device not in stale),
            flickering=tuple(override for override in flickering if override.device in stale),
        )

    def _written_through(self) -> Iterator[tuple[Node, Switched | None]]:
        """The devices that the kernel takes for "write through", or took for it during the run: when."""
        for node in self._stack.written:
            if switched := self._switches.to(node.id, _CACHE, {THROUGH}):
                yield node, switched
            elif node.write_cache == THROUGH and self._switches.stayed(node.id, _CACHE):
                yield node, None

    def _flickers(self, override: Override) -> bool:
        """The kernel was told more than once, and each time told back; and never by way of the drive's own switch."""
        node = override.device
        often = self._switches.taken_back(node.id, _CACHE, {THROUGH}) > 1
        return often and self._switches.stayed(node.id, "cache_type")

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
            dm.sends_requests(each) and each.write_cache != THROUGH and self._switches.stayed(each.id, _CACHE)
            for each in above
        )

    def _override(self, node: Node, switched: Switched | None) -> Override:
        told = list(self._contradictions(node, switched))
        return Override(
            node,
            tuple(line for line, _ in told),
            switched,
            hidden=bool(told) and all(hidden_by_controller(cached) for _, cached in told),
        )

    def _contradictions(self, node: Node, switched: Switched | None) -> Iterator[tuple[str, Node]]:
        """Each with the device whose cache it speaks of."""
        if switched and moved.is_elsewhere(self._stack, self._evidence.steps, node):
            return  # dm repeats what is below, and that is another disk now: it may have no cache
        # what a drive says of its cache was read before the run: whoever switched that off as well is honest
        if self._switches.stayed(node.id, _CACHE) and (told := volatile_cache(node)) and told.value:
            yield words.reading(node, told.reading), node
        beneath = self._stack.flushed_beneath(node)
        cached = [each for each in beneath if each.write_cache == "write back" and not outlives_power_cut(each)]
        below = [each for each in cached if self._switches.stayed(each.id, _CACHE)]
        for other in below:
            yield words.write_cache(other), other
        direct = loop.facts(node).direct
        buffers = direct is None or not direct.value
        if not below and self._stack.backing(node) and not self._stack.in_memory and buffers:
            yield f"{node.id}: keeps what it writes in the page cache until it is flushed (no direct-io)", node
