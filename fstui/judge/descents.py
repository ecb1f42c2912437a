"""Each step's way down the stack: what every level received of it, topmost first."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.counting import Arrival, arrivals
from fstui.judge.override import explained
from fstui.judge.steps import direct_alone, synced
from fstui.model import Evidence, Step

Descent = tuple[Arrival, ...]


def descents(evidence: Evidence) -> list[Descent]:
    """Those of the synced steps. None where the configuration already tells why nothing arrives."""
    target = evidence.target
    if target is None or not evidence.steps or explained(evidence):
        return []
    return [down for step, settings in synced(evidence) if (down := arrivals(target, step, settings))]


def undirected(evidence: Evidence) -> list[Arrival]:
    """O_DIRECT steps without a sync whose bytes stayed above the device: some layer kept them in memory."""
    target = evidence.target
    if target is None or not evidence.steps or explained(evidence):
        return []
    return lacking_bytes([arrivals(target, step, settings) for step, settings in direct_alone(evidence)])


def lacking_flushes(steps: list[Descent]) -> list[Arrival]:
    """The topmost level of each step at which flushes are missing: what is below it merely passes that on."""
    topmost = (next((arrival for arrival in down if arrival.lacks_flushes), None) for down in steps)
    return [arrival for arrival in topmost if arrival]


def lacking_bytes(steps: list[Descent]) -> list[Arrival]:
    """The topmost level of each step at which bytes are missing."""
    topmost = (next((arrival for arrival in down if arrival.lacks_bytes), None) for down in steps)
    return [arrival for arrival in topmost if arrival]


def noisy(evidence: Evidence) -> Iterator[Arrival]:
    """The arrivals in which somebody else's writes cannot be told from ours."""
    for down in descents(evidence):
        yield from (arrival for arrival in down if arrival.noisy(evidence.idle))


def counted(evidence: Evidence, step: Step) -> Descent:
    """The levels that count flushes and owe a known number of them, in that step."""
    for down in descents(evidence):
        if down[0].step == step:
            return tuple(arrival for arrival in down if arrival.owed and arrival.flushes)
    return ()
