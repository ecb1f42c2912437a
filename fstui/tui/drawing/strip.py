"""Latency over time on a logarithmic axis: a row is one decade, labelled at its lower edge.

Eighth blocks show p50 within its decade; ``'`` is the maximum, only where it lies above p50's decade; ``╌`` is the
limit. A timed step fills the strip from left to right over its known length; an open-ended one moves by columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10

from rich.text import Text

from fstui.model.steps import TimelinePoint
from fstui.tui.drawing.cells import line

LABEL = 8
COLUMN_S = 1.0
"""What one column of an open-ended step covers."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_LOWEST = 2  # 100 ns
_HIGHEST = 10  # 10 s


def bottom_decade(p50_ns: int | None, rows: int) -> int:
    """The exponent of the lowest row: two decades below p50, fewer where rows are few."""
    wanted = (floor(log10(p50_ns)) if p50_ns else 6) - min(rows // 2 - 1, 2)
    return max(_LOWEST, min(wanted, _HIGHEST - rows + 1))


def draw(
    timeline: Sequence[TimelinePoint],
    *,
    width: int,
    rows: int,
    bottom: int,
    elapsed_s: float,
    length_s: float | None,
    limit_ns: int | None,
) -> list[Text]:
    """``rows`` decades from ``10 ** bottom`` ns upwards, highest first, and the time axis below."""
    columns = max(width - LABEL - 4, 10)
    span_s = length_s or columns * COLUMN_S
    start_s = 0.0 if length_s else max(floor(elapsed_s / COLUMN_S) + 1 - columns, 0) * COLUMN_S
    grid = [[" "] * columns for _ in range(rows)]
    if limit_ns and 0 <= (row := floor(log10(limit_ns)) - bottom) < rows:
        grid[row] = ["╌"] * columns
    for column, point in _by_column(timeline, columns, start_s, span_s).items():
        if point.p50_ns is None:
            continue
        low = _row(point.p50_ns, bottom, rows)
        grid[low][column] = _block(point.p50_ns, bottom, rows)
        if point.max_ns is not None and (high := _row(point.max_ns, bottom, rows)) > low:
            grid[high][column] = "'"
    lines = [
        line(f"{_decade(bottom + row):>{LABEL - 1}} ┤{''.join(grid[row]).rstrip()}") for row in reversed(range(rows))
    ]
    return [*lines, line(_axis(columns, start_s, span_s))]


def _by_column(
    timeline: Sequence[TimelinePoint], columns: int, start_s: float, span_s: float
) -> dict[int, TimelinePoint]:
    """The point that covers each column; where several share one, the highest maximum and the busiest p50."""
    steps = [b.t_s - a.t_s for a, b in pairwise(timeline)]
    stretch_s = min((step for step in steps if step > 0), default=span_s / columns)
    column_s = span_s / columns
    found: dict[int, TimelinePoint] = {}
    for point in timeline:
        first = floor((point.t_s - start_s) / column_s + 0.5)
        last = max(floor((point.t_s + stretch_s - start_s) / column_s + 0.5) - 1, first)
        for column in range(max(first, 0), min(last, columns - 1) + 1):
            found[column] = _worse(found.get(column), point)
    return found


def _worse(one: TimelinePoint | None, other: TimelinePoint) -> TimelinePoint:
    if one is None:
        return other
    busier = one if one.ops >= other.ops else other
    highest = max(one.max_ns or 0, other.max_ns or 0) or None
    return TimelinePoint(t_s=busier.t_s, ops=busier.ops, p50_ns=busier.p50_ns, max_ns=highest)


def _row(ns: int, bottom: int, rows: int) -> int:
    return max(0, min(floor(log10(max(ns, 1))) - bottom, rows - 1))


def _block(ns: int, bottom: int, rows: int) -> str:
    within = log10(max(ns, 1)) - bottom - _row(ns, bottom, rows)
    return _BLOCKS[max(0, min(int(within * len(_BLOCKS)), len(_BLOCKS) - 1))]


def _decade(exponent: int) -> str:
    unit, power = {0: ("ns", 0), 1: ("µs", 3), 2: ("ms", 6), 3: ("s", 9)}[min(exponent // 3, 3)]
    return f"{10 ** (exponent - power)} {unit}"


def _axis(columns: int, start_s: float, span_s: float) -> str:
    cells = [" "] * (LABEL + columns + 4)
    digits = next((digits for digits in (0, 1) if not round(span_s / 4 * 10**digits, 6) % 1), 2)
    for part in range(5):
        words = f"{start_s + span_s * part / 4:.{digits}f}"
        at = LABEL + 1 + columns * part // 4
        if part == 0:
            words, at = f"{start_s:.0f} s", LABEL
        elif part == 4:
            at = LABEL + 1 + columns - len(words)
        else:
            at -= len(words) // 2
        cells[at : at + len(words)] = words
    return "".join(cells).rstrip()
