"""Activity of other processes on the same devices while fstui was idle. It is not subtracted from the counts."""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from fstui.judge.facts.stack import Stack
from fstui.model.counters import DeviceCounters, Idle
from fstui.model.host import OtherWriter
from fstui.model.storage import Node

MIN_IDLE_S = 0.5
"""Shorter samples are ignored. Even at 0.5 s, 72 of 80 samples missed a program that wrote to its log steadily."""


class BusyDevice(NamedTuple):
    device: str
    flushes_per_s: float
    writes_per_s: float


class OtherWriters:
    """Other processes that write to the devices, as sampled before the run and between its steps."""

    def __init__(self, idle: Idle | None, stack: Stack) -> None:
        # without a sample, one without counters
        self._idle = idle if idle and idle.elapsed_s >= MIN_IDLE_S else Idle(elapsed_s=MIN_IDLE_S)
        self._stack = stack
        self.writers: tuple[OtherWriter, ...] = idle.writers if idle else ()

    def flushes_per_s(self, devices: Iterable[Node]) -> float | None:
        """Return how many flushes per second other processes caused at all these devices; None if not measured."""
        all_flushes = [counters.flushes for counters in self._counters_of(devices)]
        flushes = [number for number in all_flushes if number is not None]
        return sum(flushes) / self._idle.elapsed_s if flushes else None

    def bytes_per_s(self, devices: Iterable[Node]) -> float:
        """Return the bytes per second that other processes wrote to all these devices together; 0 if not measured."""
        return sum(counters.written_bytes or 0 for counters in self._counters_of(devices)) / self._idle.elapsed_s

    @cached_property
    def busy_shares(self) -> tuple[tuple[str, float], ...]:
        """The devices of the stack, busiest first, each with the share of the idle sample in which it was busy."""
        all_shares = self._idle.busy_shares.items()
        shares = [(device, min(1.0, share)) for device, share in all_shares if self._stack.ends_level(device)]
        return tuple(sorted(shares, key=lambda share: -share[1]))

    @cached_property
    def busy_devices(self) -> tuple[BusyDevice, ...]:
        """The devices of the stack that were written while fstui was idle, busiest first."""
        elapsed_s = self._idle.elapsed_s
        devices = [
            BusyDevice(counters.device, (counters.flushes or 0) / elapsed_s, (counters.writes or 0) / elapsed_s)
            for counters in self._idle.counters
            if self._stack.ends_level(counters.device) and (counters.flushes or counters.writes)
        ]
        return tuple(sorted(devices, key=lambda busy: -busy.flushes_per_s))

    def _counters_of(self, devices: Iterable[Node]) -> list[DeviceCounters]:
        ids = {device.id for device in devices}
        return [counters for counters in self._idle.counters if counters.device in ids]
