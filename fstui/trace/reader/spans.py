"""A stretch of time of watching: who waited for what, and what the devices and journals did meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fstui.trace.reader.below import Counted
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.rows import Row, Rows

MOST_TOLD = 200
"""Rows, those that waited the longest: a reader takes lines of a quarter of a megabyte at the most."""


class DeviceSpan:
    """One device."""

    def __init__(self) -> None:
        self.counted: Counted | None = None
        self.flushes, self.writes = Durations(), Durations()
        self.fua = 0

    def merge(self, later: DeviceSpan) -> None:
        """The same device later."""
        if later.counted is not None:
            self.counted = self.counted.plus(later.counted) if self.counted else later.counted
        self.flushes.merge(later.flushes)
        self.writes.merge(later.writes)
        self.fua += later.fua

    @property
    def busy_ns(self) -> int:
        """The time of all requests that somebody waited for, one after the other, as far as they were looked at."""
        return self.flushes.sum_ns + self.writes.sum_ns

    def told(self, device: str) -> dict[str, Any]:
        counted = self.counted._asdict() if self.counted else dict.fromkeys(Counted._fields)
        return {
            "device": device,
            **counted,
            "fua": self.fua,
            "flush_ns": self.flushes.told(),
            "write_ns": self.writes.told(),
        }


class Span:
    """A second, or all of them."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.looked_s = 0.0
        """Of that time the devices' requests were looked at for so long."""
        self.lost = 0
        self.rows = Rows()
        self.devices: dict[str, DeviceSpan] = {}
        self.commits: dict[str, Durations] = {}

    def device(self, name: str) -> DeviceSpan:
        return self.devices.setdefault(name, DeviceSpan())

    def merge(self, later: Span) -> None:
        """What came after."""
        self.elapsed_s += later.elapsed_s
        self.looked_s += later.looked_s
        self.lost += later.lost
        self.rows.merge(later.rows)
        for name, device in later.devices.items():
            self.device(name).merge(device)
        for name, commits in later.commits.items():
            self.commits.setdefault(name, Durations()).merge(commits)

    def told(self) -> dict[str, Any]:
        syncs = self._syncs_by_device()
        rows = sorted(self.rows.together().values(), key=lambda row: -row.durations.sum_ns)
        return {
            "elapsed_s": self.elapsed_s,
            "looked_s": self.looked_s,
            "lost": self.lost,
            "waits": [row.told(self._device_ns(row, syncs)) for row in rows[:MOST_TOLD]],
            "devices": [device.told(name) for name, device in sorted(self.devices.items())],
            "commits": [
                {"device": name, "count": one.count, "latency_ns": one.told()} for name, one in self.commits.items()
            ],
        }

    def _syncs_by_device(self) -> Mapping[str, int]:
        """How many syncs each request-making device was waited for by."""
        syncs: dict[str, int] = {}
        for row in self.rows.rows.values():
            for name in row.below:
                syncs[name] = syncs.get(name, 0) + row.durations.count + row.timeless
        return syncs

    def _device_ns(self, row: Row, syncs: Mapping[str, int]) -> int | None:
        """The devices' own part of one sync: their requests' time over the syncs, and never more than the sync took.

        An average over all who sync on these devices: whose a request was, a device does not know.
        """
        if not row.below or not self.looked_s or not row.durations.count:
            return None
        whole = self.elapsed_s / self.looked_s
        part = sum(self.device(name).busy_ns * whole / syncs[name] for name in row.below if syncs[name])
        return min(int(part), row.durations.sum_ns // row.durations.count)
