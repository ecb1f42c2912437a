"""What stands on the terminal, line by line."""

from __future__ import annotations

from typing import Any

from textual.app import App


def shown(app: App[Any]) -> list[str]:
    """Every line of the screen in front, without the blanks at its end."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips(app.size)]
