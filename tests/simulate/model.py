"""Run a program on a simulated host without waiting."""

from typing import Any

from fstui.measure.kinds import StepSettings
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.simulate.parameters import load
from fstui.simulate.programs import Operations, new_program
from fstui.simulate.simulated_host import SimulatedHost

CHUNK_NS = 50e6


def host(disk: str, **changes: Any) -> SimulatedHost:
    """Make a host with this disk. Write the dots of a parameter's name as two underscores."""
    return SimulatedHost(load(disk, {key.replace("__", "."): value for key, value in changes.items()}))


def run(on: SimulatedHost, settings: StepSettings) -> tuple[float, list[Operations]]:
    """Return the operations per second, and all operations."""
    program = new_program(on, settings)
    assert program is not None
    program.begin()
    operations: list[Operations] = []
    while not program.has_ended:
        until_ns = on.now_ns + CHUNK_NS
        operations += program.run_until(until_ns)
        on.now_ns = max(until_ns, program.ended_ns)
    ops = sum(len(each.part_ends_ns) // each.parts for each in operations)
    return ops * 1e9 / (program.ended_ns - program.started_ns), operations


def rate(on: SimulatedHost, **settings: Any) -> float:
    """Return the rate of 4 KiB writes that are synced one by one."""
    usual: dict[str, Any] = {"seconds": 1.0, "file_bytes": 1 << 20, "offsets": "same"}
    return run(on, SyncWrites(**(usual | settings)))[0]
