"""What an outside program reports of itself in the place of samples: counts, intervals, a histogram of its own."""

from __future__ import annotations

from typing import Any

from fstui.model import Latency

_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
_LEAST = {"p99": 100, "p99_9": 1000}


class Reported:
    """Figures that come in pieces."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}
        self.histogram: list[tuple[int, int]] = []
        """(value in ns, count), ascending."""

    def note(self, fields: dict[str, Any]) -> None:
        """Newer figures: intervals and the rows of a histogram are added to those before, others take their place."""
        rest = dict(fields)
        self.histogram += [(round(ms * 1e6), count) for ms, count in rest.pop("histogram", [])]
        if "intervals" in rest:
            rest["intervals"] = [*self.figures.get("intervals", []), *rest["intervals"]]
        self.figures = {**self.figures, **rest}

    @property
    def ops(self) -> int:
        """Transactions of a database."""
        return int(self.figures.get("transactions", 0))

    def latency(self) -> Latency | None:
        """Its own minimum, mean, maximum and p95, and the other percentiles from its histogram."""
        stated, total = self.figures.get("latency_ms"), sum(count for _, count in self.histogram)
        if not stated or not total:
            return None
        found: dict[str, Any] = {
            name: self._percentile(share * total) if total >= _LEAST.get(name, 1) else None
            for name, share in _SHARES.items()
        }
        exact = {"min": "min", "mean": "avg", "max": "max", "p95": "p95"}
        return Latency(**{**found, **{name: round(stated[own] * 1e6) for name, own in exact.items()}})

    def _percentile(self, rank: float) -> int:
        seen = 0
        for value, count in self.histogram:
            seen += count
            if seen >= rank:
                return value
        return self.histogram[-1][0]
