"""Once a stop was asked nobody waits for a disk that does nothing: which disk that is, and whether it does anything."""

from __future__ import annotations

from collections.abc import Callable

from fstui.measure.children import Place, ShutdownDeadline
from fstui.model.errors import Refused
from fstui.model.storage import Node, Target
from fstui.runs.machine.base import Machine
from fstui.state import paths


def shutdown_deadline(machine: Machine, target: Target, asked: Callable[[], bool]) -> ShutdownDeadline:
    """Of a run on that target, whose home may be elsewhere."""
    nodes: dict[Place, tuple[Node, ...]] = {"target": _nearest(target), "home": _nearest(_home(machine))}

    def moved(of: Place) -> object:
        """What its device has completed so far; that a request waits in it is no sign of life."""
        read = machine.counters(nodes[of]) if nodes[of] else None
        return [(one.reads, one.writes, one.flushes, one.discards) for one in read.devices] if read else []

    return ShutdownDeadline(asked, moved, given_up=set())


def _home(machine: Machine) -> Target | None:
    try:
        return machine.target(str(paths.state_dir()))
    except Refused:  # nowhere to keep anything
        return None


def _nearest(target: Target | None) -> tuple[Node, ...]:
    """The devices that the filesystem itself stands on: those further down may work for somebody else."""
    if target is None or not target.stack:
        return ()
    return tuple(node for node in target.stack if node.layer == "block" and node.id in target.stack[0].below)
