"""Bars: across a row, on a logarithmic scale that its heading names; and upright ones, one for each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

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
