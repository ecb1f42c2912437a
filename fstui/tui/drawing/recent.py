"""The last minutes of a device as charts side by side: an area of braille dots under each figure, two to a cell.

They move on by whole cells, so that a line is sent only once in a while; what is drawn between is the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil, floor
from typing import NamedTuple

from rich.text import Text

from fstui.quantities import duration_ns, rate
from fstui.tui.drawing.bars import round_up
from fstui.tui.drawing.cells import fit, fit_right, line, rule
from fstui.tui.glyphs import DOUBT, FAINT, HEAD, HEAT
from fstui.tui.rates import Rate
from fstui.tui.recent import Recent

LEAST_LINES = 6
"""A rule, a chart of three lines with its name above, the times below; less says nothing."""
_LABEL = 8
_TALLEST = 15
_WIDE = 110
_FILLED = ((0x00, 0x40, 0x44, 0x46, 0x47), (0x00, 0x80, 0xA0, 0xB0, 0xB8))
"""So many dots of a cell's left and right half, from the bottom up."""


class _Figure(NamedTuple):
    name: str
    of: Callable[[Rate], float | None]
    said: Callable[[float], str]
    least: float
    """The scale never ends below."""
    doubtful: float = float("inf")


_FLUSHES = _Figure("flushes/s", lambda rate: rate.flushes, rate, 10)
_FLUSH_MS = _Figure("a flush takes", lambda rate: rate.ms_per_flush, lambda ms: duration_ns(ms * 1e6), 0.1)
_WRITES = _Figure("writes/s", lambda rate: rate.writes, rate, 10)
_WRITE_MS = _Figure("a write takes", lambda rate: rate.ms_per_write, lambda ms: duration_ns(ms * 1e6), 0.1)
_READS = _Figure("reads/s", lambda rate: rate.reads, rate, 10)
_BUSY = _Figure(
    "busy", lambda rate: None if rate.busy is None else min(rate.busy, 1.0), lambda share: f"{share:.0%}", 1, 0.8
)
_BY_COLUMNS = {
    1: (_FLUSHES, _FLUSH_MS, _WRITES, _BUSY, _WRITE_MS, _READS),
    2: (_FLUSHES, _FLUSH_MS, _WRITES, _WRITE_MS, _READS, _BUSY),
    3: (_FLUSHES, _WRITES, _READS, _FLUSH_MS, _WRITE_MS, _BUSY),
}


class Charts:
    """The charts as they were drawn last: between two cells of time they stay as they are."""

    def __init__(self, recent: Recent) -> None:
        self._recent = recent
        self._drawn_for: object = None
        self._texts: list[Text] = []

    def draw(self, devices: Collection[str], width: int, height: int) -> list[Text]:
        """Exactly that many lines, or none where there is no room or nothing was read twice."""
        newest_ns = self._recent.newest_ns
        if newest_ns is None or not devices or height < LEAST_LINES:
            return []
        cell_ns = _cell_s(width) * 1_000_000_000
        asked = (frozenset(devices), width, height, newest_ns // cell_ns)
        if asked != self._drawn_for:
            self._drawn_for = asked
            self._texts = self._draw(devices, width, height, newest_ns // cell_ns * cell_ns, cell_ns)
        return self._texts

    def _draw(self, devices: Collection[str], width: int, height: int, until_ns: int, cell_ns: int) -> list[Text]:
        columns = 1 if width < 66 else 2 if width < 160 else 3
        each = (width - 2) // columns
        cells = each - _LABEL - 2
        series = self._recent.series(devices, until_ns, cell_ns // 2, 2 * cells)
        counted = [one for one in _BY_COLUMNS[columns] if any(rate and one.of(rate) is not None for rate in series)]
        if not counted:
            return []
        rows = min(max((height - 2) // 4, 1), ceil(len(counted) / columns))
        tall = min((height - 2) // rows, _TALLEST)
        shown = counted[: rows * columns]
        lines = [rule(width, " + ".join(sorted(devices)), f"the last {_minutes(cells * cell_ns / 1e9)}")]
        for first in range(0, len(shown), columns):
            parts = [_chart(one, series, cells, tall) for one in shown[first : first + columns]]
            lines += [line(*(run for part in parts for run in part[at])) for at in range(tall)]
        return [*lines, line((_times(columns, each, cells, cell_ns / 1e9), FAINT))]


def _cell_s(width: int) -> int:
    """What a cell covers: seldom sent on a small terminal, whose line may be slow."""
    return 4 if width >= _WIDE else 10


def _chart(figure: _Figure, series: Sequence[Rate | None], cells: int, height: int) -> list[list[tuple[str, str]]]:
    """Its lines as runs, each of the same width."""
    values = [None if now is None else figure.of(now) for now in series]
    known = [value for value in values if value is not None]
    highest, rows = max(known), height - 1
    scale = round_up(max(highest, figure.least))
    head = f"  {figure.name}"
    peak = f"at most {figure.said(highest)}" if highest else ""
    room = _LABEL + 2 + cells - len(head) - 2
    drawn = [[(head, HEAD), (f"{fit_right(peak, room)}  ", FAINT)]]
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


def _times(columns: int, each: int, cells: int, cell_s: float) -> str:
    words = fit(f"{_minutes(cells * cell_s)} ago", cells - 4) + " now"
    return "".join(fit(" " * (_LABEL + 1) + words, each) for _ in range(columns))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 150 else f"{seconds:.0f} s"
