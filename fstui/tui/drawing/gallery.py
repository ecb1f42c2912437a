"""Every step of a run as a small latency map, side by side on one axis: what a sync costs, seen beside a bare write."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import latency_map
from fstui.tui.drawing import heat
from fstui.tui.drawing.cells import line, rule

_WIDTH, _GAP = 44, 2
"""The narrowest map that still shows how latency changes, and the cells between two."""
_HEIGHT, _TALLEST = 7, 12
"""Of one map, with its name and its time axis."""


def draw(run: Run, width: int, height: int) -> list[Text]:
    """Nothing where there is room for too little, or one step alone: its picture is drawn elsewhere."""
    steps = [step for step in run.steps if step.timeline]
    per_row = min(max((width + _GAP) // (_WIDTH + _GAP), 1), len(steps))
    rows = -(-len(steps) // max(per_row, 1))
    if len(steps) < 2 or height < rows * _HEIGHT:
        return []
    each = (width - _GAP * (per_row - 1)) // per_row
    axis = latency_map.axis([point for step in steps for point in step.timeline])
    drawn = [_map(run, step, axis, each, min(height // rows, _TALLEST)) for step in steps]
    return [text for first in range(0, len(drawn), per_row) for text in _beside(drawn[first : first + per_row], each)]


def _map(run: Run, step: Step, axis: latency_map.Axis, width: int, height: int) -> list[Text]:
    return [rule(width, step.name), *heat.draw(heat.of_step(run, step), width, height - 1, axis)]


def _beside(maps: Sequence[list[Text]], width: int) -> list[Text]:
    """As one; all are as high."""
    lines = [line() for _ in maps[0]]
    for at, drawn in enumerate(maps):
        for whole, part in zip(lines, drawn, strict=True):
            whole.pad_right(at * (width + _GAP) - whole.cell_len)
            whole.append_text(part)
    return lines
