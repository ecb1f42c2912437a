"""Percentiles of many durations in little memory: counted in 64 buckets to an octave, none off by above 1.6 %."""

from __future__ import annotations

BITS = 6
"""Of each duration so many bits below the highest are kept."""
LEAST_FOR_P99 = 100


class Durations:
    """How long things took, in ns."""

    def __init__(self) -> None:
        self.buckets: dict[int, int] = {}
        self.sum_ns = 0
        self.longest = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.buckets.values())

    def add(self, duration_ns: int) -> None:
        """One more. There are many: no call that can be done without."""
        self.sum_ns += duration_ns
        if duration_ns > self.longest:  # noqa: PLR1730
            self.longest = duration_ns
        drop = duration_ns.bit_length() - BITS - 1
        bucket = duration_ns >> drop << drop if drop > 0 else duration_ns
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1

    def merge(self, others: Durations) -> None:
        """Those, too."""
        for bucket, count in others.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.sum_ns += others.sum_ns
        self.longest = max(self.longest, others.longest)

    def percentile(self, share: float) -> int:
        """The duration that this share of them does not exceed, to the bucket."""
        wanted, seen = share * self.count, 0
        for duration_ns, count in sorted(self.buckets.items()):
            seen += count
            if seen >= wanted:
                return duration_ns
        return self.longest

    def told(self) -> dict[str, int | None] | None:
        """p50, p99 (null for less than 100) and the longest; null for none."""
        if not self.count:
            return None
        p99 = self.percentile(0.99) if self.count >= LEAST_FOR_P99 else None
        return {"p50": self.percentile(0.5), "p99": p99, "max": self.longest}
