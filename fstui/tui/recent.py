"""What devices counted over the last minutes, out of the readings that the screen makes anyway."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator
from itertools import pairwise

from msgspec.structs import replace

from fstui.model.counters import Counters, DeviceCounters
from fstui.tui.rates import Rate, rates, total

KEPT_NS = 2_000_000_000
"""No two kept readings are nearer to each other."""
_MOST, _FEWEST, _MOST_OF_DEVICES = 600, 60, 30_000
"""Readings; so many only that a box of a thousand devices takes no more memory than this."""


class Recent:
    """Readings of the last minutes, the oldest forgotten."""

    def __init__(self) -> None:
        self._kept: deque[Counters] = deque()

    @property
    def newest_ns(self) -> int | None:
        """When the last of them was made, on the monotonic clock; None before the first."""
        return self._kept[-1].monotonic_ns if self._kept else None

    def add(self, now: Counters) -> None:
        """Keep this reading, unless the last one is too near."""
        last = self._kept[-1] if self._kept else None
        if last and now.monotonic_ns - last.monotonic_ns < KEPT_NS:
            return
        if last:
            now = replace(now, devices=tuple(_shared(last.devices, now.devices)))
        self._kept.append(now)
        most = max(_FEWEST, min(_MOST, _MOST_OF_DEVICES // max(len(now.devices), 1)))
        while len(self._kept) > most:
            self._kept.popleft()

    def series(self, devices: Collection[str], until_ns: int, each_ns: int, number: int) -> list[Rate | None]:
        """What these devices did together in so many stretches of that length, the last one ending at ``until_ns``.

        None where nothing was read. A stretch in which nobody looked has the mean between the looks about it.
        """
        times = [kept.monotonic_ns for kept in self._kept]
        borders = [until_ns - each_ns * back for back in range(number, -1, -1)]
        return [self._between(devices, times, *stretch) for stretch in pairwise(borders)]

    def _between(self, devices: Collection[str], times: list[int], from_ns: int, until_ns: int) -> Rate | None:
        middle_ns = (from_ns + until_ns) // 2
        if len(times) < 2 or not times[0] <= middle_ns <= times[-1]:
            return None
        first, last = _nearest(times, from_ns), _nearest(times, until_ns)
        if first == last:
            last = min(max(bisect_left(times, middle_ns), 1), len(times) - 1)
            first = last - 1
        return self._rate(devices, first, last)

    def _rate(self, devices: Collection[str], first: int, last: int) -> Rate:
        before, after = (
            replace(self._kept[at], devices=tuple(one for one in self._kept[at].devices if one.device in devices))
            for at in (first, last)
        )
        return total(rates(before, after).values())


def _nearest(times: list[int], at_ns: int) -> int:
    right = bisect_left(times, at_ns)
    if right == 0 or right == len(times):
        return max(right - 1, 0)
    return right if times[right] - at_ns < at_ns - times[right - 1] else right - 1


def _shared(before: tuple[DeviceCounters, ...], now: tuple[DeviceCounters, ...]) -> Iterator[DeviceCounters]:
    """A device that did nothing is kept once."""
    known = {one.device: one for one in before}
    for one in now:
        same = known.get(one.device)
        yield same if same == one and same is not None else one
