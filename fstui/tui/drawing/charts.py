"""Bars, sparklines, axes, and area charts of the last minutes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, log10
from statistics import median
from typing import Any, NamedTuple

from rich.text import Text

from fstui.model.quantities import duration_ns, percent, rate
from fstui.model.steps import TimelinePoint
from fstui.report.latency_map import LogScale, round_bounds, with_ends
from fstui.tui.drawing.cells import StyledText, fit, fit_right, line, rule
from fstui.tui.iostats import IoStats, RecentSamples, Sample, maximum, sum_devices
from fstui.tui.styles import AREA, FAINT, HEAD, TIME, WARNING, shades

MIN_AREA_LINES = 5
"""Height of a rule, a name, two lines of chart and the time axis."""
MIN_CHART_LINES = 4
_HIGH_CHART_LINES = 12
"""Charts of this height are better made wider than higher."""
LABEL_WIDTH, _MAX_BRIGHT_ROWS = 8, 10
_WIDE_SCREEN = 110
_BLOCKS = " ▁▂▃▄▅▆▇█"
_BRAILLE = ((0x00, 0x40, 0x44, 0x46, 0x47), (0x00, 0x80, 0xA0, 0xB0, 0xB8))
"""Braille dots for a column filled from the bottom with 0 to 4 dots: the left and the right half of a cell."""


def scale_around(values: Iterable[float]) -> LogScale:
    """Return a scale of whole decades, at least two, that contains all positive values."""
    positive = [value for value in values if value > 0] or [1.0]
    high = ceil(log10(max(positive)) - 1e-9)
    return LogScale(10.0 ** min(floor(log10(min(positive)) + 1e-9), high - 2), 10.0**high)


def ends(scale: LogScale) -> str:
    """Return both ends of a scale of whole decades: ``10…100k``."""
    return "…".join(
        f"{end / 1e6:g}M" if end >= 1e6 else f"{end / 1e3:g}k" if end >= 1e3 else f"{end:g}" for end in scale
    )


def bar(value: float, scale: LogScale, cells: int) -> str:
    """Return a horizontal bar in steps of half a cell. A positive value always shows at least half a cell."""
    halves = max(round(scale.position(value) * cells * 2), 1) if value > 0 else 0
    return "━" * (halves // 2) + "╸" * (halves % 2)


def round_up(value: float) -> float:
    """Return the upper end of an axis for the value: a round number, of which the value is at least two thirds."""
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value * 0.999999)


def without_zeros(text: str) -> str:
    """Return ``10 ms`` for ``10.0 ms``: the label of a round number."""
    return re.sub(r"\.0+(?=\D|$)", "", text)


def p99_scale(timelines: Iterable[Sequence[TimelinePoint]]) -> LogScale:
    """Return a scale of at least one decade, with round ends, for the p99 latencies of several steps."""
    latencies = [float(ns) for timeline in timelines for point in timeline if (ns := _p99(point))] or [1e6]
    low = round_bounds(min(latencies))[0]
    return LogScale(low, max(round_bounds(max(latencies))[1], low * 10))


def _p99(point: TimelinePoint) -> int | None:
    return point.p99_ns or point.max_ns or point.p50_ns  # of a database, only the p95 is known


def sparkline(timeline: Sequence[TimelinePoint], width: int, scale: LogScale) -> str:
    """Draw the p99 latency over time. A cell without operations is blank."""
    points = [(point.t_s, end_s, ns) for point, end_s in with_ends(timeline, 1.0) if (ns := _p99(point))]
    if not points:
        return ""
    first_s, last_s = points[0][0], points[-1][1]
    cell_s = (last_s - first_s) / width or 1.0
    parts: list[list[int]] = [[] for _ in range(width)]
    for start_s, end_s, ns in points:
        start = min(int((start_s - first_s) / cell_s), width - 1)
        for x in range(start, max(round((end_s - first_s) / cell_s), start + 1)):
            parts[min(x, width - 1)].append(ns)
    return blocks([median(part) if part else None for part in parts], scale)


def blocks(latencies: Sequence[float | None], scale: LogScale | None = None) -> str:
    """Draw a block for each latency. The default scale begins at the lowest one and covers at least one decade."""
    positive = [value for value in latencies if value]
    scale = scale or LogScale(min(positive), max(*positive, min(positive) * 10))
    return "".join(_BLOCKS[1 + min(int(scale.position(value) * 7), 6)] if value else " " for value in latencies)


def braille_cell(left: int, right: int, row: int, blank: tuple[int, int] = (0, 0)) -> str:
    """Return the character of two columns in a row. Their heights are in dots, four per row; row 0 is the lowest.

    ``blank``: how many dots at the bottom of each column are not drawn.
    """

    def bits(*heights: int) -> int:
        return sum(signs[min(max(dots - 4 * row, 0), 4)] for signs, dots in zip(_BRAILLE, heights, strict=True))

    drawn = bits(left, right) - bits(*blank)
    return chr(0x2800 + drawn) if drawn else " "


class Figure(NamedTuple):
    """A number to chart."""

    name: str
    value: Callable[[Any], float | None]
    """Returns the number for a sample (IoStats, or another type that a screen collects). None: not counted."""
    to_text: Callable[[float], str]
    min_scale: float
    """The scale ends at this value or above."""
    warning_from: float = float("inf")
    """Values of at least this size have the warning colour."""
    colour: str = AREA


def _ms(value: float) -> str:
    return duration_ns(value * 1e6)


FLUSHES = Figure("flushes/s", lambda stats: stats.per_s("flushes"), rate, 10)
FLUSH_MS = Figure("a flush takes", lambda stats: stats.ms_per_flush, _ms, 0.1, colour=TIME)
WRITES = Figure("writes/s", lambda stats: stats.per_s("writes"), rate, 10)
WRITE_MS = Figure("a write takes", lambda stats: stats.ms_per_write, _ms, 0.1, colour=TIME)
READS = Figure("reads/s", lambda stats: stats.per_s("reads"), rate, 10)
BUSY = Figure("busy", lambda stats: None if stats.busy is None else min(stats.busy, 1.0), percent, 1, 0.8)
SYNCS = Figure("syncs/s", lambda stats: stats.per_s("syncs"), rate, 10)
SYNC_NS = Figure("mean of the syncs", lambda stats: stats.ns_per_sync, duration_ns, 1e5, colour=TIME)
LONGEST_SYNC_NS = Figure("the longest sync", lambda stats: stats.longest_sync_ns, duration_ns, 1e5, colour=TIME)
DEVICE_FIGURES = (
    (FLUSHES, FLUSH_MS, WRITES, BUSY, WRITE_MS, READS),
    (FLUSHES, FLUSH_MS, WRITES, WRITE_MS, BUSY, READS),
    (FLUSHES, WRITES, BUSY, FLUSH_MS, WRITE_MS, READS),
)
"""The figures to chart for devices, on screens with one, two or three columns of charts."""
SYNC_FIGURES = (
    (SYNC_NS, FLUSH_MS, SYNCS, LONGEST_SYNC_NS, FLUSHES, WRITES),
    (SYNC_NS, FLUSH_MS, LONGEST_SYNC_NS, SYNCS, FLUSHES, WRITES),
    (SYNC_NS, LONGEST_SYNC_NS, FLUSH_MS, SYNCS, FLUSHES, WRITES),
)
"""The figures to chart for the programs that wait and for their devices, in the same order of layouts."""


class Chart(NamedTuple):
    figure: Figure
    values: tuple[float | None, ...]
    """The highest value in each half cell; None if it was not measured. A line has only the values of its points."""
    remark: str = ""
    """The text to the right of the name. If it is empty, the highest value is shown."""
    points: tuple[tuple[int, str], ...] = ()
    """Half cells, each with a sign to draw at its value: the chart is the line through them, not an area."""


class Layout(NamedTuple):
    columns: int
    cells: int
    cell_s: int
    """Seconds per cell of a full chart. The chart is sent to the terminal once per cell. The cells of a small terminal
    cover more time, because its connection may be slow."""


def chart_layout(width: int, height: int, figures: tuple[tuple[Figure, ...], ...]) -> Layout:
    most = min(1 if width < 66 else 2 if width < 160 else 3, len(figures[-1]))
    heights = {columns: (height - 2) // ceil(len(figures[columns - 1]) / columns) for columns in range(1, most)}
    columns = next((columns for columns, lines in heights.items() if lines >= _HIGH_CHART_LINES), most)
    return Layout(columns, cells_of(width - 2, columns), 4 if width >= _WIDE_SCREEN else 10)


def last_minutes(
    name: str,
    figures: tuple[tuple[Figure, ...], ...],
    recent: RecentSamples[Sample],
    *,
    width: int,
    height: int,
    cell_s: int | None = None,
    now: Sample | None = None,
    always: tuple[Figure, ...] = (),
    stats_of: Callable[[Sample], Any] = lambda sample: sample,
) -> Sequence[Text]:
    """Draw area charts of samples. A half cell shows the highest of its samples. ``now``: the last cell.

    ``always``: the figures to chart if all are 0. ``stats_of`` returns the numbers of a sample.
    """
    if height < MIN_AREA_LINES:
        return ()
    layout = chart_layout(width, height, figures)
    cell_s = cell_s or layout.cell_s
    half_cells = 2 * (layout.cells - (now is not None))
    first_s, last_s = recent.time_range_s(cell_s, half_cells)
    if not last_s:  # no cell is complete
        return (rule(width, name, "measuring"),) if recent.end_s else ()
    series = recent.series(cell_s, half_cells) + ([[now], [now]] if now is not None else [])
    parts = [list(map(stats_of, samples)) for samples in series]
    shown = [chart for chart in _charts(figures[layout.columns - 1], parts) if any(chart.values)]
    shown = shown or _charts(always, parts)
    if not shown:
        # The second that follows the last complete cell is not in the series.
        newest = [list(map(stats_of, samples)) for samples in recent.series(1, 2)]
        if any(any(chart.values) for chart in _charts(figures[0], newest)):
            return (rule(width, name, "measuring"),)
        return (rule(width, name, f"nothing in the last {min(last_s, last_s - first_s):.0f} s"),)
    if len(shown) < layout.columns:  # fewer and wider charts
        figures = (tuple(chart.figure for chart in shown),) * len(figures)
        return last_minutes(
            name, figures, recent, width=width, height=height, cell_s=cell_s, now=now, always=always, stats_of=stats_of
        )
    measured = [set(values) != {None} for values in zip(*(chart.values for chart in shown), strict=True)]
    remarks = ["gaps: not measured"] * (not all(measured[measured.index(True) :]))
    remarks += [f"redrawn every {cell_s} s"] * (now is None)
    at_least, end = ("", "now") if now is not None else ("≥ ", f"≤ {cell_s} s ago")
    begin = f"{at_least}{last_s - first_s:.0f} s ago"
    axis = f"{begin}{fit_right(end, layout.cells - len(begin))}"
    # a last row that is less than half full is left out: the other charts become higher
    rows = max(min((height - 2) // MIN_CHART_LINES, floor(len(shown) / layout.columns + 0.5)), 1)
    drawn = chart_grid(tuple(shown[: rows * layout.columns]), axis, layout.columns, width - 2, height - 1)
    return (rule(width, name, ", ".join(remarks)), *drawn)


def device_minutes(
    name: str, devices: Sequence[str], recent: RecentSamples[Mapping[str, IoStats]], width: int, height: int
) -> Sequence[Text]:
    """Draw area charts of what these devices did together."""

    def stats_of(sample: Mapping[str, IoStats]) -> IoStats:
        return sum_devices(sample[device] for device in devices if device in sample)

    return last_minutes(name, DEVICE_FIGURES, recent, width=width, height=height, stats_of=stats_of)


def _charts(figures: Sequence[Figure], parts: Sequence[Sequence[Any]]) -> list[Chart]:
    return [Chart(figure, tuple(maximum(map(figure.value, part)) for part in parts)) for figure in figures]


@lru_cache(maxsize=4)  # the series changes only when a cell is full, but the screen is drawn every second
def chart_grid(charts: tuple[Chart, ...], axis: str, columns: int, width: int, height: int) -> tuple[Text, ...]:
    """Draw area charts of the same times. ``axis``: the labels of the time axis, for the cells of one chart."""
    chart_width, rows = width // columns, ceil(len(charts) / columns)
    lines: list[Text] = []
    for row in range(rows):
        start, chart_height = row * columns, (height - 1 - len(lines)) // (rows - row)
        shown = [_area_chart(chart, cells_of(width, columns), chart_height) for chart in charts[start:][:columns]]
        lines += [line(*(span for chart in shown for span in chart[index])) for index in range(chart_height)]
    return (*lines, line((fit(" " * (LABEL_WIDTH + 1) + axis, chart_width) * len(shown), FAINT)))


def cells_of(width: int, columns: int) -> int:
    """Return the width of the drawn area of a chart in a grid."""
    return width // columns - LABEL_WIDTH - 2


def _area_chart(chart: Chart, cells: int, height: int) -> list[list[StyledText]]:
    """Draw an area chart, or only the line through the points. The lower half of a high area is dim."""
    figure, values = chart.figure, chart.values
    highest, rows = max(value for value in values if value is not None), height - 1
    top = round_up(max(highest, figure.min_scale))
    remark = chart.remark or f"peak {without_zeros(figure.to_text(highest))}"
    width = LABEL_WIDTH + 1 + cells
    title = fit(f"   {figure.name}", width - 1 - len(remark)).rstrip()
    drawn = [[(title, HEAD), (f"{fit_right(remark, width - len(title))} ", FAINT)]]
    tick = without_zeros(figure.to_text(top))
    # zero is one dot high; an unknown value has no dot
    dots = [0 if value is None else max(floor(min(value / top, 1) * rows * 4 + 0.5), 1) for value in values]
    dots = _line_dots(values, top, rows) if chart.points else dots
    # the edge connects each value with the lower ones next to it
    neighbours = zip([0, *dots[:-1]], dots, [*dots[1:], 0], strict=True)
    edges = [max(min(before or here, here, after or here) - 1, 0) for before, here, after in neighbours]
    blank, is_high = edges if chart.points else [0] * len(dots), rows > _MAX_BRIGHT_ROWS
    dim, bright, _ = shades(figure.colour)
    for row in reversed(range(rows)):
        label = tick if row == rows - 1 else "0" if row == 0 else ""
        area = "".join(
            braille_cell(dots[at], dots[at + 1], row, (blank[at], blank[at + 1])) for at in range(0, len(dots), 2)
        )
        for at, sign in chart.points:
            if (dots[at] - 1) // 4 == row:
                area = f"{area[: at // 2]}{sign}{area[at // 2 + 1 :]}"
        style = dim if is_high and row * 2 < rows and not chart.points else bright
        style = WARNING if (row + 0.5) / rows * top >= figure.warning_from else style
        drawn.append([(f"{label:>{LABEL_WIDTH - 1}} {'┤' if label else '│'}", FAINT), (area, style), (" ", "")])
    return drawn


def _line_dots(values: Sequence[float | None], top: float, rows: int) -> list[int]:
    """Return the heights of a line through the middle of the cells in which its points are drawn."""
    points = [(at, 4 * round(value / top * (rows - 1)) + 2) for at, value in enumerate(values) if value is not None]
    dots = [0] * len(values)
    for (start, before), (end, after) in pairwise([points[0], *points]):
        for at in range(start, end + 1):
            dots[at] = round(before + (after - before) * (at - start) / max(end - start, 1))
    return dots
