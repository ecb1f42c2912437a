"""What came to stand on other devices while the run went on: by their names, and by what was read of them since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from fstui.judge.facts.stack import Stack
from fstui.judge.facts.switches import Switched, Switches
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.devices import memory

STANDS_ON = "stands on"


class Moved(NamedTuple):
    """A layer that was moved to memory, and stayed there."""

    layer: Node
    devices: tuple[str, ...]
    switched: Switched


def to_memory(stack: Stack, switches: Switches, steps: Sequence[Step]) -> tuple[Moved, ...]:
    """Those that came to stand on memory alone, where the data is on nothing else."""
    return tuple(moved for moved in _moved(stack, switches, steps) if moved.layer in stack.lost_with((moved.layer,)))


def _moved(stack: Stack, switches: Switches, steps: Sequence[Step]) -> Iterator[Moved]:
    for node in stack.written:
        values = dict.fromkeys(value for step in steps for value in step.values(node.id, STANDS_ON))
        in_memory = [value for value in values if all(map(memory.is_memory, value.split()))]
        switched = switches.to(node.id, STANDS_ON, in_memory)
        if switched is not None and not switched.back:
            yield Moved(node, tuple(in_memory[-1].split()), switched)


def ended_on(evidence: Evidence) -> Evidence | None:
    """The same, as if the run had begun on what it ended on; None where no layer of that is new, or none was read."""
    ran = [step for step in evidence.steps if step.status != "skipped"]
    if evidence.target is None or not ran or not ran[-1].stack:
        return None
    target = msgspec.structs.replace(evidence.target, stack=ran[-1].stack)
    return msgspec.structs.replace(evidence, target=target, steps=())


def came(steps: Sequence[Step], node: Node) -> Step:
    """The step at whose end that layer was seen first."""
    return next(step for step in steps if any(each.id == node.id for each in step.stack))


def is_elsewhere(stack: Stack, steps: Sequence[Step], node: Node) -> bool:
    """That layer, or one beneath it, came to stand on none of those that it stood on before the run: what the others
    say of their caches is not known."""
    return any(_left(step.values(each.id, STANDS_ON)) for each in (node, *stack.beneath(node)) for step in steps)


def _left(values: Sequence[str]) -> bool:
    return any(set(values[0].split()).isdisjoint(value.split()) for value in values[1:])
