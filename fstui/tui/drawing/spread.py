"""How long each operation took, step by step on one axis: what costs a thousand times as much stands far to the right.

The axis is the same for everything, measured or not, so that nothing moves while numbers come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from fstui.model.quantities import duration_ns
from fstui.model.steps import Latency, TimelinePoint
from fstui.report import latency_map
from fstui.report.latency_map import Axis
from fstui.tui.drawing import bars
from fstui.tui.drawing.cells import Run, fit, fit_right, line, rule
from fstui.tui.styles import FAINT, HEAD

AXIS = Axis(3, 9)
"""From a microsecond to a second."""
DECADES = ("1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s")
LEAST_ROWS, MOST_ROWS = 3, 16
"""Of one step."""
_NAME = 24
_ALL_FROM = 56
"""Columns in which each decade has room for its name."""


class Shown(NamedTuple):
    name: str
    timeline: Sequence[TimelinePoint] = ()
    latency: Latency | None = None
    style: str = ""


def height_for(steps: int, most: int) -> int:
    """Lines that so many steps take of those that are free; 0: too few."""
    each = min((most - 2) // max(steps, 1), MOST_ROWS)
    return each * steps + 2 if each >= LEAST_ROWS else 0


def draw(steps: Sequence[Shown], width: int, height: int) -> list[Text]:
    rows = (height - 2) // max(len(steps), 1)
    if rows < LEAST_ROWS:
        return []
    columns = max(width - _NAME - 3, 8)
    lines = [rule(width, "how long an operation takes", "1 µs to 1 s, the same for all")]
    for step in steps:
        lines += _of(step, rows, columns)
    return [*lines, _axis(columns)]


def _of(step: Shown, rows: int, columns: int) -> list[Text]:
    told = _told(step) + [("", "")] * rows
    pictured = bars.upright(_shares(step.timeline, columns), rows - 1)
    signs = [*pictured, ["─"] * columns]
    return [
        line((fit(f"  {words}", _NAME), style), (" │" if at < rows - 1 else " └", FAINT), *_row(row, step.style))
        for at, (row, (words, style)) in enumerate(zip(signs, told, strict=False))
    ]


def _row(signs: Sequence[str], style: str) -> list[Run]:
    return [("".join(signs), FAINT if signs[0] == "─" else style)]


def _told(step: Shown) -> list[Run]:
    if step.latency is None:
        return [(step.name, HEAD), ("not measured yet", FAINT)]
    times = [("half within", step.latency.p50), ("longest", step.latency.max)]
    return [(step.name, HEAD), *((f"{words:<11} {duration_ns(ns):>8}", "") for words, ns in times)]


def _shares(timeline: Sequence[TimelinePoint], columns: int) -> list[float]:
    """Of each column, from nothing to the fullest one."""
    held = [0.0] * columns
    for piece in latency_map.slices(timeline):
        for lower, upper, share in piece.cells:
            first, last = (int(AXIS.place(ns) * (columns - 1)) for ns in (lower, upper * 0.999))
            for column in range(first, last + 1):
                held[column] += share / (last - first + 1)
    fullest = max(held) or 1.0
    return [one / fullest for one in held]


def _axis(columns: int) -> Text:
    cells = [" "] * (_NAME + 2 + columns)
    every = 1 if columns >= _ALL_FROM else 3
    for at, words in list(enumerate(DECADES))[::every]:
        place = _NAME + 2 + (columns - 1) * at // (len(DECADES) - 1)
        place -= 0 if at == 0 else len(words) - 1 if at == len(DECADES) - 1 else len(words) // 2
        cells[place : place + len(words)] = words
    return line((fit_right("".join(cells), len(cells)), FAINT))
