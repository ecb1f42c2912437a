"""A comparison as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fstui.model.run import Run
from fstui.report import beside, json


def render(runs: Sequence[Run], width: int | None, per_hour: Mapping[str, float]) -> bytes:
    """Indented; who has paid what is not in it."""
    return json.indented(beside.of_runs(runs))
