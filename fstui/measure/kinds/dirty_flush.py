"""Flushes after growing amounts of unsynced O_DIRECT writes."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from fstui.measure.kinds import MAX_SECONDS, StepFigures, StepSettings
from fstui.model.base import Amount, Base, Count, Share
from fstui.model.quantities import duration_ns
from fstui.model.settings import Amounts

_MAX_REWRITES = 10
"""A step writes at most file_bytes × this. For 32 MiB: (1 + 4 + 16 + 32) MiB × 2 patterns × 3 rounds = 318 MiB."""
_MAX_NS = 1e18
"""Maximum time in a valid document, about 30 years."""


class DirtyFlush(StepSettings, frozen=True, kw_only=True, tag="dirty_flush"):
    """Each operation writes more than the previous one."""

    seconds: float = 2.0
    file_bytes: int = 33554432

    uniform: ClassVar[bool] = False

    @property
    def direct(self) -> bool:
        return True

    def amounts(self) -> Amounts:
        return Amounts(self.file_bytes * (1 + _MAX_REWRITES), self.file_bytes)

    def mistakes(self) -> Iterator[str]:
        if not 0 < self.seconds <= MAX_SECONDS:
            yield f"seconds must be more than 0 and at most {MAX_SECONDS}, not {self.seconds}"
        if not 1 << 20 <= self.file_bytes <= 32 << 20:
            yield f"file_bytes must be between 1 MiB and 32 MiB, not {self.file_bytes}"


class GrowthPoint(Base, frozen=True, kw_only=True):
    """The flush after one amount of unsynced writes: the medians of all rounds."""

    bytes: Count
    sync_ns: Count
    arrived_share: Share | None = None
    """Share of the amount that had reached the lowest devices before the flush."""
    flush_ms: dict[str, Amount] | None = None
    """How long each of the lowest devices flushed."""
    rounds: Count = 1


class Growth(Base, frozen=True, kw_only=True):
    """The flush times by amount, and the straight line through them."""

    slope_ns_per_mib: Annotated[float, Meta(ge=-_MAX_NS, le=_MAX_NS)]
    intercept_ns: Annotated[float, Meta(ge=-_MAX_NS, le=_MAX_NS)]
    points: tuple[GrowthPoint, ...] = ()

    @property
    def growth_text(self) -> str:
        """``+400 µs/MiB``: the growth from the smallest to the largest amount, or the slope if there are no points.
        More data never makes a flush shorter, so negative growth is noise."""
        per_mib_ns = round(self.slope_ns_per_mib)
        by_amount = {point.bytes: point for point in self.points}
        if len(by_amount) > 1:
            per_mib_ns = round(growth_ns_per_mib(by_amount[min(by_amount)], by_amount[max(by_amount)]))
        return f"+{duration_ns(per_mib_ns)}/MiB" if per_mib_ns > 0 else "no growth"


def growth_ns_per_mib(first: GrowthPoint, last: GrowthPoint) -> float:
    return (last.sync_ns - first.sync_ns) / ((last.bytes - first.bytes) / (1 << 20))


class DirtyFlushFigures(StepFigures, frozen=True, kw_only=True, tag="dirty_flush"):
    """The growth of the flush times for each pattern of writes; None: not measured."""

    sequential: Growth | None = None
    scattered: Growth | None = None
    written_bytes: Count = 0

    @property
    def patterns(self) -> Mapping[str, Growth]:
        growths = {"sequential": self.sequential, "scattered": self.scattered}
        return {pattern: growth for pattern, growth in growths.items() if growth}

    @property
    def text(self) -> str:
        """``flush 124 µs, +400 µs/MiB, scattered +1.2 ms/MiB``, or ``flush 1 µs, no growth`` if patterns agree."""
        if not self.patterns:
            return ""
        (_, first), *others = self.patterns.items()
        start = f"flush {duration_ns(first.intercept_ns)}," if first.intercept_ns > 0 else "flush"
        texts = [f"{name} {growth.growth_text}" for name, growth in others if growth.growth_text != first.growth_text]
        return ", ".join([f"{start} {first.growth_text}", *texts])
