"""A disk: its commands, its write cache, what the kernel counts of it, and what is there after the power went."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fstui.model.counters import DeviceCounters
from fstui.simulate.media import US, Extent, medium
from fstui.simulate.parameters import Device

Stamps = Mapping[int, int]
"""Place in the file → which write of it this is."""


class _Landing(NamedTuple):
    """A place of the file on the medium."""

    at_ns: float
    stamp: int
    before: int | None
    """What stood there until then."""


class Disk:
    """One disk. Requests come in the order of time."""

    def __init__(self, made: Device, seed: int) -> None:
        self.made = made
        self.told: Callable[[str, str, float], None] | None = None
        """Who wants to hear of each request: the disk's name, the counter of its time, and the time in ns."""
        self._chance = random.Random(seed)
        self._medium = medium(made.made_of, self._chance)
        self._waiting: dict[Extent, tuple[float, Stamps]] = {}
        """In the write cache, oldest first: since when, and what of the file it holds."""
        self._waiting_bytes = 0
        self._landed: dict[int, _Landing] = {}
        self._free_ns = 0.0
        """Until then the medium is at work."""
        self._flush_ends_ns = self._next_begins_ns = self._next_ends_ns = 0.0
        self._counted = dict.fromkeys(("writes", "written_bytes", "flushes"), 0)
        self._spent_ns = {"write_ms": 0.0, "flush_ms": 0.0, "busy_ms": 0.0}

    def turn(self, made: Device) -> None:
        """Its parameters are others from now on; what it holds stays."""
        if made.made_of != self.made.made_of:
            self._medium = medium(made.made_of, self._chance)
        self.made = made

    def write(self, at_ns: float, extent: Extent, stamps: Stamps, *, forced: bool = False) -> float:
        """When it is answered. ``forced``: marked FUA."""
        cache = self.made.cache
        came = at_ns + (self._command_us() + extent.size / self.made.bytes_per_us) * US
        if cache is None or (forced and cache.fua == "honest" and not cache.protected):
            self._waiting_bytes -= extent.size if self._waiting.pop(extent, None) else 0
            end = self._land(max(came, self._free_ns) if self.made.platter else came, {extent: stamps})
        else:
            self._empty_meanwhile(came)
            end = came
            while self._waiting_bytes + extent.size > cache.bytes and self._waiting:
                end = max(end, self._land_oldest(came))
            if extent not in self._waiting:
                self._waiting_bytes += extent.size
            self._waiting[extent] = (end, stamps)
        self._count(at_ns, end, "write_ms", writes=1, written_bytes=extent.size)
        return end

    def flush(self, at_ns: float) -> float:
        """When it is answered. While one is under way, those who come share the next (block/blk-flush.c)."""
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

    def stamp_at(self, place: int, at_ns: float) -> int | None:
        """What stands there after the power went at that time."""
        protected = self.made.cache is not None and self.made.cache.protected
        if protected:
            saved = [stamps[place] for since, stamps in self._waiting.values() if place in stamps and since <= at_ns]
            if saved:
                return saved[-1]
        landed = self._landed.get(place)
        if landed is None:
            return None
        return landed.stamp if protected or landed.at_ns <= at_ns else landed.before

    def counters(self) -> DeviceCounters:
        """As /sys/block/X/stat has them."""
        spent = {name: int(ns / 1e6) for name, ns in self._spent_ns.items()}
        return DeviceCounters(
            device=self.made.name, reads=0, read_bytes=0, read_ms=0, discards=0, in_flight=0, **self._counted, **spent
        )

    def _emptied(self, at_ns: float) -> float:
        cache = self.made.cache
        came = at_ns + (self._command_us() + self.made.flush_us) * US
        if cache is None or cache.protected or cache.flush == "ignored":
            return came
        self._empty_meanwhile(came)
        waiting = {extent: stamps for extent, (_, stamps) in self._waiting.items()}
        self._waiting.clear()
        self._waiting_bytes = 0
        begin = max(came, self._free_ns)
        return self._medium.settle(self._land(begin, waiting) if waiting else begin)

    def _empty_meanwhile(self, now_ns: float) -> None:
        """What a cache does by itself while there is something in it."""
        while self._waiting and self._free_ns < now_ns:
            since_ns, _ = next(iter(self._waiting.values()))
            if since_ns >= now_ns:
                return
            self._land_oldest(max(self._free_ns, since_ns))

    def _land_oldest(self, at_ns: float) -> float:
        extent = next(iter(self._waiting))
        _, stamps = self._waiting.pop(extent)
        self._waiting_bytes -= extent.size
        return self._land(max(at_ns, self._free_ns), {extent: stamps})

    def _land_by(self, end_ns: float) -> None:
        """What has come since, with a flush that is still to begin."""
        if self.made.cache and self.made.cache.flush == "honest":
            for _, stamps in self._waiting.values():
                self._note(stamps, end_ns)
            self._waiting.clear()
            self._waiting_bytes = 0

    def _land(self, at_ns: float, what: Mapping[Extent, Stamps]) -> float:
        end = self._medium.land(at_ns, tuple(what))
        for stamps in what.values():
            self._note(stamps, end)
        self._free_ns = end
        return end

    def _note(self, stamps: Stamps, end_ns: float) -> None:
        for place, stamp in stamps.items():
            before = self._landed.get(place)
            self._landed[place] = _Landing(end_ns, stamp, before.stamp if before else None)

    def _command_us(self) -> float:
        """Now and then something else keeps the controller busy."""
        drawn = self._chance.random()
        usual = self.made.command_us * (0.94 + 0.16 * drawn)
        return usual if drawn < 0.998 else usual * 4

    def _count(self, at_ns: float, end_ns: float, spent: str, **more: int) -> None:
        for name, number in more.items():
            self._counted[name] += number
        self._spent_ns[spent] += end_ns - at_ns
        self._spent_ns["busy_ms"] += end_ns - at_ns
        if self.told is not None:
            self.told(self.made.name, spent, end_ns - at_ns)
