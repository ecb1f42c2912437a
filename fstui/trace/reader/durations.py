"""Percentiles of many durations in little memory. Each power of two has 64 buckets, so a percentile may be up to 1.6 %
too low, or too high if it is the longest duration."""

from __future__ import annotations

PRECISION_BITS = 6
"""How many bits of a duration, after its highest bit, determine its bucket."""
MIN_DURATIONS_FOR_P99 = 100


class Durations:
    """Durations in ns, counted in buckets. The key of a bucket is its lower bound."""

    def __init__(self) -> None:
        self.buckets: dict[int, int] = {}
        self.sum_ns = 0
        self.longest_ns = 0

    @property
    def count(self) -> int:
        return sum(self.buckets.values())

    def add(self, duration_ns: int) -> None:
        """Count a duration. This is called for every event, so it avoids function calls."""
        self.sum_ns += duration_ns
        if duration_ns > self.longest_ns:  # noqa: PLR1730
            self.longest_ns = duration_ns
        dropped_bits = duration_ns.bit_length() - PRECISION_BITS - 1
        bucket = duration_ns >> dropped_bits << dropped_bits if dropped_bits > 0 else duration_ns
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1

    def merge(self, other: Durations) -> None:
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.sum_ns += other.sum_ns
        self.longest_ns = max(self.longest_ns, other.longest_ns)

    def percentile(self, share: float) -> int:
        """Return a percentile: the lower bound of the bucket in which this share of the durations is reached.

        For the highest bucket, return the longest duration. So the percentile of a single duration is exact.
        """
        count, total = self.count, 0
        for duration_ns, in_bucket in sorted(self.buckets.items()):
            total += in_bucket
            if share * count <= total < count:
                return duration_ns
        return self.longest_ns

    def as_dict(self) -> dict[str, int | None] | None:
        """Return p50, p99 and max, or None without durations. p99 is None if there are fewer than 100 durations."""
        if not self.count:
            return None
        p99 = self.percentile(0.99) if self.count >= MIN_DURATIONS_FOR_P99 else None
        return {"p50": self.percentile(0.5), "p99": p99, "max": self.longest_ns}
