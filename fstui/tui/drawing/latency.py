"""Latency as a heat map over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby, pairwise
from math import floor, log10
from statistics import fmean
from typing import NamedTuple

import msgspec
from rich.text import Text

from fstui.model.quantities import duration_ns, rate
from fstui.model.run import Run
from fstui.model.steps import Latency, PendingOperation, Snapshot, Step, TimelinePoint
from fstui.report import latency_map
from fstui.report.latency_map import REFERENCES, REVOLUTION, LogScale, Mark, Slice, with_ends
from fstui.tui.drawing.cells import StyledText, draw_frame, fit, line, rule
from fstui.tui.drawing.charts import round_up, without_zeros
from fstui.tui.styles import AREA, BAD, FAINT, TIME, WARNING, shades

LABEL_WIDTH = 9
MARKS_WIDTH = 21
"""Width of the percentiles and reference values to the right of the map."""
MIN_WIDTH_WITH_MARKS = 54
LAST_TIME_CELLS = 3
"""Cells to the right of a map for the half of the last time that is not below the map."""
_MIN_TIME_CELLS = 7
"""Cells from one time below the map to the next: a narrow map has fewer times, so that they stay apart."""
_MIN_TWO_CHARTS_LINES, _LINES_PER_TICK, _MIN_NUMBER_DOTS = 14, 4, 6
COLUMN_S = 1.0
"""Seconds per column of a step that runs until it is stopped."""
_MAX_UNFINISHED = 0.1
"""A curve omits an interval of which more than this share is not over: its rate would be too low."""
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Braille dots of the left and the right half of a cell, from the bottom up."""
_SOME_SHARE, _MANY_SHARE = 0.02, 0.25
_MAX_ADDED_DECADES = 1.5
"""How much of the axis may be empty so that each decade is a whole number of rows."""
HEAT = shades(TIME)
"""Styles of cells with few, some or many of the operations in about this time."""
LEGEND = (
    ("share of the operations: ", FAINT),
    ("few ", FAINT),
    *(("⣿", style) for style in HEAT),
    (" many", FAINT),
)
P95_NOTE = "p95 of each second"
_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_ARROWS = "↑ above, ↓ below"
"""A label that is not in the row of its value has an arrow: the value is above or below."""
_PERCENTILE_ORDER = ("p50", "p90", "p99", "p99.9", "max")


class LatencyView(msgspec.Struct, frozen=True):
    """What a heat map shows. ``length_s`` is None for a step that runs until it is stopped."""

    timeline: Sequence[TimelinePoint] = ()
    elapsed_s: float = 0.0
    length_s: float | None = 1.0
    marks: tuple[Mark, ...] = ()
    latency: Latency | None = None
    stall: PendingOperation | None = None
    failed: bool = False


class _Values(NamedTuple):
    """The values of a curve. ``of`` returns the value of a point that is this long, in seconds."""

    of: Callable[[TimelinePoint, float], float]
    to_text: Callable[[float], str]
    colour: str


class MapWindow(msgspec.Struct, frozen=True):
    start_s: float
    length_s: float
    columns: int

    def dot_column(self, at_s: float) -> int:
        """Return the column of dots for a time. A cell has two."""
        return floor((at_s - self.start_s) / self.length_s * 2 * self.columns + 0.5)


def step_view(run: Run, step: Step) -> LatencyView:
    marks = latency_map.marks(run, step.name, step.settings)
    failed = step.error is not None
    return LatencyView(timeline(step), step.elapsed_s, max(step.elapsed_s, 1e-3), marks, step.latency_ns, None, failed)


def heat_maps(
    views: Sequence[tuple[str, LatencyView]], columns: int, width: int, height: int, *, frame: bool
) -> list[Text]:
    """Draw named maps with a common axis in this many columns. ``height``: that of one row of maps."""
    axis = latency_map.axis([point for _, view in views for point in view.timeline])
    rows = (views[start:][:columns] for start in range(0, len(views), columns))
    return [text for row in rows for text in _heat_maps(row, columns, axis, width, height, frame=frame)]


def _heat_maps(
    views: Sequence[tuple[str, LatencyView]], columns: int, axis: LogScale, width: int, height: int, *, frame: bool
) -> list[Text]:
    maps = []
    for index, (name, view) in enumerate(views):
        full_width = width * (index + 1) // columns - width * index // columns
        map_width = full_width - (2 if frame else 1)
        title_width = map_width + (not frame and index == columns - 1)
        heading = rule(title_width, name, legend=LEGEND if view.timeline else ())
        drawn = [heading, *heat_map(view, map_width, height - 1 - frame, axis)]
        for text in drawn:
            text.truncate(map_width if frame else full_width, pad=True)
        maps.append(draw_frame(drawn, full_width, height) if frame else drawn)
    return [line().join(parts) for parts in zip(*maps, strict=True)]


def heat_map(view: LatencyView, width: int, height: int, axis: LogScale | None = None) -> list[Text]:
    """Draw the map, highest latency first, and the time axis below it. ``axis``: the common axis of several maps.

    Each cell has 2 × 4 braille dots. A dot is set if there were operations of this latency. The style of a cell shows
    its share of the operations in about that time (see ``LEGEND``). Red is a stall, yellow is faster than the device
    can be. A step of known length fills the map from left to right. Without a length, it scrolls by whole columns.
    """
    has_marks = width >= MIN_WIDTH_WITH_MARKS
    marks_width = MARKS_WIDTH if has_marks else LAST_TIME_CELLS
    cells, rows = max(width - LABEL_WIDTH - marks_width, 4), max(height - 1, 1)
    stalled_ns = view.stall.elapsed_s * 1e9 if view.stall else 0.0
    axis = _with_even_decades(axis or latency_map.axis(view.timeline, view.marks, stalled_ns), rows)
    window = _window(view, cells)
    drawn = _cells(view, axis, window, rows)
    labels, mark_labels = _axis_labels(axis, rows), _mark_labels(view, axis, rows) if has_marks else {}
    times = _time_axis(window)
    if any(label[0][0].startswith((" ↑", " ↓")) for label in mark_labels.values()):
        times = fit(times, width - MARKS_WIDTH + LAST_TIME_CELLS) + f"{_ARROWS:>{MARKS_WIDTH - LAST_TIME_CELLS - 1}}"
    return [
        *(line((labels[row], FAINT), *_spans(drawn[row]), *mark_labels.get(row, ())) for row in reversed(range(rows))),
        line((times, FAINT)),
    ]


def _with_even_decades(axis: LogScale, rows: int) -> LogScale:
    """Extend the axis at its top until each decade is a whole number of rows, or else each second decade."""
    decades = log10(axis.high / axis.low)
    if rows < decades - 1e-9:
        return axis
    rows_per_decade: float = floor(rows / decades + 1e-9)
    if rows / rows_per_decade > decades + _MAX_ADDED_DECADES:
        rows_per_decade = floor(2 * rows / decades + 1e-9) / 2
    return LogScale(axis.low, max(axis.high, axis.low * 10 ** (rows / rows_per_decade)))


def timeline(step: Step | Snapshot) -> Sequence[TimelinePoint]:
    """Return the latencies over time: of a database, those that its clients report for each second."""
    return (step.figures.timeline() if step.figures else ()) or step.timeline


def chart(view: LatencyView, width: int, height: int, rates_name: str | None = None) -> list[Text]:
    """Draw the heat map, or the p95 of each second if nothing else is known.

    ``rates_name``: draw the operations per second, with this name, below the p95 if there is room.
    """
    if any(point.p99_ns or point.max_ns for point in view.timeline) or not any(point.p50_ns for point in view.timeline):
        return heat_map(view, width, height)
    below: list[Text] = []
    if rates_name and height >= _MIN_TWO_CHARTS_LINES:
        below = [rule(width, f"{rates_name}/s"), *rates(view, width, height // 2 - 1)]
    p95 = _Values(lambda point, _: point.p50_ns or 0, duration_ns, TIME)
    return [*_curve(view, p95, width, height - len(below)), *below]


def rates(view: LatencyView, width: int, height: int) -> list[Text]:
    """Draw the operations per second of a step over the same time as the map."""
    per_s = _Values(lambda point, length_s: point.ops / length_s, lambda value: without_zeros(rate(value)), AREA)
    return _curve(view, per_s, width, height)


def _curve(view: LatencyView, values: _Values, width: int, height: int) -> list[Text]:
    """Draw values over time as a line, from 0. Points that are wide enough have their number next to them."""
    columns, rows = max(width - LABEL_WIDTH - LAST_TIME_CELLS, 4), max(height - 1, 1)
    window = _window(view, columns)
    dot_s = window.length_s / (2 * columns)
    points = [
        ((point.t_s - window.start_s) / dot_s, (end_s - window.start_s) / dot_s, values.of(point, end_s - point.t_s))
        for point, end_s in with_ends(view.timeline, view.elapsed_s or 1.0)
        if end_s - (end_s - point.t_s) * _MAX_UNFINISHED <= (view.elapsed_s or end_s)
    ]
    parts: list[list[float]] = [[] for _ in range(2 * columns)]
    for start, end, amount in points:
        for part in parts[max(round(start), 0) : max(round(end), round(start) + 1, 0)]:
            part.append(amount)
    means = [fmean(part) if part else None for part in parts]
    top = round_up(max((mean for mean in means if mean), default=1.0))
    tick = min(_round_step(top / max(rows / _LINES_PER_TICK, 1)), top)
    rows_per_tick = max(floor(rows * tick / top - tick / top / 4), 1)
    top = tick * (rows - 0.25) / rows_per_tick  # so that the ticks have equal distances

    def dot_row(amount: float) -> int:
        return min(round(amount / top * (4 * rows - 1)), 4 * rows - 1)

    bits = [[0] * columns for _ in range(rows)]
    for x, (before, mean) in enumerate(pairwise((None, *means))):
        if mean is not None:
            ends = sorted((dot_row(mean), dot_row(mean if before is None else before)))
            for y in range(ends[0], ends[1] + 1):
                bits[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
    cells = [[(chr(0x2800 + dots) if dots else " ", values.colour) for dots in row] for row in bits]
    for start, end, amount in points:
        if end - start >= _MIN_NUMBER_DOTS:
            _draw_number(cells, values.to_text(amount), dot_row(amount) // 4, (start + end) / 4)
    ticks = [number * tick for number in range(floor(top / tick + 0.01) + 1)]
    labels = {dot_row(amount) // 4: without_zeros(values.to_text(amount)) if amount else "0" for amount in ticks}
    return [
        *(
            line(
                (f"{labels.get(row, ''):>{LABEL_WIDTH - 2}} {'┤' if row in labels else '│'}", FAINT),
                *_spans(cells[row]),
            )
            for row in reversed(range(rows))
        ),
        line((_time_axis(window), FAINT)),
    ]


def _draw_number(cells: list[list[StyledText]], text: str, row: int, middle: float) -> None:
    """Draw a number above the line at this row, or below it; nowhere if both places are taken."""
    start = max(round(middle - len(text) / 2), 0)
    end = start + len(text)
    for part in (cells[place] for place in (row + 1, row - 1) if 0 <= place < len(cells)):
        if end <= len(part) and all(sign == " " for sign, _ in part[max(start - 1, 0) : end + 1]):
            part[start:end] = [(sign, "") for sign in text]
            return


def _window(view: LatencyView, columns: int) -> MapWindow:
    if view.length_s:
        return MapWindow(0.0, max(view.length_s, 1e-3), columns)
    start_s = max(floor(view.elapsed_s / COLUMN_S) + 1 - columns, 0) * COLUMN_S
    return MapWindow(start_s, columns * COLUMN_S, columns)


def _cells(view: LatencyView, axis: LogScale, window: MapWindow, rows: int) -> list[list[StyledText]]:
    """Return the character and style of each cell, the lowest row first."""
    bits = [[0] * window.columns for _ in range(rows)]
    shares = [[0.0] * window.columns for _ in range(rows)]
    dot_row = cache(lambda ns: _row_of(axis, ns, rows * 4))  # all slices have the same few edges
    for slice_ in latency_map.slices(view.timeline, window.length_s / window.columns):
        first_dot, (dots, row_shares) = window.dot_column(slice_.start_s), _dots_and_shares(slice_, dot_row)
        for x in range(max(first_dot, 0), min(max(window.dot_column(slice_.end_s), first_dot + 1), 2 * window.columns)):
            for y in dots:
                bits[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
            for row, share in row_shares.items():
                shares[row][x // 2] = max(shares[row][x // 2], share)
    styles = [_row_style(view, axis, row, rows) for row in range(rows)]
    drawn = [
        [(chr(0x2800 + bits[row][x]), styles[row] or _heat(shares[row][x])) if bits[row][x] else (" ", "")
         for x in range(window.columns)]
        for row in range(rows)
    ]  # fmt: skip
    _draw_marks(drawn, view, axis, rows)
    _draw_fault(drawn, view, axis, window, rows)
    return drawn


def _dots_and_shares(slice_: Slice, dot_row: Callable[[float], int]) -> tuple[set[int], dict[int, float]]:
    """Return the dots of one slice, and the share of its operations in each row."""
    dots: set[int] = set()
    shares: dict[int, float] = {}
    for lower, upper, share in slice_.cells:
        column = range(dot_row(lower), dot_row(upper * 0.999) + 1)
        dots.update(column)
        for y in column:
            shares[y // 4] = shares.get(y // 4, 0.0) + share / len(column)
    return dots, shares


def _row_of(axis: LogScale, ns: float, places: int) -> int:
    return min(int(axis.position(ns) * places), places - 1)


def _row_style(view: LatencyView, axis: LogScale, row: int, rows: int) -> str:
    """Return the style of a row of stalls or of impossibly short latencies; empty for any other row."""
    middle_ns = axis.value((row + 0.5) / rows)
    if latency_map.is_stall(middle_ns, view.latency):
        return BAD
    revolution_ns = next((mark.ns for mark in view.marks if mark.name == REVOLUTION), 0.0)
    return WARNING if middle_ns < revolution_ns / 2 else ""


def _heat(share: float) -> str:
    return HEAT[0] if share <= _SOME_SHARE else HEAT[1] if share < _MANY_SHARE else HEAT[2]


def _draw_marks(drawn: list[list[StyledText]], view: LatencyView, axis: LogScale, rows: int) -> None:
    """Draw a horizontal line for each reference value, in cells without operations only."""
    for mark in view.marks:
        if axis.contains(mark.ns):
            row = drawn[_row_of(axis, mark.ns, rows)]
            sign = "╌" if mark.name == REVOLUTION else "·"
            row[:] = [cell if cell[0] != " " else (sign, FAINT) for cell in row]


def _draw_fault(drawn: list[list[StyledText]], view: LatencyView, axis: LogScale, window: MapWindow, rows: int) -> None:
    """Draw an operation that has not returned, or the error that ended the step."""
    column = min(max(window.dot_column(view.elapsed_s) // 2, 0), window.columns - 1)
    if view.stall:
        start = min(max(window.dot_column(view.elapsed_s - view.stall.elapsed_s) // 2, 0), column)
        for x in range(start, column + 1):
            drawn[_row_of(axis, view.stall.elapsed_s * 1e9, rows)][x] = ("▲", BAD)
    if view.failed:
        for row in drawn:
            row[column] = ("✗", BAD)


def _spans(cells: Sequence[StyledText]) -> list[StyledText]:
    """Join neighbouring cells of the same style into one span. A blank joins any span."""
    spans: list[StyledText] = []
    for sign, style in cells:
        if spans and (style == spans[-1][1] or sign == " "):
            spans[-1] = (spans[-1][0] + sign, spans[-1][1])
        else:
            spans.append((sign, style))
    return spans


def _axis_labels(axis: LogScale, rows: int) -> list[str]:
    labels = [" " * (LABEL_WIDTH - 1) + "│"] * rows
    ticks, rows_per_decade = axis.ticks(), rows / log10(axis.high / axis.low)
    is_even = abs(rows_per_decade - round(rows_per_decade)) < 1e-6  # a rounding error
    for ns in ticks if is_even and rows_per_decade > 1.5 else ticks[::2]:  # not in every row
        labels[_row_of(axis, ns * 1.001, rows)] = f"{tick(ns):>{LABEL_WIDTH - 2}} ┤"
    return labels


def tick(ns: float) -> str:
    unit, scale = next((unit, scale) for unit, scale in _UNITS if ns >= scale * 0.999)
    return f"{ns / scale:.0f} {unit}"


def _mark_labels(view: LatencyView, axis: LogScale, rows: int) -> dict[int, list[StyledText]]:
    """Return the labels of percentiles and reference values by row. A label may move to a free row nearby."""
    all_percentiles = latency_map.percentiles(view.latency)
    marks = [mark for mark in view.marks if axis.contains(mark.ns)]
    percentiles = _join_equal(all_percentiles)
    if len(percentiles) + len(marks) > rows:  # the first three matter most
        percentiles = _join_equal(all_percentiles[:3])
    chosen = sorted([*percentiles, *marks][:rows], key=lambda mark: mark.ns)
    places = [_row_of(axis, mark.ns, rows) for mark in chosen]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + 1)
    for index in reversed(range(len(places))):
        places[index] = min(places[index], rows - len(places) + index)
    return {
        row: _mark_label(mark, _row_of(axis, mark.ns, rows) - row) for row, mark in zip(places, chosen, strict=True)
    }


def _join_equal(percentiles: Sequence[Mark]) -> list[Mark]:
    """Join the percentiles that are shown as the same time: ``p50–p99 1.2 ms``."""
    rising = sorted(percentiles, key=lambda mark: _PERCENTILE_ORDER.index(mark.name))
    groups = [list(group) for _, group in groupby(rising, lambda mark: duration_ns(mark.ns))]
    return [Mark("–".join(dict.fromkeys((group[0].name, group[-1].name))), group[0].ns) for group in groups]


def _mark_label(mark: Mark, distance: int) -> list[StyledText]:
    """Draw a label. ``distance``: how many rows above the label its value is; an arrow shows the direction."""
    is_reference = mark.name in REFERENCES
    sign = ("╌" if mark.name == REVOLUTION else "·") if is_reference else "◂"
    sign = "↑" if distance > 0 else "↓" if distance < 0 else sign
    return [(f" {sign}{fit(mark.name, 10)}", FAINT), (f"{duration_ns(mark.ns):>8}", FAINT if is_reference else "")]


def _time_axis(window: MapWindow) -> str:
    """Draw the time at the start, and at most five times at a round distance from each other."""
    step_s = _round_step(window.length_s / min(5.5, window.columns / _MIN_TIME_CELLS))
    digits = len(f"{step_s:g}".partition(".")[2])
    times = f"{'':{LABEL_WIDTH - 1}}{window.start_s:.0f} s"
    for number in range(1, floor(window.length_s / step_s + 0.01) + 1):
        label = f"{window.start_s + number * step_s:.{digits}f}"
        column = LABEL_WIDTH + round(window.columns * number * step_s / window.length_s)
        times = times.ljust(column - len(label) // 2) + label
    return times


def _round_step(min_step: float) -> float:
    """Return the smallest distance between the labels of an axis that is a round number: 1, 2, 5, 10 …"""
    power = 10.0 ** floor(log10(min_step))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= min_step)
