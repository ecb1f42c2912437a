"""A simulated disk: its commands, its write cache, its counters, and its content after a power cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fstui.model.counters import DeviceCounters
from fstui.simulate.media import US, Extent, medium
from fstui.simulate.parameters import DiskParameters

Stamps = Mapping[int, int]
"""The writes of the file that a request contains: offset in the file → number of the write."""


class _Landing(NamedTuple):
    at_ns: float
    stamp: int
    before: int | None
    """The number of the previous write of this offset."""


class Disk:
    """One disk. Requests must arrive in chronological order."""

    def __init__(self, parameters: DiskParameters, seed: int) -> None:
        self.parameters = parameters
        self.on_request: Callable[[str, str, float], None] | None = None
        """Called after each request with the name of the disk, ``write`` or ``flush``, and the time in ns."""
        self._chance = random.Random(seed)
        self._medium = medium(parameters.medium_parameters, self._chance)
        self._cached: dict[Extent, tuple[float, Stamps]] = {}
        """The content of the write cache, oldest first, with its arrival time."""
        self._cached_bytes = 0
        self._landed: dict[int, _Landing] = {}
        self._free_ns = 0.0
        """When the medium has finished its work."""
        self._flush_ends_ns = 0.0
        self._next_begins_ns = self._next_ends_ns = 0.0
        """Beginning and end of the flush that waits for another one."""
        self._counted = dict.fromkeys(("writes", "written_bytes", "flushes"), 0)
        self._spent_ns = {"write": 0.0, "flush": 0.0, "busy": 0.0}

    def change(self, parameters: DiskParameters) -> None:
        """Use other parameters from now on; the content is kept."""
        if parameters.medium_parameters != self.parameters.medium_parameters:
            self._medium = medium(parameters.medium_parameters, self._chance)
        self.parameters = parameters

    def write(self, at_ns: float, extent: Extent, stamps: Stamps, *, forced: bool = False) -> float:
        """Return when the write completes. ``forced``: with FUA."""
        cache = self.parameters.cache
        arrived = at_ns + (self._command_us() + extent.size / self.parameters.bytes_per_us) * US
        if cache is None or (forced and cache.fua == "honest" and not cache.protected):
            self._cached_bytes -= extent.size if self._cached.pop(extent, None) else 0
            # a platter has one head; other media work in parallel
            begin = max(arrived, self._free_ns) if self.parameters.platter else arrived
            end = self._land(begin, {extent: stamps})
        else:
            self._write_back_until(arrived)
            end = arrived
            while self._cached_bytes + extent.size > cache.bytes and self._cached:
                end = max(end, self._land_oldest(arrived))
            if extent not in self._cached:
                self._cached_bytes += extent.size
            self._cached[extent] = (end, stamps)
        self._count(at_ns, end, "write", writes=1, written_bytes=extent.size)
        return end

    def flush(self, at_ns: float) -> float:
        """Return when the flush completes. All flushes that arrive during another one share the next one
        (block/blk-flush.c)."""
        if at_ns < self._next_begins_ns:  # another one waits already
            self._join_flush(self._next_ends_ns)
            return self._next_ends_ns
        if at_ns < self._flush_ends_ns:  # one is running
            self._next_begins_ns = self._flush_ends_ns
            self._next_ends_ns = self._flush_ends_ns = self._empty_cache(self._flush_ends_ns)
        else:
            self._flush_ends_ns = self._empty_cache(at_ns)
        self._count(at_ns, self._flush_ends_ns, "flush", flushes=1)
        return self._flush_ends_ns

    def stamp_at(self, offset: int, at_ns: float) -> int | None:
        """Return the number of the write that is at this offset after a power cut at this time."""
        protected = self.parameters.cache is not None and self.parameters.cache.protected
        if protected:
            saved = [stamps[offset] for since, stamps in self._cached.values() if offset in stamps and since <= at_ns]
            if saved:
                return saved[-1]
        landed = self._landed.get(offset)
        if landed is None:
            return None
        return landed.stamp if protected or landed.at_ns <= at_ns else landed.before

    def counters(self) -> DeviceCounters:
        device, spent = self.parameters.name, {f"{what}_ms": int(ns / 1e6) for what, ns in self._spent_ns.items()}
        return DeviceCounters(
            device=device, reads=0, read_bytes=0, read_ms=0, discards=0, in_flight=0, **self._counted, **spent
        )

    def _empty_cache(self, at_ns: float) -> float:
        """Execute a flush. Return when it completes."""
        cache = self.parameters.cache
        arrived = at_ns + (self._command_us() + self.parameters.flush_us) * US
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

    def _join_flush(self, end_ns: float) -> None:
        """Let a flush that has not started yet, and ends then, also empty the cache."""
        if self.parameters.cache and self.parameters.cache.flush == "honest":
            for _, stamps in self._cached.values():
                self._record(stamps, end_ns)
            self._cached.clear()
            self._cached_bytes = 0

    def _land(self, at_ns: float, what: Mapping[Extent, Stamps]) -> float:
        end = self._medium.land(at_ns, tuple(what))
        for stamps in what.values():
            self._record(stamps, end)
        self._free_ns = end
        return end

    def _record(self, stamps: Stamps, end_ns: float) -> None:
        for offset, stamp in stamps.items():
            before = self._landed.get(offset)
            self._landed[offset] = _Landing(end_ns, stamp, before.stamp if before else None)

    def _command_us(self) -> float:
        # sometimes the controller is busy with other work
        drawn = self._chance.random()
        usual = self.parameters.command_us * (0.94 + 0.16 * drawn)
        return usual if drawn < 0.998 else usual * 4

    def _count(self, at_ns: float, end_ns: float, what: str, **counts: int) -> None:
        for name, number in counts.items():
            self._counted[name] += number
        self._spent_ns[what] += end_ns - at_ns
        self._spent_ns["busy"] += end_ns - at_ns
        if self.on_request is not None:
            self.on_request(self.parameters.name, what, end_ns - at_ns)
