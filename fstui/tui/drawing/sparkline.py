"""A step's median latency over its time in a few cells: flat where nothing changed, a decade higher is full height."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from statistics import median

from fstui.model.steps import TimelinePoint
from fstui.report.latency_map import with_ends

_BLOCKS = "▁▂▃▄▅▆▇█"


def draw(timeline: Sequence[TimelinePoint], width: int) -> str:
    """Blank where nothing ended."""
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
    return "".join(" " if ns is None else _BLOCKS[min(int(log10(ns / low) / decades * 8), 7)] for ns in typical)
