"""What one level of the stack received in one step, whatever was owed."""

from __future__ import annotations

from math import isinf
from typing import NamedTuple

from fstui.judge.facts.composition import Below, Composition, What
from fstui.judge.facts.stack import Level, Stack
from fstui.model.counters import DeviceCounters
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range


class Received(NamedTuple):
    """``low``: what can have arrived at the most; ``high``: what must have been sent, were nobody else there."""

    devices: tuple[Node, ...]
    """Those that count what must arrive at them."""
    flushes: Range | None
    """None where it cannot be known."""
    written: Range | None
    forced_alike: bool
    """A write marked FUA comes to each of them, as a flush does."""


def received(stack: Stack, level: Level, step: Step | Snapshot, *, forced: bool) -> Received:
    """What that level's filesystem sent down, by what was counted.

    ``forced``: by writes that are each marked FUA, where the device below takes that.
    """
    composed = Composition(
        level.filesystem,
        below_within(stack, level),
        lambda node: counters_of(node, step),
        gets_all=stack.gets_every_write(level),
    )
    what: What = "forced" if forced and level.claims_fua is not False else "flushes"
    return Received(
        devices=composed.counting(what) or level.devices,
        flushes=_known(composed.arrived(what)),
        written=_written(composed, step),
        forced_alike=what == "forced" or composed.forced_alike(),
    )


def below_within(stack: Stack, level: Level) -> Below:
    """The layers beneath each one of that level, with their roles."""
    within = {node.id for node in level.path}

    def below(node: Node) -> tuple[tuple[Node, str | None], ...]:
        return tuple((child, node.below_roles.get(child.id)) for child in stack.children(node) if child.id in within)

    return below


def counted_at(devices: tuple[Node, ...], step: Step | Snapshot) -> Range | None:
    """What all of them counted, where none of it is owed; None where one of them does not count."""
    flushes = [found.flushes if (found := counted(node, step)) else None for node in devices]
    total = sum(number for number in flushes if number is not None)
    return None if None in flushes or not flushes else Range(total, total)


def counted(node: Node, step: Step | Snapshot) -> DeviceCounters | None:
    """That layer's counters of the step; None where it does not count flushes, whatever its file says."""
    return counters_of(node, step) if node.counted else None


def counters_of(node: Node, step: Step | Snapshot) -> DeviceCounters | None:
    """That layer's counters of the step."""
    return next((found for found in step.counters if found.device == node.id), None)


def _written(composed: Composition, step: Step | Snapshot) -> Range | None:
    """Bytes; where the layers say nothing of how they share them, all that reached the devices that keep them."""
    arrived = _known(composed.arrived("bytes"))
    if arrived is not None:
        return arrived
    amounts = [found.written_bytes if (found := counted(node, step)) else None for node in composed.holding()]
    total = sum(amount for amount in amounts if amount is not None)
    return None if None in amounts or not amounts else Range(total, total)


def _known(arrived: Range) -> Range | None:
    return None if isinf(arrived.low) else arrived
