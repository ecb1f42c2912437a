"""A comparison as plain text: the ranking, then the figures, a column for each side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fstui.model.run import Run
from fstui.report import compare


def render(runs: Sequence[Run], width: int | None, per_hour: Mapping[str, float]) -> str:
    """As wide as the terminal is."""
    return compare.render(runs, width, per_hour)
