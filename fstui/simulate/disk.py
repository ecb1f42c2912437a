"""A simulated disk: its commands, its write cache, its counters, and its content after a power cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fstui.model.counters import DeviceCounters
from fstui.simulate.media import US, Extent, medium
from fstui.simulate.parameters import DiskParameters

Stamps = Mapping[int, int]
"""Offset in the file → the number of the write."""


class _Landing(NamedTuple):
    at_ns: float
    stamp: int
    before: int | None
    """The previous write of this offset."""


class Disk:
    """One disk. Requests must arrive in order of time."""

    def __init__(self, made: DiskParameters, seed: int) -> None:
        self.made = made
        self.on_request: Callable[[str, str, float], None] | None = None
        """Called after each request with the name of the disk, the name of the time counter, and the time in ns."""
        self._chance = random.Random(seed)
        self._medium = medium(made.made_of, self._chance)
        self._cached: dict[Extent, tuple[float, Stamps]] = {}
        """The write cache, oldest first: arrival time, and the writes of the file that it contains."""
        self._cached_bytes = 0
        self._landed: dict[int, _Landing] = {}
        self._free_ns = 0.0
        """When the medium has finished its work."""
        self._flush_ends_ns = self._next_begins_ns = self._next_ends_ns = 0.0
        self._counted = dict.fromkeys(("writes", "written_bytes", "flushes"), 0)
        self._spent_ns = {"write_ms": 0.0, "flush_ms": 0.0, "busy_ms": 0.0}

    def change(self, made: DiskParameters) -> None:
        """Use other parameters from now on; the content is kept."""
        if made.made_of != self.made.made_of:
            self._medium = medium(made.made_of, self._chance)
        self.made = made

    def write(self, at_ns: float, extent: Extent, stamps: Stamps, *, forced: bool = False) -> float:
        """Return when the write completes. ``forced``: with FUA."""
        cache = self.made.cache
        arrived = at_ns + (self._command_us() + extent.size / self.made.bytes_per_us) * US
        if cache is None or (forced and cache.fua == "honest" and not cache.protected):
            self._cached_bytes -= extent.size if self._cached.pop(extent, None) else 0
            end = self._land(max(arrived, self._free_ns) if self.made.platter else arrived, {extent: stamps})
        else:
            self._write_back_until(arrived)
            end = arrived
            while self._cached_bytes + extent.size > cache.bytes and self._cached:
                end = max(end, self._land_oldest(arrived))
            if extent not in self._cached:
                self._cached_bytes += extent.size
            self._cached[extent] = (end, stamps)
        self._count(at_ns, end, "write_ms", writes=1, written_bytes=extent.size)
        return end

    def flush(self, at_ns: float) -> float:
        """Return when the flush completes. Flushes that arrive during another one share the next
        (block/blk-flush.c)."""
        if at_ns < self._next_begins_ns:
            self._land_by(self._next_ends_ns)
            return self._next_ends_ns
        if at_ns < self._flush_ends_ns:
            self._next_begins_ns = self._flush_ends_ns
            self._next_ends_ns = self._flush_ends_ns = self._emptied(self._flush_ends_ns)
        else:
            self._flush_ends_ns = self._emptied(at_ns)
        self._count(at_ns, self._flush_ends_ns, "flush_ms", flushes=1)
        return self._flush_ends_ns

    def stamp_at(self, offset: int, at_ns: float) -> int | None:
        """Return the write at this offset after a power cut at that time."""
        protected = self.made.cache is not None and self.made.cache.protected
        if protected:
            saved = [stamps[offset] for since, stamps in self._cached.values() if offset in stamps and since <= at_ns]
            if saved:
                return saved[-1]
        landed = self._landed.get(offset)
        if landed is None:
            return None
        return landed.stamp if protected or landed.at_ns <= at_ns else landed.before

    def counters(self) -> DeviceCounters:
        spent = {name: int(ns / 1e6) for name, ns in self._spent_ns.items()}
        return DeviceCounters(
            device=self.made.name, reads=0, read_bytes=0, read_ms=0, discards=0, in_flight=0, **self._counted, **spent
        )

    def _emptied(self, at_ns: float) -> float:
        cache = self.made.cache
        arrived = at_ns + (self._command_us() + self.made.flush_us) * US
        if cache is None or cache.protected or cache.flush == "ignored":
            return arrived
        self._write_back_until(arrived)
        cached = {extent: stamps for extent, (_, stamps) in self._cached.items()}
        self._cached.clear()
        self._cached_bytes = 0
        begin = max(arrived, self._free_ns)
        return self._medium.settle(self._land(begin, cached) if cached else begin)

    def _write_back_until(self, now_ns: float) -> None:
        """Write back cached data while the medium is idle, up to this time."""
        while self._cached and self._free_ns < now_ns:
            since_ns, _ = next(iter(self._cached.values()))
            if since_ns >= now_ns:
                return
            self._land_oldest(max(self._free_ns, since_ns))

    def _land_oldest(self, at_ns: float) -> float:
        extent = next(iter(self._cached))
        _, stamps = self._cached.pop(extent)
        self._cached_bytes -= extent.size
        return self._land(max(at_ns, self._free_ns), {extent: stamps})

    def _land_by(self, end_ns: float) -> None:
        """Empty the cache with a flush that has not started yet."""
        if self.made.cache and self.made.cache.flush == "honest":
            for _, stamps in self._cached.values():
                self._note(stamps, end_ns)
            self._cached.clear()
            self._cached_bytes = 0

    def _land(self, at_ns: float, what: Mapping[Extent, Stamps]) -> float:
        end = self._medium.land(at_ns, tuple(what))
        for stamps in what.values():
            self._note(stamps, end)
        self._free_ns = end
        return end

    def _note(self, stamps: Stamps, end_ns: float) -> None:
        for offset, stamp in stamps.items():
            before = self._landed.get(offset)
            self._landed[offset] = _Landing(end_ns, stamp, before.stamp if before else None)

    def _command_us(self) -> float:
        # sometimes the controller is busy with other work
        drawn = self._chance.random()
        usual = self.made.command_us * (0.94 + 0.16 * drawn)
        return usual if drawn < 0.998 else usual * 4

    def _count(self, at_ns: float, end_ns: float, spent: str, **more: int) -> None:
        for name, number in more.items():
            self._counted[name] += number
        self._spent_ns[spent] += end_ns - at_ns
        self._spent_ns["busy_ms"] += end_ns - at_ns
        if self.on_request is not None:
            self.on_request(self.made.name, spent, end_ns - at_ns)
