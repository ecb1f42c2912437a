"""``python -m tests.picture``: draw the README's animated picture from a real run. Needs root.

The run is real: an ext4 filesystem on a loop device, mounted with ``barrier=0``, in a mount namespace of its own. The
app is the real one, driven by key presses. Its screens become the frames of one animated SVG.
"""

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from textual.pilot import Pilot

from fstui.runs.session import Session
from fstui.tui.app import FstuiApp
from fstui.tui.screens.plan import PlanScreen
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.run import RunScreen
from tests.real import disks

PICTURE = Path(__file__).parents[1] / "screenshots" / "fstui.svg"
DIRECTORY, HOST, SCENARIO = "/srv", "db1", "fsync-rate"
SIZE = (80, 24)
RUNNING_FRAMES, RUNNING_FRAME_S = 8, 0.45
_FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_INSIDE = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
_VIEW = re.compile(r'viewBox="([^"]*)"')


ScreenType = TypeVar("ScreenType", PlanScreen, RunScreen, ResultScreen)


class Frame(NamedTuple):
    """One screen, and how long it is shown."""

    svg: str
    seconds: float


def main() -> None:
    """Start again in a mount namespace in which only the storage of the picture is mounted, then draw."""
    if sys.argv[1:] != ["inside"]:
        command = [
            "unshare",
            "--mount",
            "--uts",
            "--propagation",
            "private",
            sys.executable,
            "-m",
            __spec__.name,
            "inside",
        ]
        sys.exit(subprocess.run(command, check=False).returncode)
    socket.sethostname(HOST)
    with tempfile.TemporaryDirectory(prefix="demo-", dir="/var/tmp") as place, lying_storage(Path(place)):
        os.environ |= {"XDG_STATE_HOME": f"{place}/state", "XDG_CONFIG_HOME": f"{place}/config", "TZ": "UTC"}
        frames = asyncio.run(record_frames())
    PICTURE.write_text(animate(frames))
    print(f"{PICTURE}: {len(frames)} frames, {PICTURE.stat().st_size >> 10} KiB")


@contextmanager
def lying_storage(place: Path) -> Iterator[None]:
    """Mount an ext4 filesystem that drops every flush over DIRECTORY, and hide all other mounts of storage."""
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        point = line.split()[1]
        if point not in {"/", DIRECTORY} and not point.startswith(("/proc", "/sys", "/dev")):
            subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)
    with disks.loop(place / "demo.img") as device:
        disks.sh(*disks.MKFS["ext4"], f"/dev/{device}")
        disks.sh("mount", "-t", "ext4", "-o", "barrier=0", f"/dev/{device}", DIRECTORY)
        try:
            yield
        finally:
            disks.sh("umount", DIRECTORY)


async def record_frames() -> list[Frame]:
    """Drive the app from its first screen to the verdict."""
    app = FstuiApp(Session.local(), ascii_only=False)
    frames: list[Frame] = []
    async with app.run_test(size=SIZE) as pilot:
        await app.workers.wait_for_complete()
        frames.append(await _frame(pilot, 2.0))
        await pilot.press("enter")
        plan = await _wait_for_screen(pilot, PlanScreen)
        plan.choose_scenario(plan.offers.index_of(SCENARIO))
        await app.workers.wait_for_complete()
        frames.append(await _frame(pilot, 2.0))
        await pilot.press("enter")
        await _wait_for_screen(pilot, RunScreen)
        while isinstance(app.screen, RunScreen) and len(frames) < 2 + RUNNING_FRAMES:
            await asyncio.sleep(2 * RUNNING_FRAME_S)
            frames.append(await _frame(pilot, RUNNING_FRAME_S))
        await _wait_for_screen(pilot, ResultScreen)
        frames.append(await _frame(pilot, 6.0))
    return frames


async def _wait_for_screen(pilot: Pilot[Any], kind: type[ScreenType]) -> ScreenType:
    """Wait until a screen of this class is shown and return it."""
    async with asyncio.timeout(60):
        while not isinstance(screen := pilot.app.screen, kind):
            await pilot.pause(0.05)
    return screen


async def _frame(pilot: Pilot[Any], seconds: float) -> Frame:
    await pilot.pause()
    return Frame(pilot.app.export_screenshot(title="fstui"), seconds)


def animate(frames: list[Frame]) -> str:
    """Return one SVG that shows the frames in a loop. Without animation it shows the last frame."""
    total_s = sum(frame.seconds for frame in frames)
    view = _VIEW.search(frames[0].svg)
    assert view
    styles, bodies, start_s = [], [], 0.0
    for number, frame in enumerate(frames):
        begin, end = start_s / total_s * 100, (start_s + frame.seconds) / total_s * 100
        start_s += frame.seconds
        before = (
            f"0% {{ visibility: hidden }} {begin:.3f}% {{ visibility: visible }}"
            if number
            else "0% { visibility: visible }"
        )
        after = (
            f"{end:.3f}%, 100% {{ visibility: hidden }}" if number < len(frames) - 1 else "100% { visibility: visible }"
        )
        styles.append(f"@keyframes show-{number} {{ {before} {after} }}")
        still = "visible" if number == len(frames) - 1 else "hidden"
        inside = _INSIDE.search(_FONT.sub("", frame.svg))
        assert inside
        style = f"visibility: {still}; animation: show-{number} {total_s:.2f}s step-end infinite"
        bodies.append(f'<g style="{style}">{inside[1]}</g>')
    sheet = "\n".join(styles)
    return (
        f'<svg class="rich-terminal" viewBox="{view[1]}" xmlns="http://www.w3.org/2000/svg">\n<style>\n{sheet}\n</style>\n'
        + "\n".join(bodies)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    main()
