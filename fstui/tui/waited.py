"""The last minutes of a watch: what each second came to, kept small."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fstui.model.watch import Watched

_MOST = 1200
"""Seconds that are kept: more than the widest chart shows."""


class Waited(NamedTuple):
    """A second, or several of them together. None: it cannot be seen, or did not happen."""

    elapsed_s: float
    syncs: int | None
    waited_ns: int
    longest_ns: int
    flushes: int | None
    flush_ms: int | None
    writes: int | None

    @property
    def syncs_per_s(self) -> float | None:
        return _share(self.syncs, self.elapsed_s)

    @property
    def sync_ns(self) -> float | None:
        """What one took on average."""
        return _share(self.waited_ns, self.syncs)

    @property
    def longest_sync_ns(self) -> float | None:
        return self.longest_ns or None

    @property
    def flushes_per_s(self) -> float | None:
        return _share(self.flushes, self.elapsed_s)

    @property
    def ms_per_flush(self) -> float | None:
        return _share(self.flush_ms, self.flushes)

    @property
    def writes_per_s(self) -> float | None:
        return _share(self.writes, self.elapsed_s)


class LastMinutes:
    def __init__(self) -> None:
        self._kept: deque[tuple[float, Waited]] = deque(maxlen=_MOST)
        self._until_s = 0.0

    def add(self, second: Watched, *, traced: bool) -> None:
        """The newest. ``traced``: who waits can be seen."""
        middle_s = self._until_s + second.elapsed_s / 2
        self._until_s += second.elapsed_s
        self._kept.append((middle_s, _of(second, traced=traced)))

    def series(self, cell_s: int, number: int) -> list[Waited | None]:
        """So many stretches of half a cell each, to the last whole cell; None where nothing was seen."""
        half_s = cell_s / 2
        newest = int(self._until_s // cell_s) * 2
        found: list[list[Waited]] = [[] for _ in range(number)]
        for middle_s, waited in self._kept:
            at = int(middle_s // half_s) - newest + number
            if 0 <= at < number:
                found[at].append(waited)
        return [_together(part) if part else None for part in found]


def _of(second: Watched, *, traced: bool) -> Waited:
    devices = second.devices
    return Waited(
        elapsed_s=second.elapsed_s,
        syncs=sum(each.syncs for each in second.waits) if traced else None,
        waited_ns=sum(each.waited_ns for each in second.waits),
        longest_ns=max((each.latency_ns.max for each in second.waits if each.latency_ns), default=0),
        flushes=_sum(each.flushes for each in devices),
        flush_ms=_sum(each.flush_ms for each in devices),
        writes=_sum(each.writes for each in devices),
    )


def _together(parts: Sequence[Waited]) -> Waited:
    return Waited(
        elapsed_s=sum(part.elapsed_s for part in parts),
        syncs=_sum(part.syncs for part in parts),
        waited_ns=sum(part.waited_ns for part in parts),
        longest_ns=max(part.longest_ns for part in parts),
        flushes=_sum(part.flushes for part in parts),
        flush_ms=_sum(part.flush_ms for part in parts),
        writes=_sum(part.writes for part in parts),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _share(part: float | None, of: float | None) -> float | None:
    return None if part is None or not of else part / of
