"""A throwaway database server made, started, filled and measured by fstui's engine."""

import asyncio
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from fstui.databases import programs
from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.events import Event
from fstui.model.plan import PlannedStep
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.runs.machine.base import Served
from fstui.runs.machine.local import LocalMachine
from fstui.runs.stepping import StepRunner
from fstui.state.workspace import HeldDirectory
from tests.databases.servers import MYSQL


async def installed(kinds: Iterable[str]) -> tuple[str, list[ServerProgram]]:
    """Return the path of sysbench and the installed servers of these kinds. Exit if there is none."""
    os.environ["PATH"] = f"{MYSQL}/bin:{os.environ['PATH']}"
    sysbench = await programs.find_sysbench()
    found = [program for kind in kinds if (program := await programs.find_server(kind))]
    if not found:
        sys.exit("no database server is installed")
    return sysbench, found


class ByFstui:
    """A server in a directory of its own."""

    def __init__(self, settings: Sysbench, directory: Path, stack: tuple[Node, ...]) -> None:
        self._settings, self._stack = settings, stack
        self._held = HeldDirectory.of(directory)
        self._machine = LocalMachine()
        self._serving = self._machine.servers("bench0", self._held)
        self._loop = asyncio.new_event_loop()
        self._ready_s = 0.0

    def start(self) -> float:
        """Run its first second, and return the seconds until its tables were filled."""
        self.run(1.0)
        return self._ready_s

    def run(self, seconds: float) -> Step:
        """Run one step like the engine."""
        return self._loop.run_until_complete(self._run(seconds))

    async def _run(self, seconds: float) -> Step:
        planned = PlannedStep(name="sysbench", settings=replace(self._settings, seconds=seconds))
        began = time.monotonic()
        served = await self._serving.serve(planned, asyncio.Event(), 0.0)
        served_s = time.monotonic() - began
        if not isinstance(served, Served):
            sys.exit(f"{self._settings.server} by fstui: {served}")
        runner = StepRunner(0, planned, self._machine, self._stack, _ignore)
        step = await runner.run(self._held, facts=False, served=served)
        if step.status not in ("finished", "disturbed"):
            sys.exit(f"{self._settings.server} by fstui: the step {step.status}: {step.error}")
        self._ready_s = served_s + step.prepare_s
        return step

    def stop(self) -> None:
        """Remove everything."""
        self._loop.run_until_complete(self._serving.stop())
        self._loop.close()


def _ignore(event: Event) -> None:
    """Discard events."""
