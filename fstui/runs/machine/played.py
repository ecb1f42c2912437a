"""What a box that is played answers, be it a model or a saved run: it reads nothing of this box and writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING

from fstui.model.declaration import Declaration
from fstui.model.host import Inventory
from fstui.model.plan import PlannedStep
from fstui.model.run import Run
from fstui.runs.activity import nobody
from fstui.state.workspace import HeldDirectory

if TYPE_CHECKING:
    from fstui.model.activity import HostActivity
    from fstui.storage.process import Processes


class PlayedMachine:
    """What is the same whatever is played."""

    def changed(self) -> bool:
        return False

    async def with_space(self, inventory: Inventory) -> Inventory:
        return inventory

    def written_so_far(self) -> Processes:
        return {}

    def at_work(self) -> AsyncGenerator[HostActivity]:
        return nobody()

    async def make_directory(self, directory: str, run_id: str) -> NoDirectory:
        return NoDirectory(directory)

    def servers(self, run_id: str, workspace: HeldDirectory) -> NoServers:
        return NoServers()

    async def remember(self, identity: str, declaration: Declaration) -> None:
        """It holds while this is played, and no longer."""

    async def save(self, run: Run) -> tuple[str | None, str | None]:
        return None, None  # saved, it would look measured


class PlayedProbe:
    """One step that no process runs. Its frames are another's to make, from ``_gone`` on and until ``_stopped``."""

    pid: int | None = None

    def __init__(self) -> None:
        self._gone = asyncio.Event()
        self._stopped = False

    def go(self) -> None:
        self._gone.set()

    def stop(self) -> None:
        self._stopped = True
        self._gone.set()

    async def finish(self, timeout_s: float) -> int | None:
        return 0


class NoDirectory:
    """The directory of a run that makes none."""

    dio_alignment: int | None = None
    file_flags = ""  # where there were some, the target that is played says so

    def __init__(self, path: str) -> None:
        self.held = HeldDirectory(path, 0, 0)

    async def remove(self, patience_s: float = 0.0) -> str | None:
        return None


class NoServers:
    """The servers of a run that starts none."""

    def __init__(self) -> None:
        self.left_behind: list[str] = []

    async def open_existing(self, steps: Iterable[PlannedStep]) -> None:
        """There is none to be let in by; what the run was about stands in it."""

    async def expect(self, steps: Iterable[PlannedStep]) -> None:
        """None is going to be made."""

    async def serve(self, planned: PlannedStep, ending: asyncio.Event, sync_s: float) -> None:
        """What a server did then stands in the saved steps."""

    async def cause_of_death(self) -> None:
        """It cannot die."""

    def fill_again(self) -> None:
        """It holds nothing."""

    async def stop(self) -> None:
        """Nothing to end."""
