"""Flushes after increasing amounts of unsynced data, and the share of each device."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fstui.measure.kinds.dirty_flush import DirtyFlush, DirtyFlushFigures
from fstui.model.steps import Step

MIB = 1 << 20
AMOUNTS = (0, MIB, 4 * MIB, 16 * MIB, 32 * MIB)
FLAT_US = (117, 121, 115, 119, 118)
GROWN_US = (300, 700, 1900, 6600, 12900)
"""0.4 ms per MiB."""
WHOLE_TIME = {"vda": 1.0}


def line(us: Sequence[float], arrived: float | None = 1.0, own: dict[str, float] | None = WHOLE_TIME) -> dict[str, Any]:
    """Return the points of one pattern. ``own``: the share of the time of each device; None without counters."""
    points = [
        {"bytes": amount, "sync_ns": round(time * 1000), "arrived_share": arrived if amount else None, "rounds": 3}
        | ({} if own is None else {"flush_ms": {device: time * share // 1000 for device, share in own.items()}})
        for amount, time in zip(AMOUNTS, us, strict=False)
    ]
    return {"slope_ns_per_mib": 0, "intercept_ns": 0, "points": points}


def flushes(
    us: Sequence[float] = FLAT_US,
    arrived: float | None = 1.0,
    own: dict[str, float] | None = WHOLE_TIME,
    **changes: Any,
) -> Step:
    both = {"sequential": line(us, arrived, own), "scattered": line(us, arrived, own), "written_bytes": 1}
    figures = msgspec.convert(both, DirtyFlushFigures)
    fields: dict[str, Any] = {"name": "flush of unsynced writes", "settings": DirtyFlush(), "elapsed_s": 2.0, "ops": 30}
    return Step(**(fields | {"figures": figures} | changes))
