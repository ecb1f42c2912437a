"""The run document on one line, for programs."""

from __future__ import annotations

from fstui.model.run import Run
from fstui.report import json

ENDING = "json"


def render(run: Run, saved_to: str | None = None) -> bytes:
    """The document as it is saved."""
    return json.line(run)
