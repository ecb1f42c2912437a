"""What stands on the terminal, line by line."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.pilot import Pilot


def shown(app: App[Any]) -> list[str]:
    """Every line of the screen in front, without the blanks at its end."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips(app.size)]


async def pressed(pilot: Pilot[Any], *keys: str) -> list[str]:
    """The screen after each of these keys has done its work, also in a child."""
    for key in keys:
        await pilot.press(key)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    return shown(pilot.app)
