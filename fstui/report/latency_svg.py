"""The latency chart of a step as SVG, readable on white paper."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from fstui.model.quantities import duration_ns
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.report import latency_map
from fstui.report.latency_map import LogScale, Mark

_LEFT, _RIGHT, _TOP, _WIDTH, _HEIGHT = 62, 150, 8, 620, 220
_LINE = 13
"""Height of a name next to the chart."""


def draw(evidence: Evidence, step: Step) -> str:
    """Return the SVG; empty if no operation was timed."""
    if not any(point.ops and (point.spread or point.p50_ns) for point in step.timeline):
        return ""
    marks = latency_map.of_step(evidence, step)
    axis = latency_map.axis(step.timeline, marks)
    whole_s = max(step.elapsed_s, 1e-3, *(point.t_s for point in step.timeline if point.ops))
    shapes = [*_grid(axis), *_cells(step, axis, whole_s), *_names(step, marks, axis), *_seconds(whole_s)]
    size = f"{_LEFT + _WIDTH + _RIGHT} {_TOP + _HEIGHT + 26}"
    return f'<svg viewBox="0 0 {size}" role="img" aria-label="latency over time">{"".join(shapes)}</svg>'


def _y(axis: LogScale, ns: float) -> float:
    return _TOP + (1 - axis.place(ns)) * _HEIGHT


def _grid(axis: LogScale) -> Iterator[str]:
    for decade in axis.decades():
        y = _y(axis, 10.0**decade)
        yield f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{duration_ns(10.0**decade)}</text>'


def _cells(step: Step, axis: LogScale, whole_s: float) -> Iterator[str]:
    """Draw a rectangle for each cell, darker with more of the operations. No cell is invisible."""
    for piece in latency_map.slices(step.timeline, whole_s):
        x, end = (_LEFT + _WIDTH * min(at_s / whole_s, 1) for at_s in (piece.start_s, piece.end_s))
        for lower, upper, share in piece.cells:
            y, bottom = _y(axis, upper), _y(axis, lower)
            shade = 0.25 + 0.75 * min(share, 1.0) ** 0.5
            box = f'x="{x:.1f}" y="{y:.1f}" width="{max(end - x, 0.5):.1f}" height="{max(bottom - y, 1):.1f}"'
            yield f'<rect {box} opacity="{shade:.2f}" class="cell"/>'


def _names(step: Step, marks: tuple[Mark, ...], axis: LogScale) -> Iterator[str]:
    """Draw percentiles and references next to the chart at their height, without overlap."""
    against = [mark for mark in marks if axis.holds(mark.ns)]
    for mark in against:
        y = _y(axis, mark.ns)
        yield f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="mark"/>'
    floor_y = float(_TOP + _HEIGHT)
    for mark in sorted([*latency_map.ladder(step.latency_ns), *against], key=lambda mark: mark.ns):
        y = min(_y(axis, mark.ns), floor_y)
        floor_y = y - _LINE
        label = f"{mark.name} {duration_ns(mark.ns)}"
        yield f'<text x="{_LEFT + _WIDTH + 8}" y="{y + 4:.1f}">{escape(label)}</text>'


def _seconds(whole_s: float) -> Iterator[str]:
    for part in range(5):
        x = _LEFT + _WIDTH * part / 4
        anchor = "start" if part == 0 else "end" if part == 4 else "middle"
        yield f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="{anchor}">{whole_s * part / 4:.2f} s</text>'
