"""``python -m tests.screenshots``: the README's pictures, made anew from a simulated disk that lies.

Its physics is seeded, so that the same screens come of it; ``tests/test_screenshots.py`` holds their words against
what is in ``screenshots/``. The picture of the HTML page wants chromium (apt-get install chromium).
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from fstui.model.events import Event, RunFinished, StepFinished, StepProgressed
from fstui.model.plan import Plan
from fstui.model.run import Run
from fstui.model.steps import Snapshot, Step
from fstui.report import formats
from fstui.runs import simulation
from fstui.runs.site import Site
from fstui.storage.counters import COUNTED
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
_CHUNK = b"tEXtSays\0"
_HEADER_BYTES = 33
"""Of a PNG: its signature and its first chunk."""
STARTED_AT, ID = "2026-11-20T03:12:44+00:00", "0a1b2c"
"""Of the run that is shown: another day's picture is the same."""
_OF_ITS_TIME = re.compile(r"\b[\d.]+ s\b|\d+:\d\d")
"""How long it took: another each time."""


def main() -> None:
    """Write one SVG per screen, and the page's picture."""
    with tempfile.TemporaryDirectory() as state:
        os.environ |= {"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state, "TZ": "UTC"}
        run, pictures = asyncio.run(drawn())
        for name, picture in pictures.items():
            (PLACE / f"{name}.svg").write_text(picture)
        if browser := shutil.which("chromium") or shutil.which("chromium-browser"):
            _page(run, browser, Path(state), PLACE / "page.png")
        else:
            print("page.png is as it was: apt-get install chromium")


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
    pictures["run"] = await _running(told, plan, site)
    return run, pictures


async def _running(told: Sequence[Event], plan: Plan, site: Site) -> str:
    """In the middle of a step, as it was measured so far."""
    until = next(at for at, event in enumerate(told) if isinstance(event, StepFinished) and event.index == STEP)
    finished = told[until]
    assert isinstance(finished, StepFinished)
    before = [event for event in told[:until] if not isinstance(event, StepProgressed)]
    app = FstuiApp(simulation.session(simulation.named(DISK), pace=0.0), ascii_only=False)
    async with app.run_test(size=SIZE) as pilot:
        app.open_run(PreparedRunning([*before, StepProgressed(snapshot=_so_far(finished.step))]), plan, site.target)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        app.screen.draw_changes()
        return await _picture(pilot, "run")


def _so_far(step: Step) -> Snapshot:
    timeline = tuple(point for point in step.timeline if point.t_s <= SHOWN_S)
    ops = sum(point.ops for point in timeline)

    def share(number: int | None) -> int | None:
        return None if number is None else number * ops // step.ops

    counters = [
        msgspec.structs.replace(one, **{name: share(getattr(one, name)) for name in COUNTED}) for one in step.counters
    ]
    return Snapshot(
        index=STEP,
        name=step.name,
        elapsed_s=SHOWN_S,
        length_s=step.settings.seconds,
        ops=ops,
        syncs=step.syncs * ops // step.ops,
        bytes=step.bytes * ops // step.ops,
        rate_per_s=ops / SHOWN_S,
        latency_ns=step.latency_ns,
        timeline=timeline,
        counters=tuple(counters),
    )


def words(picture: str) -> list[str]:
    """What can be read on it, without what is of its time."""
    lines = (html.unescape(re.sub("<.*?>", "", line)) for line in _WORDS.findall(picture))
    return _OF_ITS_TIME.sub("…", " ".join(" ".join(lines).replace("\xa0", " ").split())).split()


async def _picture(pilot: Pilot[Any], name: str) -> str:
    await pilot.pause()
    return pilot.app.export_screenshot(title=f"fstui: {name}")


def page_digest(run: Run) -> str:
    """Of what can be read on the run's page; its picture carries it along."""
    said = re.sub(r"<(script|style|pre).*?</\1>", "", str(formats.render("html", run, None)), flags=re.DOTALL)
    return hashlib.sha256(_OF_ITS_TIME.sub("…", " ".join(re.sub("<.*?>", " ", said).split())).encode()).hexdigest()


def told_by(picture: bytes) -> str:
    """The digest that a picture carries; empty where it carries none."""
    found = re.search(_CHUNK + rb"([0-9a-f]{64})", picture)
    return found[1].decode() if found else ""


def _page(run: Run, browser: str, place: Path, picture: Path) -> None:
    """Take a picture of the run's page."""
    (place / "page.html").write_text(str(formats.render("html", run, None)))
    words = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={PAGE_PIXELS}"]
    words += [f"--user-data-dir={place / 'chromium'}", f"--screenshot={picture}", f"file://{place}/page.html"]
    subprocess.run([browser, *words], check=True, capture_output=True, timeout=120)
    drawn = picture.read_bytes()
    chunk = _CHUNK + page_digest(run).encode()
    told = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    picture.write_bytes(drawn[:_HEADER_BYTES] + told + drawn[_HEADER_BYTES:])


if __name__ == "__main__":
    main()
