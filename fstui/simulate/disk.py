"""A simulated disk: its commands, its write cache, its counters, and its content after a power cut."""

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fstui.model.counters import DeviceCounters
from fstui.simulate.media import US, Extent, new_medium
from fstui.simulate.parameters import DiskParameters

Stamps = Mapping[int, int]
"""The writes in a request: offset in the file → stamp. A stamp is the number of a write of the program."""


class _MediumWrite(NamedTuple):
    """The newest write to one offset of the medium. It reaches the medium at ``time_ns``."""

    time_ns: float
    stamp: int
    previous_stamp: int | None


class Disk:
    """One disk. Requests must arrive in chronological order."""

    def __init__(self, parameters: DiskParameters, seed: int) -> None:
        self.parameters = parameters
        self.on_request: Callable[[str, str, float], None] | None = None
        """Called for each request with the name of the disk, ``write`` or ``flush``, and the duration in ns."""
        self._rng = random.Random(seed)
        self._medium = new_medium(parameters.medium_parameters, self._rng)
        self._cache: dict[Extent, tuple[float, Stamps]] = {}
        """The write cache, oldest entry first: extent → time of arrival, and stamps."""
        self._cache_used_bytes = 0
        self._newest_writes: dict[int, _MediumWrite] = {}
        self._medium_free_ns = 0.0
        """When the medium has finished its writes."""
        self._flush_end_ns = 0.0
        self._next_start_ns = self._next_end_ns = 0.0
        """Start and end of the flush that waits for the running flush."""
        self._counts = dict.fromkeys(("writes", "written_bytes", "flushes"), 0)
        self._durations_ns = {"write": 0.0, "flush": 0.0, "busy": 0.0}

    def change(self, parameters: DiskParameters) -> None:
        """Use other parameters from now on, and keep the content."""
        if parameters.medium_parameters != self.parameters.medium_parameters:
            self._medium = new_medium(parameters.medium_parameters, self._rng)
        self.parameters = parameters

    def write(self, time_ns: float, extent: Extent, stamps: Stamps, *, fua: bool = False) -> float:
        """Return when the write completes."""
        cache = self.parameters.cache
        arrival_ns = time_ns + (self._command_us() + extent.size / self.parameters.bytes_per_us) * US
        if cache is None or (fua and cache.fua == "honest" and not cache.protected):
            self._cache_used_bytes -= extent.size if self._cache.pop(extent, None) else 0
            # a platter has one head; other media work in parallel
            start_ns = max(arrival_ns, self._medium_free_ns) if self.parameters.platter else arrival_ns
            end_ns = self._write_to_medium(start_ns, {extent: stamps})
        else:
            self._write_back_until(arrival_ns)
            end_ns = arrival_ns
            while self._cache_used_bytes + extent.size > cache.bytes and self._cache:
                end_ns = max(end_ns, self._write_back_oldest(arrival_ns))
            if extent not in self._cache:
                self._cache_used_bytes += extent.size
            self._cache[extent] = (end_ns, stamps)
        self._count(time_ns, end_ns, "write", writes=1, written_bytes=extent.size)
        return end_ns

    def flush(self, time_ns: float) -> float:
        """Return when the flush completes. All flushes that arrive while a flush is running share the next flush
        (block/blk-flush.c)."""
        if time_ns < self._next_start_ns:  # a flush is running, and the next flush waits for its end
            self._join_flush(self._next_end_ns)
            return self._next_end_ns
        if time_ns < self._flush_end_ns:  # a flush is running
            self._next_start_ns = self._flush_end_ns
            self._next_end_ns = self._flush_end_ns = self._empty_cache(self._flush_end_ns)
        else:
            self._flush_end_ns = self._empty_cache(time_ns)
        self._count(time_ns, self._flush_end_ns, "flush", flushes=1)
        return self._flush_end_ns

    def stamp_at(self, offset: int, time_ns: float) -> int | None:
        """Return the stamp of the write that is at this offset after a power cut at this time."""
        is_protected = self.parameters.cache is not None and self.parameters.cache.protected
        if is_protected:
            for arrival_ns, stamps in reversed(self._cache.values()):
                if offset in stamps and arrival_ns <= time_ns:
                    return stamps[offset]
        write = self._newest_writes.get(offset)
        if write is None:
            return None
        return write.stamp if is_protected or write.time_ns <= time_ns else write.previous_stamp

    def counters(self) -> DeviceCounters:
        durations_ms = {f"{name}_ms": int(ns / 1e6) for name, ns in self._durations_ns.items()}
        device = self.parameters.name
        return DeviceCounters(
            device=device, reads=0, read_bytes=0, read_ms=0, discards=0, in_flight=0, **self._counts, **durations_ms
        )

    def _empty_cache(self, time_ns: float) -> float:
        """Execute a flush. Return when the flush completes."""
        cache = self.parameters.cache
        arrival_ns = time_ns + (self._command_us() + self.parameters.flush_us) * US
        if cache is None or cache.protected or cache.flush == "ignored":
            return arrival_ns
        self._write_back_until(arrival_ns)
        cached = {extent: stamps for extent, (_, stamps) in self._cache.items()}
        self._cache.clear()
        self._cache_used_bytes = 0
        start_ns = max(arrival_ns, self._medium_free_ns)
        return self._medium.complete_flush(self._write_to_medium(start_ns, cached) if cached else start_ns)

    def _write_back_until(self, time_ns: float) -> None:
        """Write back cached data while the medium is idle, up to this time."""
        while self._cache and self._medium_free_ns < time_ns:
            arrival_ns, _ = next(iter(self._cache.values()))
            if arrival_ns >= time_ns:
                return
            self._write_back_oldest(max(self._medium_free_ns, arrival_ns))

    def _write_back_oldest(self, time_ns: float) -> float:
        extent = next(iter(self._cache))
        _, stamps = self._cache.pop(extent)
        self._cache_used_bytes -= extent.size
        return self._write_to_medium(max(time_ns, self._medium_free_ns), {extent: stamps})

    def _join_flush(self, end_ns: float) -> None:
        """Empty the cache by a flush that has not started yet and ends at ``end_ns``."""
        if self.parameters.cache and self.parameters.cache.flush == "honest":
            for _, stamps in self._cache.values():
                self._record(stamps, end_ns)
            self._cache.clear()
            self._cache_used_bytes = 0

    def _write_to_medium(self, time_ns: float, writes: Mapping[Extent, Stamps]) -> float:
        end_ns = self._medium.write(time_ns, tuple(writes))
        for stamps in writes.values():
            self._record(stamps, end_ns)
        self._medium_free_ns = end_ns
        return end_ns

    def _record(self, stamps: Stamps, end_ns: float) -> None:
        for offset, stamp in stamps.items():
            previous = self._newest_writes.get(offset)
            self._newest_writes[offset] = _MediumWrite(end_ns, stamp, previous.stamp if previous else None)

    def _command_us(self) -> float:
        random_share = self._rng.random()
        usual_us = self.parameters.command_us * (0.94 + 0.16 * random_share)
        # sometimes the controller is busy with other work
        return usual_us if random_share < 0.998 else usual_us * 4

    def _count(self, start_ns: float, end_ns: float, request: str, **counts: int) -> None:
        for name, number in counts.items():
            self._counts[name] += number
        self._durations_ns[request] += end_ns - start_ns
        self._durations_ns["busy"] += end_ns - start_ns
        if self.on_request is not None:
            self.on_request(self.parameters.name, request, end_ns - start_ns)
