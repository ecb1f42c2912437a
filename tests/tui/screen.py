"""The text on the screen of an app, line by line."""

from typing import Any

from textual.app import App
from textual.pilot import Pilot


def screen_lines(app: App[Any]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips(app.size)]


async def press(pilot: Pilot[Any], *keys: str) -> list[str]:
    """Press the keys, each after the work of the previous one, and return the screen."""
    for key in keys:
        await pilot.press(key)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    return screen_lines(pilot.app)
