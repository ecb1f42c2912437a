"""What ``dirty_flush`` measures, on real and on simulated storage: the amounts of unsynced data, and the figures."""

import statistics
from typing import Any, NamedTuple

PATTERNS = {"sequential": 1 << 20, "scattered": 16 << 10}
"""Bytes per write in each pattern."""
AMOUNTS = (0, 1 << 20, 4 << 20, 16 << 20, 32 << 20)
ROUNDS = 3


class DeviceStat(NamedTuple):
    written_bytes: int
    flushes: int
    flush_ms: int


Stats = dict[str, DeviceStat]
"""The counters of each lowest device, by name."""


class Point:
    """The flushes after writing one amount of data, one flush per round."""

    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.sync_ns: list[int] = []
        self.arrived_shares: list[float] = []
        """Shares of the amount that had reached the devices before the flush."""
        self.flush_ms: dict[str, list[int]] = {}

    def add_stats(self, before: Stats, after_writes: Stats, after_sync: Stats) -> None:
        if self.amount:
            arrived_bytes = sum(after_writes[device].written_bytes - before[device].written_bytes for device in before)
            self.arrived_shares.append(arrived_bytes / self.amount)
        for device, stat in after_sync.items():
            if stat.flushes > after_writes[device].flushes:
                self.flush_ms.setdefault(device, []).append(stat.flush_ms - after_writes[device].flush_ms)

    def summary(self) -> dict[str, Any]:
        """Return the medians. Without the devices' counters, ``arrived_share`` is None and ``flush_ms`` is empty."""
        return {
            "bytes": self.amount,
            "sync_ns": round(statistics.median(self.sync_ns)),
            "arrived_share": round(statistics.median(self.arrived_shares), 3) if self.arrived_shares else None,
            "flush_ms": {device: statistics.median(flush_ms) for device, flush_ms in self.flush_ms.items()},
            "rounds": len(self.sync_ns),
        }


def figures(points: list[Point]) -> dict[str, Any]:
    """Return the points, and the slope and the intercept of the line through the medians of the flush times."""
    slope, intercept = _fit_line(points)
    summaries = [point.summary() for point in points]
    return {"slope_ns_per_mib": round(slope), "intercept_ns": round(intercept), "points": summaries}


def _fit_line(points: list[Point]) -> tuple[float, float]:
    """Return slope (ns per MiB) and intercept (ns) of the least-squares line."""
    amounts_mib = [point.amount / (1 << 20) for point in points]
    sync_ns = [statistics.median(point.sync_ns) for point in points]
    if len(set(amounts_mib)) < 2:
        return 0.0, sync_ns[0]
    slope, intercept = statistics.linear_regression(amounts_mib, sync_ns)
    return slope, intercept
