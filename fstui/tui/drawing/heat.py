"""Latency over time as a heat map of braille dots, with the percentiles and what they are held against beside it.

A dot stands where operations lie, 2 × 4 of them to a cell; the cell's style says how many of its column's operations
it holds. Red is a stall; yellow is sooner than the device can be. A timed step fills the map from left to right over
its known length, an open-ended one moves by columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import ceil, floor

import msgspec
from rich.text import Text

from fstui.model.quantities import duration_ns
from fstui.model.run import Run
from fstui.model.steps import Latency, Stall, Step, TimelinePoint
from fstui.report import latency_map
from fstui.report.latency_map import Axis, Mark, Slice
from fstui.tui.drawing.cells import fit, line
from fstui.tui.styles import BAD, DOUBT, FAINT, HEAT

LABEL = 9
LADDER = 17
LADDER_FROM = 54
"""Narrower maps have none."""
COLUMN_S = 1.0
"""What one column of an open-ended step covers."""
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Of a cell's two columns, from its bottom up."""
_SOME, _MANY = 0.02, 0.25
_HELD_AGAINST = ("limit", "last", "publ.", "idle")


class View(msgspec.Struct, frozen=True):
    timeline: Sequence[TimelinePoint] = ()
    elapsed_s: float = 0.0
    length_s: float | None = 1.0
    """None: it runs until it is stopped."""
    marks: tuple[Mark, ...] = ()
    latency: Latency | None = None
    stall: Stall | None = None
    failed: bool = False


class Span(msgspec.Struct, frozen=True):
    start_s: float
    length_s: float
    columns: int

    def dot(self, at_s: float) -> int:
        """The column of dots, two to a cell."""
        return floor((at_s - self.start_s) / self.length_s * 2 * self.columns + 0.5)


def of_step(run: Run, step: Step) -> View:
    """All of a step that is over."""
    marks = latency_map.of_step(run, step)
    failed = step.error is not None
    return View(step.timeline, step.elapsed_s, max(step.elapsed_s, 1e-3), marks, step.latency_ns, None, failed)


def draw(view: View, width: int, height: int, axis: Axis | None = None) -> list[Text]:
    """The map, its highest latency first, and the time axis below it. ``axis``: one that it shares with others."""
    beside = LADDER if width >= LADDER_FROM else 0
    columns, rows = max(width - LABEL - beside, 4), max(height - 1, 1)
    stalled_ns = view.stall.elapsed_s * 1e9 if view.stall else 0.0
    axis = axis or latency_map.axis(view.timeline, view.marks, stalled_ns)
    span = _span(view, columns)
    cells = _cells(view, axis, span, rows)
    labels, steps = _labels(axis, rows), _ladder(view, axis, rows) if beside else {}
    return [
        *(line((labels[row], FAINT), *_runs(cells[row]), *steps.get(row, ())) for row in reversed(range(rows))),
        line((_time_axis(span), FAINT)),
    ]


def _span(view: View, columns: int) -> Span:
    if view.length_s:
        return Span(0.0, max(view.length_s, 1e-3), columns)
    start_s = max(floor(view.elapsed_s / COLUMN_S) + 1 - columns, 0) * COLUMN_S
    return Span(start_s, columns * COLUMN_S, columns)


def _cells(view: View, axis: Axis, span: Span, rows: int) -> list[list[tuple[str, str]]]:
    """Row by row from the bottom: a sign and its style."""
    bits = [[0] * span.columns for _ in range(rows)]
    shares = [[0.0] * span.columns for _ in range(rows)]
    dot = cache(lambda ns: _dot(axis, ns, rows))  # the cells of all stretches have the same edges
    for piece in latency_map.slices(view.timeline, span.length_s / span.columns):
        first, (lit, held) = span.dot(piece.start_s), _lit(piece, dot)
        for x in range(max(first, 0), min(max(span.dot(piece.end_s), first + 1), 2 * span.columns)):
            for y in lit:
                bits[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
            for row, share in held.items():
                shares[row][x // 2] = max(shares[row][x // 2], share)
    styles = [_style_of(view, axis, row, rows) for row in range(rows)]
    drawn = [
        [(chr(0x2800 + bits[row][x]), styles[row] or _heat(shares[row][x])) if bits[row][x] else (" ", "")
         for x in range(span.columns)]
        for row in range(rows)
    ]  # fmt: skip
    _draw_marks(drawn, view, axis, rows)
    _draw_trouble(drawn, view, axis, span, rows)
    return drawn


def _lit(piece: Slice, dot: Callable[[float], int]) -> tuple[set[int], dict[int, float]]:
    """Of one stretch: its dots from the bottom up, and the share of its operations in each row."""
    lit: set[int] = set()
    held: dict[int, float] = {}
    for lower, upper, share in piece.cells:
        dots = range(dot(lower), dot(upper * 0.999) + 1)
        lit.update(dots)
        for y in dots:
            held[y // 4] = held.get(y // 4, 0.0) + share / len(dots)
    return lit, held


def _dot(axis: Axis, ns: float, rows: int) -> int:
    return min(int(axis.place(ns) * rows * 4), rows * 4 - 1)


def _row(axis: Axis, ns: float, rows: int) -> int:
    return min(int(axis.place(ns) * rows), rows - 1)


def _style_of(view: View, axis: Axis, row: int, rows: int) -> str:
    """The style of a row that means more than how many: stalls, and what is sooner than physics allows."""
    middle_ns = 10 ** (axis.low + (row + 0.5) / rows * (axis.high - axis.low))
    if latency_map.is_stall(middle_ns, view.latency):
        return BAD
    limit = next((mark.ns for mark in view.marks if mark.name == "limit"), 0.0)
    return DOUBT if middle_ns < limit / 2 else ""


def _heat(share: float) -> str:
    return HEAT[0] if share < _SOME else HEAT[1] if share < _MANY else HEAT[2]


def _draw_marks(drawn: list[list[tuple[str, str]]], view: View, axis: Axis, rows: int) -> None:
    """A line across for each, where nothing was measured."""
    for mark in view.marks:
        if axis.holds(mark.ns):
            row = drawn[_row(axis, mark.ns, rows)]
            sign = "╌" if mark.name == "limit" else "·"
            row[:] = [cell if cell[0] != " " else (sign, FAINT) for cell in row]


def _draw_trouble(drawn: list[list[tuple[str, str]]], view: View, axis: Axis, span: Span, rows: int) -> None:
    """Where the step is now: an operation that has not returned, or the error that ended it."""
    column = min(max(span.dot(view.elapsed_s) // 2, 0), span.columns - 1)
    if view.stall:
        first = min(max(span.dot(view.elapsed_s - view.stall.elapsed_s) // 2, 0), column)
        for x in range(first, column + 1):
            drawn[_row(axis, view.stall.elapsed_s * 1e9, rows)][x] = ("▲", BAD)
    if view.failed:
        for row in drawn:
            row[column] = ("✗", BAD)


def _runs(cells: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbours of one style as one run; blanks take any."""
    runs: list[tuple[str, str]] = []
    for sign, style in cells:
        if runs and (style == runs[-1][1] or sign == " "):
            runs[-1] = (runs[-1][0] + sign, runs[-1][1])
        else:
            runs.append((sign, style))
    return runs


def _labels(axis: Axis, rows: int) -> list[str]:
    """The decades, each on the row in which it begins."""
    labels = [" " * (LABEL - 1) + "│"] * rows
    for decade in range(ceil(axis.low - 1e-9), ceil(axis.high)):
        labels[_row(axis, 10.0**decade * 1.001, rows)] = f"{_decade(decade):>{LABEL - 2}} ┤"
    return labels


def _decade(exponent: int) -> str:
    unit, power = {0: ("ns", 0), 1: ("µs", 3), 2: ("ms", 6), 3: ("s", 9)}[min(exponent // 3, 3)]
    return f"{10 ** (exponent - power)} {unit}"


def _ladder(view: View, axis: Axis, rows: int) -> dict[int, list[tuple[str, str]]]:
    """Percentiles and marks by their rows, as near to their own as the others leave room."""
    steps = latency_map.ladder(view.latency)
    wanted = [*steps[:3], *(mark for mark in view.marks if axis.holds(mark.ns)), *steps[3:]][:rows]
    wanted.sort(key=lambda mark: (mark.ns, mark.name == "max"))
    places = [_row(axis, mark.ns, rows) for mark in wanted]
    for at in range(1, len(places)):
        places[at] = max(places[at], places[at - 1] + 1)
    for at in reversed(range(len(places))):
        places[at] = min(places[at], rows - len(places) + at)
    return {row: _step(mark) for row, mark in zip(places, wanted, strict=True)}


def _step(mark: Mark) -> list[tuple[str, str]]:
    against = mark.name in _HELD_AGAINST
    sign = ("╌" if mark.name == "limit" else "·") if against else "◂"
    return [(f" {sign}{fit(mark.name, 6)}", FAINT), (f"{duration_ns(mark.ns):>8}", FAINT if against else "")]


def _time_axis(span: Span) -> str:
    cells = [" "] * (LABEL + span.columns + 4)
    quarter_s = span.length_s / 4
    digits = next((digits for digits in (0, 1) if not round(quarter_s * 10**digits, 6) % 1), 2)
    for part in range(5):
        words = f"{span.start_s + quarter_s * part:.{digits}f}"
        at = LABEL + span.columns * part // 4
        if part == 0:
            words, at = f"{span.start_s:.0f} s", LABEL - 1
        elif part == 4:
            at = LABEL + span.columns - len(words)
        else:
            at -= len(words) // 2
        cells[at : at + len(words)] = words
    return "".join(cells).rstrip()
