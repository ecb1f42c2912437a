"""``python -m tests.tui.screenshots``: the four screens into screenshots/, from a prepared run that is played again."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from fstui.engine.machine.replay import ReplayMachine
from fstui.model.declaration import Declaration
from fstui.model.events import Event, StepProgressed
from fstui.model.plan import Plan
from fstui.model.storage import Target
from fstui.session import Session
from fstui.tui.screens.run import RunScreen
from fstui.tui.screens.storage import StorageScreen
from tests.factories import screens
from tests.tui.conftest import PreparedApp

PLACE = Path(__file__).parents[2] / "screenshots"
SIZE, LARGE = (80, 24), (120, 36)


def main() -> None:
    """Write one SVG per screen."""
    with tempfile.TemporaryDirectory() as state:
        os.environ |= {"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state}
        asyncio.run(_all())


async def _all() -> None:
    PLACE.mkdir(exist_ok=True)
    app = PreparedApp()
    async with app.run_test(size=SIZE) as pilot:
        assert isinstance(app.screen, StorageScreen)
        app.screen.tick()
        app.screen.tick()
        await _save(pilot, "storage")
    machine = ReplayMachine(screens.RUN, pace=0.0)
    app = PreparedApp(machine, directory="/srv/data")
    async with app.run_test(size=SIZE) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("tab", "end", "right", "up", "right", "right")
        await app.workers.wait_for_complete()
        await _save(pilot, "plan")
        machine.pace = 1.0  # in real time: a face that is behind gets no snapshot but the newest
        told, plan, target = await _events(machine)
        app.open_run(screens.PreparedRunning(told), plan, target)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        app.screen.draw_changes()
        await _save(pilot, "run")
    app = PreparedApp()
    async with app.run_test(size=LARGE) as pilot:
        app.open_result(screens.RUN, "~/.local/state/fstui/runs/20261120-031244-k3f9a1.json", "/srv/data")
        await _save(pilot, "result")


async def _events(machine: ReplayMachine) -> tuple[list[Event], Plan, Target]:
    """What the runner tells while it replays, up to the same-block step at about 1.5 s."""
    session, said = Session(machine), Declaration(medium="hdd-7200", write_cache="none")
    site, plan = await session.planned("odirect-truth", "/srv/data", {"seconds": "2"}, said)
    told: list[Event] = []
    async for event in session.start(plan, site).events():
        told.append(event)
        if isinstance(event, StepProgressed) and event.snapshot.index == 5 and event.snapshot.elapsed_s >= 1.4:
            break
    return told, plan, site.target


async def _save(pilot: Pilot[Any], name: str) -> None:
    await pilot.pause()
    (PLACE / f"{name}.svg").write_text(pilot.app.export_screenshot(title=f"fstui: {name}"))


if __name__ == "__main__":
    main()
