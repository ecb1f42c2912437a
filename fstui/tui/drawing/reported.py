"""What sysbench says of itself while it runs, one line a second, for the run screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fstui.model import TimelinePoint
from fstui.quantities import count, duration_ns


class Interval(msgspec.Struct, frozen=True):
    """One of its lines; ``t_s`` is the end of what it covers."""

    t_s: float
    tps: float
    qps: float
    p95_ms: float
    length_s: float = 1.0


def intervals(figures: Mapping[str, Any]) -> list[Interval]:
    """Empty where it has said nothing yet."""
    return msgspec.convert(figures.get("intervals", []), list[Interval])


def timeline(figures: Mapping[str, Any]) -> tuple[TimelinePoint, ...]:
    """Its p95 in the place of the p50, which it does not tell before its end."""
    return tuple(
        TimelinePoint(
            t_s=part.t_s - part.length_s, ops=round(part.tps * part.length_s), p50_ns=round(part.p95_ms * 1e6)
        )
        for part in intervals(figures)
    )


def words(interval: Interval) -> str:
    """``1 260 qps, p95 2.4 ms``."""
    return f"{count(interval.qps)} qps, p95 {duration_ns(interval.p95_ms * 1e6)}"
