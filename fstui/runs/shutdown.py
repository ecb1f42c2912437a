"""The shutdown deadline of a run: after a stop, fstui waits for a disk only as long as it makes progress."""

from __future__ import annotations

from collections.abc import Callable

from fstui.measure.children import ShutdownDeadline, WaitedDisk
from fstui.model.errors import Refused
from fstui.model.storage import Node, Target
from fstui.runs.machine.base import Machine
from fstui.state import paths


def shutdown_deadline(machine: Machine, target: Target, is_stopping: Callable[[], bool]) -> ShutdownDeadline:
    """Return the deadline of a run on that target. The state directory may be on another disk."""
    nodes: dict[WaitedDisk, tuple[Node, ...]] = {"target": _nearest(target), "home": _nearest(_home(machine))}

    def moved(of: WaitedDisk) -> object:
        """Return what the devices have completed so far. A request in flight is not progress."""
        read = machine.counters(nodes[of]) if nodes[of] else None
        return [(one.reads, one.writes, one.flushes, one.discards) for one in read.devices] if read else []

    return ShutdownDeadline(is_stopping, moved, given_up=set())


def _home(machine: Machine) -> Target | None:
    try:
        return machine.target(str(paths.state_dir()))
    except Refused:  # there is no home directory
        return None


def _nearest(target: Target | None) -> tuple[Node, ...]:
    """Return the devices directly below the filesystem. Lower ones may also work for other filesystems."""
    if target is None or not target.stack:
        return ()
    return tuple(node for node in target.stack if node.layer == "block" and node.id in target.stack[0].below)
