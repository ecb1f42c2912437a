"""The media of simulated disks, which compute when a batch of writes has reached the medium."""

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
"""Nanoseconds per µs, ms and s."""


class Extent(NamedTuple):
    offset: int
    size: int


class SimulatedMedium:
    def write(self, time_ns: float, extents: Sequence[Extent]) -> float:
        """Return when the last of these writes has reached the medium."""
        raise NotImplementedError

    def complete_flush(self, time_ns: float) -> float:
        """Return when a flush completes, if its last write reached the medium at ``time_ns``."""
        return time_ns


class Platter(SimulatedMedium):
    """A rotating disk, which writes a block when the block passes under the head."""

    def __init__(self, parameters: PlatterParameters) -> None:
        self._parameters = parameters
        self._revolution_ns = 60 * S / parameters.rpm
        self._head_track = 0

    def write(self, time_ns: float, extents: Sequence[Extent]) -> float:
        ordered = sorted(extents) if len(extents) > 1 else extents
        end_ns = max(self._write_to_mirror(time_ns, ordered, mirror) for mirror in range(self._parameters.mirrors))
        self._head_track = ordered[-1].offset // self._parameters.track_bytes
        return end_ns

    def complete_flush(self, time_ns: float) -> float:
        return time_ns + self._revolution_ns if self._parameters.verify else time_ns

    def _write_to_mirror(self, time_ns: float, extents: Sequence[Extent], mirror: int) -> float:
        """Return when a disk of the mirror has written the extents. The disks rotate at slightly different speeds."""
        parameters, head_track = self._parameters, self._head_track
        revolution_ns = self._revolution_ns / (1 + 0.003 * mirror)
        for extent in extents:
            track, offset = divmod(extent.offset, parameters.track_bytes)
            time_ns += self._seek_ns(abs(track - head_track))
            head_position = time_ns / revolution_ns % 1
            distance = (offset / parameters.track_bytes - head_position) % 1
            time_ns += (distance + extent.size / parameters.track_bytes) * revolution_ns
            head_track = track
        return time_ns

    def _seek_ns(self, tracks: int) -> float:
        """Return the seek time, which grows with the square root of the distance: the head accelerates, then brakes."""
        parameters = self._parameters
        # seek_ms is the time for a third of the tracks
        acceleration_ms = (parameters.seek_ms - parameters.settle_ms) * math.sqrt(3 * tracks / parameters.tracks)
        return (parameters.settle_ms + acceleration_ms) * MS if tracks else 0.0


class Nand(SimulatedMedium):
    def __init__(self, parameters: NandParameters, rng: random.Random) -> None:
        self._parameters, self._rng = parameters, rng

    def write(self, time_ns: float, extents: Sequence[Extent]) -> float:
        pages = math.ceil(sum(extent.size for extent in extents) / self._parameters.page_bytes)
        program_us = self._parameters.program_us * self._rng.uniform(0.9, 1.15)
        return time_ns + math.ceil(pages / self._parameters.channels) * program_us * US


class PersistentMemory(SimulatedMedium):
    """A medium without a cache. A write is durable when the write completes."""

    def __init__(self, parameters: PersistentParameters, rng: random.Random) -> None:
        self._parameters, self._rng = parameters, rng

    def write(self, time_ns: float, extents: Sequence[Extent]) -> float:
        return time_ns + len(extents) * self._parameters.write_us * self._rng.uniform(0.93, 1.12) * US


class Network(SimulatedMedium):
    """A network volume, with the provider's limit on operations per second."""

    def __init__(self, parameters: NetworkParameters, rng: random.Random) -> None:
        self._parameters, self._rng = parameters, rng
        self._next_allowed_ns = -parameters.burst_ops / parameters.ops_per_s * S if parameters.ops_per_s else 0.0
        """The earliest time at which the limit allows the next operation."""

    def write(self, time_ns: float, extents: Sequence[Extent]) -> float:
        parameters = self._parameters
        if parameters.ops_per_s:  # a token bucket that contains at most burst_ops tokens
            earliest_ns = time_ns - parameters.burst_ops / parameters.ops_per_s * S
            self._next_allowed_ns = max(self._next_allowed_ns, earliest_ns) + len(extents) / parameters.ops_per_s * S
            time_ns = max(time_ns, self._next_allowed_ns)
        factors = (self._rng.lognormvariate(0, parameters.spread) for _ in range(parameters.copies))
        return time_ns + parameters.round_trip_us * max(factors) * US


def new_medium(parameters: MediumParameters, rng: random.Random) -> SimulatedMedium:
    match parameters:
        case PlatterParameters():
            return Platter(parameters)
        case NandParameters():
            return Nand(parameters, rng)
        case PersistentParameters():
            return PersistentMemory(parameters, rng)
    return Network(parameters, rng)
