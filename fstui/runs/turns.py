"""A step in a few short turns: how many operations fell between two readings of the counters, and what was counted.

A reading takes time, and operations go on meanwhile. Only those that began after one reading had ended, and ended
before the next one began, belong to a turn: each of their flushes was counted within it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from fstui.model.counters import Counters
from fstui.model.steps import Turn
from fstui.storage.counters import difference

MOST = 16
SHORTEST_NS = 100_000_000
LONGEST_LOOK_S = 0.25


class _Reading:
    """When it was taken, and the operations that had begun before its end and ended before its beginning."""

    def __init__(self, counters: Counters, until_ns: int, ops: int) -> None:
        self.counters, self.since_ns, self.until_ns = counters, counters.monotonic_ns, until_ns
        self.begun = self.ended = ops

    def note(self, begins: Sequence[int], ends: Sequence[int]) -> None:
        """Operations that were told of after it was taken."""
        self.begun += bisect_left(begins, self.until_ns)
        self.ended += bisect_right(ends, self.since_ns)


class Turns:
    """The turns of one writer's step, at most twice ``MOST``: when there are more, neighbours become one."""

    def __init__(self) -> None:
        self._readings: list[_Reading] = []
        self._ops = 0
        self.shortest_ns = SHORTEST_NS

    @property
    def look_s(self) -> float:
        """So often to read the counters."""
        return min(LONGEST_LOOK_S, max(self.shortest_ns / 1e9, LONGEST_LOOK_S / 2))

    def read(self, counters: Counters, *, last: bool = False) -> None:
        """The counters were read: it ends a turn, unless that would be a very short one."""
        if counters.until_ns is None:
            return
        since_ns = self._readings[-1].since_ns if self._readings else 0
        if not (last or counters.monotonic_ns - since_ns >= self.shortest_ns):
            return
        self._readings.append(_Reading(counters, counters.until_ns, self._ops))
        if len(self._readings) > 2 * MOST:
            del self._readings[1::2]
            self.shortest_ns *= 2

    def add(self, begins: Sequence[int], ends: Sequence[int]) -> None:
        """Consecutive operations, told of some time after they ended."""
        self._ops += len(ends)
        for reading in reversed(self._readings):
            if reading.until_ns <= begins[0]:
                break
            reading.note(begins, ends)

    def told(self) -> tuple[Turn, ...]:
        """Those in which there were any operations."""
        found = (_between(first, second) for first, second in pairwise(self._readings))
        return tuple(turn for turn in found if turn.ops)


def _between(first: _Reading, second: _Reading) -> Turn:
    moved = difference(first.counters, second.counters)
    return Turn(
        elapsed_s=round((second.since_ns - first.until_ns) / 1e9, 4),
        ops=max(0, second.ended - first.begun),
        flushes={each.device: each.flushes for each in moved if each.flushes is not None},
        written_bytes={each.device: each.written_bytes for each in moved if each.written_bytes is not None},
    )
