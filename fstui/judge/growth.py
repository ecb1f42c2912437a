"""Rule 17: does a flush take longer the more it has to write? One that never does has nothing to do, or does none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from fstui.judge import words
from fstui.judge.costs import Cost, as_owed, synced_cost, write_cost
from fstui.judge.counting import Arrival
from fstui.judge.descents import descents
from fstui.judge.override import explained
from fstui.judge.physics import platter_speed
from fstui.judge.steps import has_rate, names, synced_by_mount, time_measured
from fstui.model import Evidence, Finding, Step
from fstui.quantities import duration_ns, plain, ratio, size

ARRIVED = 0.95
"""Less had reached the device before the flush: its growth may be that of a cache above."""
FASTEST_BYTES_PER_NS = 10.0
"""10 GB/s: a flush that writes faster copied memory. One of a loop in tmpfs took 46 to 82 µs over 256 MiB."""
GROWN = 1.5
"""The flushes of the two largest amounts each take so many times that of every smaller one. Two of them, since one may
have met somebody else's write."""
OWN_SHARE, OWN_MS = 0.25, 2
"""A device's own flushes, by its counters (whole ms), take so much of the time by which the flush grew, and so many
ms: btrfs works longer for more extents while a device that ignores flushes takes no longer."""
CHEAP = 2
"""A flush that adds less than this many times the write itself."""
_LARGEST, _FEWEST = 2, 3
_CUT = "To know: cut the power in the middle of acknowledged writes, with a witness on another box."


class Point(msgspec.Struct, frozen=True):
    """The flush after one amount: the median of its rounds."""

    bytes: int
    sync_ns: int
    arrived_share: float | None = None
    flush_ms: dict[str, float] | None = None
    rounds: int = 1


class _Line(msgspec.Struct, frozen=True):
    points: tuple[Point, ...]


class _Growth(NamedTuple):
    """One pattern of one step."""

    step: Step
    pattern: str
    points: tuple[Point, ...]

    @property
    def rises(self) -> bool:
        """Whatever makes it so, the largest amounts are synced more slowly."""
        *smaller, last = self.points
        return last.sync_ns >= GROWN * max(point.sync_ns for point in smaller[: 1 - _LARGEST])

    @property
    def flat(self) -> bool:
        *smaller, _, _ = self.points
        grown = all(self._grown(point, smaller) for point in self.points[-_LARGEST:])
        return not grown or (self.own_times and not self.working)

    @property
    def own_times(self) -> bool:
        """What each device took for its own flushes is known."""
        return any(point.flush_ms is not None for point in self.points)

    @property
    def flushed(self) -> set[str]:
        """The lowest devices that got a flush after the largest amounts."""
        return {device for point in self.points[-_LARGEST:] for device in point.flush_ms or {}}

    @property
    def working(self) -> set[str]:
        """Those of them whose own flushes took longer."""
        return {device for device in self.flushed if self._works(device)}

    def _works(self, device: str) -> bool:
        first, *_ = self.points
        *smaller, _, _ = ((point.flush_ms or {}).get(device, 0.0) for point in self.points)
        for point in self.points[-_LARGEST:]:
            own_ms = (point.flush_ms or {}).get(device, 0.0)
            extra_ms = max(OWN_MS, OWN_SHARE * (point.sync_ns - first.sync_ns) / 1e6)
            if own_ms < GROWN * max(smaller) or own_ms - smaller[0] < extra_ms:
                return False
        return True

    def _grown(self, point: Point, smaller: list[Point]) -> bool:
        first = self.points[0]
        extra_ns = point.sync_ns - first.sync_ns
        arrived = point.arrived_share is not None and point.arrived_share >= ARRIVED
        longer = point.sync_ns >= GROWN * max(other.sync_ns for other in smaller)
        return arrived and longer and point.bytes - first.bytes <= FASTEST_BYTES_PER_NS * extra_ns

    @property
    def unarrived(self) -> bool:
        """Its largest amounts were still above the device when the flush began."""
        return any((point.arrived_share or 0) < ARRIVED for point in self.points[-_LARGEST:])

    @property
    def per_mib_ns(self) -> float:
        first, last = self.points[0], self.points[-1]
        return (last.sync_ns - first.sync_ns) / ((last.bytes - first.bytes) / (1 << 20))

    @property
    def words(self) -> str:
        first, last = self.points[0], self.points[-1]
        return f"{duration_ns(first.sync_ns)} after {_amount(first)}, {duration_ns(last.sync_ns)} after {_amount(last)}"

    @property
    def because(self) -> str:
        steps = ", ".join(f"{_amount(point)} {duration_ns(point.sync_ns)}" for point in self.points)
        shares = [point.arrived_share for point in self.points[-_LARGEST:] if point.arrived_share is not None]
        arrived = f"; {ratio(min(shares))} had arrived before" if shares else ""
        own = ", ".join(f"{device} {ms:g} ms" for device, ms in sorted((self.points[-1].flush_ms or {}).items()))
        return plain(f"{self.pattern}: {steps}{arrived}{f'; the last at the device: {own}' if own else ''}")


def flush_flat(evidence: Evidence) -> Iterator[Finding]:
    """Rule 17: flush time against the amount of unsynced O_DIRECT data before it."""
    lines = [growth for step in evidence.steps for growth in _growths(step)]
    if not lines or explained(evidence) or synced_by_mount(evidence):  # then nothing waits for a flush
        return
    grown, proven = [line for line in lines if not line.flat], _proven(evidence)
    if grown and proven:
        yield _works(grown, proven)
    elif not grown and evidence.host.virtualization and not platter_speed(evidence):
        write, flushed = write_cost(evidence), synced_cost(evidence)
        cheap = write and flushed and flushed.ns - write.ns < CHEAP * write.ns
        if write and flushed and cheap and as_owed(evidence, flushed.step):
            yield _flat(evidence, lines, write, flushed)


def _growths(step: Step) -> Iterator[_Growth]:
    if step.probe != "dirty_flush" or step.status in {"failed", "skipped"} or not has_rate(step):
        return
    for pattern in ("sequential", "scattered"):
        try:
            line = msgspec.convert(step.figures.get(pattern), _Line)
        except msgspec.ValidationError:
            continue
        points = {point.bytes: point for point in line.points}
        if len(points) >= _FEWEST:
            yield _Growth(step, pattern, tuple(points[amount] for amount in sorted(points)))


def _proven(evidence: Evidence) -> list[Arrival]:
    """What arrived as far down as the flushes were timed, in the steps in which nobody else can have sent it."""
    return [down[-1] for down in descents(evidence) if down[-1].proves(evidence.idle)]


def _works(grown: list[_Growth], proven: list[Arrival]) -> Finding:
    steepest = max(grown, key=lambda line: line.per_mib_ns)
    steps = [line.step for line in grown]
    known = all(line.own_times for line in grown)
    working = set().union(*(line.working for line in grown))
    unseen = set().union(*(line.flushed for line in grown)) - working
    where = words.listed(sorted(working)) if known else words.devices(proven[0].devices)
    doubt = f" Of {words.listed(sorted(unseen))} it does not show: what lies beside a slow device is hidden by it."
    return Finding(
        rule="flush-flat",
        verdict="consistent",
        confidence="medium" if known and not unseen else "low",
        scope="storage",
        title=f"a flush grows by {duration_ns(steepest.per_mib_ns)} per MiB",
        sentence=f"A flush at {where} takes longer the more unsynced data it finds: {steepest.words} "
        f"({steepest.pattern}, {duration_ns(steepest.per_mib_ns)} per MiB). It does work, in "
        f"{time_measured(steps)}; only a power cut proves more.{doubt if unseen else ''}",
        steps=names(steps),
        because=tuple(line.because for line in grown),
        next=("Cut the power in the middle of acknowledged writes, with a witness on another box.",),
    )


def _flat(evidence: Evidence, lines: list[_Growth], write: Cost, flushed: Cost) -> Finding:
    largest = max(lines, key=lambda line: line.points[-1].bytes)
    extra = max(flushed.ns - write.ns, 0)
    why = "flat however much unsynced data precedes it"
    if all(line.unarrived for line in lines):
        why = "and its growth is that of a cache above the device, not of the device's own"
    elif all(line.own_times and not line.working and line.rises for line in lines):
        why = "and its growth is the filesystem's own work: the device's part stays"
    return Finding(
        rule="flush-flat",
        verdict="cannot-tell",
        confidence="low",
        scope="storage",
        title=f"a flush adds {duration_ns(extra)}, and never more",
        sentence=f"A flush adds {duration_ns(extra)} to a write of {duration_ns(write.ns)}, {why} "
        f"({largest.words}), in {time_measured([largest.step])}. Behind a guest's disk that is either a host with a "
        "protected cache or a host that ignores flushes.",
        steps=names([write.step, flushed.step, *(line.step for line in lines)]),
        because=(write.because, flushed.because, *(line.because for line in lines)),
        next=(*_ask_the_host(evidence.host.virtualization or ""), _CUT),
    )


def _ask_the_host(virtualization: str) -> tuple[str, ...]:
    if virtualization == "firecracker":
        return ("Ask whoever runs the host: Firecracker flushes only with cache_type=Writeback.",)
    if virtualization in {"oracle", "virtualbox"}:
        return ("VirtualBox: set IgnoreFlush to 0 for this disk, then run again.",)
    return ("Ask whoever runs the host: the disk must not ignore flushes (not QEMU cache=unsafe).",)


def _amount(point: Point) -> str:
    return size(point.bytes) if point.bytes else "nothing"
