"""Figures of the last minutes as charts side by side: an area of braille dots under each, two to a cell.

They move on by whole cells, so that a line is sent only once in a while; what is drawn between is the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Generic, NamedTuple, TypeVar

from rich.text import Text

from fstui.tui.drawing.bars import round_up
from fstui.tui.drawing.cells import fit, fit_right, line, rule
from fstui.tui.styles import DOUBT, FAINT, HEAD, HEAT

Reading = TypeVar("Reading")
LEAST_LINES = 6
"""A rule, a chart of three lines with its name above, the times below; less says nothing."""
_LABEL = 8
_TALLEST = 24
_WIDE = 110
_FILLED = ((0x00, 0x40, 0x44, 0x46, 0x47), (0x00, 0x80, 0xA0, 0xB0, 0xB8))
"""So many dots of a cell's left and right half, from the bottom up."""


class Figure(NamedTuple, Generic[Reading]):
    """One of the numbers that a stretch of time has; None: it was not counted."""

    name: str
    of: Callable[[Reading], float | None]
    said: Callable[[float], str]
    least: float
    """The scale never ends below."""
    doubtful: float = float("inf")


class Room(NamedTuple):
    """What a width leaves: so many charts beside each other, each so many cells wide, with so many for its dots."""

    columns: int
    each: int
    cells: int
    cell_s: int
    """What a cell covers: seldom sent on a small terminal, whose line may be slow."""

    @property
    def span_s(self) -> int:
        return self.cells * self.cell_s


def room(width: int) -> Room:
    """One to three of them."""
    columns = 1 if width < 66 else 2 if width < 160 else 3
    each = (width - 2) // columns
    return Room(columns, each, each - _LABEL - 2, 4 if width >= _WIDE else 10)


def draw(
    name: str,
    figures: Mapping[int, Sequence[Figure[Reading]]],
    series: Sequence[Reading | None],
    width: int,
    height: int,
) -> list[Text]:
    """At most so many lines. ``figures``: by how many stand beside each other; ``series``: two for each cell."""
    space = room(width)
    columns = space.columns
    counted = [one for one in figures[columns] if any(now is not None and one.of(now) is not None for now in series)]
    if not counted or height < LEAST_LINES:
        return []
    rows = min(max((height - 2) // 4, 1), ceil(len(counted) / columns))
    tall = min((height - 2) // rows, _TALLEST)
    shown = counted[: rows * columns]
    lines = [rule(width, name, f"the last {_minutes(space.span_s)}")]
    for first in range(0, len(shown), columns):
        parts = [_chart(one, series, space.cells, tall) for one in shown[first : first + columns]]
        lines += [line(*(run for part in parts for run in part[at])) for at in range(tall)]
    return [*lines, line((_times(space), FAINT))]


def _chart(
    figure: Figure[Reading], series: Sequence[Reading | None], cells: int, height: int
) -> list[list[tuple[str, str]]]:
    values = [None if now is None else figure.of(now) for now in series]
    known = [value for value in values if value is not None]
    highest, rows = max(known), height - 1
    scale = round_up(max(highest, figure.least))
    head = f"  {figure.name}"
    peak = f"at most {figure.said(highest)}" if highest else ""
    beside = _LABEL + 2 + cells - len(head) - 2
    drawn = [[(head, HEAD), (f"{fit_right(peak, beside)}  ", FAINT)]]
    for row in reversed(range(rows)):
        label = figure.said(scale) if row == rows - 1 else "0" if row == 0 else ""
        filled = [_dots(value, scale, row, rows) for value in values]
        dots = "".join(map(_cell, filled[::2], filled[1::2]))
        style = DOUBT if (row + 0.5) / rows * scale >= figure.doubtful else HEAT[0]
        drawn.append([(f"{label:>{_LABEL - 1}} {'┤' if label else '│'}", FAINT), (dots, style), (" ", "")])
    return drawn


def _cell(left: int, right: int) -> str:
    """With so many dots in each of its halves."""
    return chr(0x2800 + _FILLED[0][left] + _FILLED[1][right]) if left or right else " "


def _dots(value: float | None, scale: float, row: int, rows: int) -> int:
    """Of four in that cell; what is zero still has a line at the bottom, what is not known has none."""
    if value is None:
        return 0
    reached = max(floor(min(value / scale, 1) * rows * 4 + 0.5), 1)
    return max(min(reached - 4 * row, 4), 0)


def _times(space: Room) -> str:
    words = fit(f"{_minutes(space.span_s)} ago", space.cells - 4) + " now"
    return "".join(fit(" " * (_LABEL + 1) + words, space.each) for _ in range(space.columns))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 150 else f"{seconds:.0f} s"
