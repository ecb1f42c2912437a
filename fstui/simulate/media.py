"""The media of simulated disks. ``land`` returns the time at which a batch of writes has reached the medium."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from fstui.simulate.parameters import (
    MediumParameters,
    NandParameters,
    NetworkParameters,
    PersistentParameters,
    PlatterParameters,
)

US, MS, S = 1e3, 1e6, 1e9


class Extent(NamedTuple):
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

    def __init__(self, parameters: PlatterParameters) -> None:
        self._parameters = parameters
        self._revolution_ns = 60 * S / parameters.rpm
        self._track = 0

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        in_order = sorted(extents) if len(extents) > 1 else extents
        end = max(self._written(at_ns, in_order, mirror) for mirror in range(self._parameters.mirrors))
        self._track = in_order[-1].at_byte // self._parameters.track_bytes
        return end

    def settle(self, at_ns: float) -> float:
        return at_ns + self._revolution_ns if self._parameters.verify else at_ns

    def _written(self, at_ns: float, extents: Sequence[Extent], mirror: int) -> float:
        """Return the time at which a disk of the mirror has written. The disks rotate at slightly different speeds."""
        parameters, revolution_ns, head = self._parameters, self._revolution_ns / (1 + 0.003 * mirror), self._track
        for extent in extents:
            track, offset = divmod(extent.at_byte, parameters.track_bytes)
            at_ns += self._seek_ns(abs(track - head))
            under_head = at_ns / revolution_ns % 1
            wait = (offset / parameters.track_bytes - under_head) % 1
            at_ns += (wait + extent.size / parameters.track_bytes) * revolution_ns
            head = track
        return at_ns

    def _seek_ns(self, tracks: int) -> float:
        """Return the seek time, which grows with the square root of the distance: the head accelerates, then brakes."""
        parameters = self._parameters
        # seek_ms is the time for a third of the tracks
        further = (parameters.seek_ms - parameters.settle_ms) * math.sqrt(3 * tracks / parameters.tracks)
        return (parameters.settle_ms + further) * MS if tracks else 0.0


class Nand(SimulatedMedium):
    def __init__(self, parameters: NandParameters, chance: random.Random) -> None:
        self._parameters, self._chance = parameters, chance

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        pages = math.ceil(sum(extent.size for extent in extents) / self._parameters.page_bytes)
        program_us = self._parameters.program_us * self._chance.uniform(0.9, 1.15)
        return at_ns + math.ceil(pages / self._parameters.channels) * program_us * US


class Persistent(SimulatedMedium):
    """A medium without a cache: a write is durable when it completes."""

    def __init__(self, parameters: PersistentParameters, chance: random.Random) -> None:
        self._parameters, self._chance = parameters, chance

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        return at_ns + len(extents) * self._parameters.write_us * self._chance.uniform(0.93, 1.12) * US


class Network(SimulatedMedium):
    """A network volume, with the provider's limit on operations per second."""

    def __init__(self, parameters: NetworkParameters, chance: random.Random) -> None:
        self._parameters, self._chance = parameters, chance
        self._next_at_ns = -parameters.burst_ops / parameters.ops_per_s * S if parameters.ops_per_s else 0.0
        """The earliest time at which the limit allows the next operation."""

    def land(self, at_ns: float, extents: Sequence[Extent]) -> float:
        parameters = self._parameters
        if parameters.ops_per_s:  # a token bucket that holds at most burst_ops
            earliest = at_ns - parameters.burst_ops / parameters.ops_per_s * S
            self._next_at_ns = max(self._next_at_ns, earliest) + len(extents) / parameters.ops_per_s * S
            at_ns = max(at_ns, self._next_at_ns)
        factors = (self._chance.lognormvariate(0, parameters.spread) for _ in range(parameters.copies))
        return at_ns + parameters.round_trip_us * max(factors) * US


def medium(parameters: MediumParameters, chance: random.Random) -> SimulatedMedium:
    match parameters:
        case PlatterParameters():
            return Platter(parameters)
        case NandParameters():
            return Nand(parameters, chance)
        case PersistentParameters():
            return Persistent(parameters, chance)
    return Network(parameters, chance)
