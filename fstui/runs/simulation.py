"""Find simulated storage and create sessions on it. Runs on simulated storage are not saved."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from fstui.model.errors import Refused
from fstui.model.run import Round
from fstui.runs.session import Session
from fstui.simulate.parameters import SimulationParameters, load, names, parse_change
from fstui.simulate.stack import mount_point

__all__ = ["SimulationParameters", "load", "mount_point", "names"]  # re-exported for the interfaces

_SEED_STEP = 1000
"""Difference between the seeds of two rounds. It is large because the devices of one stack use consecutive seeds."""


def find(text: str) -> SimulationParameters:
    """Return a simulated disk by name or file, with changes: ``hdd-7200,disk.platter.rpm=5400``. Raises Refused."""
    name, *changes = text.split(",")
    parameters = load(name, dict(map(parse_change, changes)))
    return replace(parameters, name=",".join([parameters.name, *changes]))


def seeded_for_round(parameters: SimulationParameters, round_: Round) -> SimulationParameters:
    """Return the storage with another seed for each round. The first round of the first directory keeps the seed."""
    return replace(parameters, seed=parameters.seed + _SEED_STEP * (round_.number - 1 + round_.of * round_.side))


def session(parameters: SimulationParameters, pace: float = 1.0) -> Session:
    """Return a session on that storage. ``pace`` 1: in real time; 0: as fast as possible."""
    from fstui.runs.machine.simulated import SimulatedMachine  # noqa: PLC0415

    return Session.on_machine(SimulatedMachine(parameters, pace))


@asynccontextmanager
async def private_directory() -> AsyncIterator[str]:
    """Yield a temporary directory, which is in the ledger so that ``fstui clean`` finds it. Raises Refused."""
    from fstui.state.workspace import Workspace  # noqa: PLC0415

    workspace = await Workspace.create_temporary()
    try:
        yield workspace.held_directory.path
    finally:
        if problem := await workspace.remove():
            raise Refused(problem)
