"""The media of simulated disks. ``land`` returns the time at which a batch of writes has reached the medium."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from fstui.simulate import parameters

US, MS, S = 1e3, 1e6, 1e9


class Extent(NamedTuple):
    """Bytes at an offset of the disk."""

    at_byte: int
    size: int


class SimulatedMedium:
    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        """Return the time at which the last of these writes has reached the medium."""
        raise NotImplementedError

    def settle(self, at_ns: float) -> float:
        """Return the time at which a flush completes, if its last byte reached the medium at ``at_ns``."""
        return at_ns


class Platter(SimulatedMedium):
    """A rotating disk: a block is written when it passes under the head."""

    def __init__(self, made: parameters.PlatterParameters) -> None:
        self._made = made
        self._revolution_ns = 60 * S / made.rpm
        self._track = 0

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        in_order = sorted(extents) if len(extents) > 1 else extents
        end = max(self._written(at_ns, in_order, mirror) for mirror in range(self._made.mirrors))
        self._track = in_order[-1].at_byte // self._made.track_bytes
        return end

    def settle(self, at_ns: float) -> float:
        return at_ns + self._revolution_ns if self._made.verify else at_ns

    def _written(self, at_ns: float, extents: Sequence[Extent], mirror: int) -> float:
        """Return the time at which a disk of the mirror has written. The disks rotate at slightly different speeds."""
        made, revolution_ns, head = self._made, self._revolution_ns / (1 + 0.003 * mirror), self._track
        for extent in extents:
            track, offset = divmod(extent.at_byte, made.track_bytes)
            at_ns += self._seek_ns(abs(track - head))
            under_head = at_ns / revolution_ns % 1
            wait = (offset / made.track_bytes - under_head) % 1
            at_ns += (wait + extent.size / made.track_bytes) * revolution_ns
            head = track
        return at_ns

    def _seek_ns(self, tracks: int) -> float:
        """Return the seek time, which grows with the square root of the distance: the head accelerates, then brakes."""
        made = self._made
        further = (made.seek_ms - made.settle_ms) * math.sqrt(3 * tracks / made.tracks)
        return (made.settle_ms + further) * MS if tracks else 0.0


class Nand(SimulatedMedium):
    def __init__(self, made: parameters.NandParameters, chance: random.Random) -> None:
        self._made, self._chance = made, chance

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        pages = -(-sum(extent.size for extent in extents) // self._made.page_bytes)
        each = self._made.program_us * self._chance.uniform(0.9, 1.15)
        return at_ns + -(-pages // self._made.channels) * each * US


class Persistent(SimulatedMedium):
    """A medium without a cache: a write is durable when it completes."""

    def __init__(self, made: parameters.PersistentParameters, chance: random.Random) -> None:
        self._made, self._chance = made, chance

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        return at_ns + len(extents) * self._made.write_us * self._chance.uniform(0.93, 1.12) * US


class Network(SimulatedMedium):
    """A network volume, with the provider's limit on operations per second."""

    def __init__(self, made: parameters.NetworkParameters, chance: random.Random) -> None:
        self._made, self._chance = made, chance
        self._paid_ns = -made.burst_ops / made.ops_per_s * S if made.ops_per_s else 0.0

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        made = self._made
        if made.ops_per_s:  # a token bucket that holds at most burst_ops
            least = at_ns - made.burst_ops / made.ops_per_s * S
            self._paid_ns = max(self._paid_ns, least) + len(extents) / made.ops_per_s * S
            at_ns = max(at_ns, self._paid_ns)
        ways = (self._chance.lognormvariate(0, made.spread) for _ in range(made.copies))
        return at_ns + made.round_trip_us * max(ways) * US


def medium(made: parameters.MediumParameters, chance: random.Random) -> SimulatedMedium:
    match made:
        case parameters.PlatterParameters():
            return Platter(made)
        case parameters.NandParameters():
            return Nand(made, chance)
        case parameters.PersistentParameters():
            return Persistent(made, chance)
    return Network(made, chance)
