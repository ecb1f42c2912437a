"""``python -m tests.screenshots``: the README's pictures, made anew from a simulated disk that lies.

Its physics is seeded, so that the same screens come of it; ``tests/test_screenshots.py`` holds their words against
what is in ``screenshots/``. The picture of the HTML page wants chromium (apt-get install chromium).
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from fstui.model.events import Event, RunFinished, StepProgressed
from fstui.model.run import Run
from fstui.report import formats
from fstui.session import simulation
from fstui.tui.app import FstuiApp
from fstui.tui.screens.run import RunScreen
from tests.factories.screens import PreparedRunning

PLACE = Path(__file__).parents[1] / "screenshots"
DISK = "hdd-7200-lying"
DIRECTORY = simulation.mount_point(simulation.named(DISK))
SCENARIO = "odirect-truth"
STEP, SHOWN_S = 5, 0.9
"""The run is shown in the middle of that step."""
SIZE, LARGE = (80, 24), (120, 36)
PAGE_PIXELS = "900,1055"
_WORDS = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
STARTED_AT, ID = "2026-11-20T03:12:44+00:00", "0a1b2c"
"""Of the run that is shown: another day's picture is the same."""
_OF_ITS_TIME = re.compile(r"\b[\d.]+ s\b|\d+:\d\d")
"""How long it took: another each time."""


def main() -> None:
    """Write one SVG per screen, and the page's picture."""
    with tempfile.TemporaryDirectory() as state:
        os.environ |= {"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state, "TZ": "UTC"}
        run, pictures = asyncio.run(drawn())
        pictures["run"] = asyncio.run(running())
        for name, picture in pictures.items():
            (PLACE / f"{name}.svg").write_text(picture)
        _page(run, Path(state))


async def drawn() -> tuple[Run, dict[str, str]]:
    """The run, and each screen that stands still as an SVG."""
    session = simulation.session(simulation.named(DISK), pace=0.0)
    site, plan = await session.planned(SCENARIO, DIRECTORY)
    told = [event async for event in session.start(plan, site).events()]
    finished = next(event.run for event in told if isinstance(event, RunFinished))
    run = msgspec.structs.replace(finished, started_at=STARTED_AT, id=ID)
    pictures: dict[str, str] = {}
    app = FstuiApp(session, ascii_only=False)
    async with app.run_test(size=SIZE) as pilot:
        pictures["storage"] = await _picture(pilot, "storage")
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        pictures["plan"] = await _picture(pilot, "plan")
    app = FstuiApp(session, ascii_only=False)
    async with app.run_test(size=LARGE) as pilot:
        app.open_result(run, None, DIRECTORY)
        pictures["result"] = await _picture(pilot, "result")
    return run, pictures


async def running() -> str:
    """In the middle of a step: in real time, as a face that is behind is told the newest alone."""
    session = simulation.session(simulation.named(DISK))
    site, plan = await session.planned(SCENARIO, DIRECTORY)
    told: list[Event] = []
    async for event in session.start(plan, site).events():
        told.append(event)
        if isinstance(event, StepProgressed) and event.snapshot.index == STEP and event.snapshot.elapsed_s >= SHOWN_S:
            break
    app = FstuiApp(session, ascii_only=False)
    async with app.run_test(size=SIZE) as pilot:
        app.open_run(PreparedRunning(told), plan, site.target)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        app.screen.draw_changes()
        return await _picture(pilot, "run")


def words(picture: str) -> list[str]:
    """What can be read on it, without what is of its time."""
    lines = (html.unescape(re.sub("<.*?>", "", line)) for line in _WORDS.findall(picture))
    return _OF_ITS_TIME.sub("…", " ".join(" ".join(lines).replace("\xa0", " ").split())).split()


async def _picture(pilot: Pilot[Any], name: str) -> str:
    await pilot.pause()
    return pilot.app.export_screenshot(title=f"fstui: {name}")


def _page(run: Run, place: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("page.png is as it was: apt-get install chromium")
        return
    page = formats.render("html", run, None)
    (place / "page.html").write_text(page if isinstance(page, str) else page.decode())
    words = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={PAGE_PIXELS}"]
    words += [
        f"--user-data-dir={place / 'chromium'}",
        f"--screenshot={PLACE / 'page.png'}",
        f"file://{place}/page.html",
    ]
    subprocess.run([chromium, *words], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
