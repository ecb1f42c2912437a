"""Bars: across a row, on a logarithmic scale that its heading names; upright ones, one for each run; and sparklines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from statistics import median
from typing import NamedTuple

from fstui.model.steps import TimelinePoint
from fstui.report.latency_map import with_ends

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Scale(NamedTuple):
    """From one power of ten to a higher one."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """From 0 at its lower end to 1 at its upper one."""
        if value <= self.low:
            return 0.0
        return min(log10(value / self.low) / log10(self.high / self.low), 1.0)


def scale(values: Iterable[float]) -> Scale:
    """Around all of them, two decades at the least."""
    known = [value for value in values if value > 0] or [1.0]
    high = ceil(log10(max(known)) - 1e-9)
    return Scale(10.0 ** min(floor(log10(min(known)) + 1e-9), high - 2), 10.0**high)


def across(value: float, scale: Scale, cells: int) -> str:
    """As long as the value is high, in halves of a cell; what is more than nothing is seen."""
    halves = max(round(scale.place(value) * cells * 2), 1) if value > 0 else 0
    return "━" * (halves // 2) + "╸" * (halves % 2)


def upright(shares: Sequence[float], rows: int) -> list[list[str]]:
    """Each share of the full height as a column of signs, the uppermost row first."""
    eighths = [max(round(min(share, 1.0) * rows * 8), share > 0) for share in shares]
    return [[_BLOCKS[max(min(high - 8 * row, 8), 0)] for high in eighths] for row in reversed(range(rows))]


def round_up(value: float, ends: Sequence[float] = (1, 2, 3, 5, 10)) -> float:
    """One of the ends times a power of ten: where an axis may end."""
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in ends if step * power >= value * 0.999999)


def sparkline(timeline: Sequence[TimelinePoint], width: int) -> str:
    """Draw the median latency over time: one decade is the full height, blank where nothing ended."""
    known = [(point.t_s, end_s, point.p50_ns) for point, end_s in with_ends(timeline, 1.0) if point.p50_ns]
    if not known:
        return ""
    first_s, last_s = known[0][0], known[-1][1]
    a_cell_s = (last_s - first_s) / width or 1.0
    parts: list[list[int]] = [[] for _ in range(width)]
    for start_s, end_s, ns in known:
        first = min(int((start_s - first_s) / a_cell_s), width - 1)
        for x in range(first, max(round((end_s - first_s) / a_cell_s), first + 1)):
            parts[min(x, width - 1)].append(ns)
    typical = [median(part) if part else None for part in parts]
    low = min(ns for ns in typical if ns)
    decades = max(1.0, *(log10(ns / low) for ns in typical if ns))
    return "".join(" " if ns is None else _BLOCKS[1 + min(int(log10(ns / low) / decades * 8), 7)] for ns in typical)
