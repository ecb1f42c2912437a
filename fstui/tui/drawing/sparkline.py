"""A step's median latency over its time in a few cells: flat where nothing changed, a decade higher is full height."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from statistics import median

from fstui.model.steps import TimelinePoint

_BLOCKS = "▁▂▃▄▅▆▇█"


def draw(timeline: Sequence[TimelinePoint], width: int) -> str:
    """Blank where nothing ended."""
    known = [(point.t_s, point.p50_ns) for point in timeline if point.p50_ns]
    if not known:
        return ""
    first_s, last_s = known[0][0], known[-1][0]
    whole_s = (last_s - first_s) * len(known) / max(len(known) - 1, 1) or 1.0
    parts: list[list[int]] = [[] for _ in range(width)]
    for at_s, ns in known:
        parts[min(int((at_s - first_s) / whole_s * width), width - 1)].append(ns)
    typical = [median(part) if part else None for part in parts]
    low = min(ns for ns in typical if ns)
    decades = max(1.0, *(log10(ns / low) for ns in typical if ns))
    return "".join(" " if ns is None else _BLOCKS[min(int(log10(ns / low) / decades * 8), 7)] for ns in typical)
