"""A simulated host: its disks, their filesystem, its clock, and the writes that it acknowledged to its programs."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.measure.kinds.powercut import PowerCut, PowerCutFigures
from fstui.model.counters import Counters
from fstui.model.steps import Step
from fstui.simulate.disk import Disk
from fstui.simulate.kernel import CachedDisk, SimulatedFile, ZfsFile
from fstui.simulate.parameters import Simulated

FIRST_NS = 1e9


class SimulatedHost:
    def __init__(self, parameters: Simulated) -> None:
        self.parameters = parameters
        self.now_ns = FIRST_NS
        self.disk = Disk(parameters.disk, parameters.seed)
        self.log = Disk(parameters.log, parameters.seed + 1) if parameters.log else None
        self.front = Disk(parameters.front, parameters.seed + 2) if parameters.front else None
        self.filesystem = self._new_file()
        self._acknowledged: dict[int, tuple[float, int]] = {}
        """Offset → time of the acknowledgement, and the number of the write."""
        self.acknowledged = 0

    def begin_step(self) -> None:
        """Start with a new file. The disks keep their state."""
        self.filesystem = self._new_file()
        self._acknowledged.clear()
        self.acknowledged = 0

    def change(self, parameters: Simulated) -> None:
        self.parameters = parameters
        for disk, part in zip((self.disk, self.log, self.front), parameters.parts, strict=True):
            if disk is not None and part is not None:
                disk.change(part)
        self.filesystem.change(parameters)

    def acknowledge(self, at_ns: float, offset: int, stamp: int) -> None:
        self._acknowledged[offset] = (at_ns, stamp)
        self.acknowledged += 1

    def counters(self) -> Counters:
        now_ns = int(self.now_ns)
        devices = tuple(disk.counters() for disk in self.disks())
        return Counters(monotonic_ns=now_ns, until_ns=now_ns, devices=devices)

    def disks(self) -> Iterator[Disk]:
        yield from filter(None, (self.disk, self.log, self.front))

    def power_cut(self, at_ns: float, settings: PowerCut, bytes_each: int, elapsed_s: float) -> Step:
        """Cut the power and compare acknowledged with remaining writes, as ``fstui powercut verify`` does."""
        present = stale = missing = 0
        oldest_ns = at_ns
        for offset, (acknowledged_ns, stamp) in self._acknowledged.items():
            newest = self._stamp_at(offset, at_ns)
            if newest is not None and newest >= stamp:
                present += 1
                continue
            if newest is None:
                missing += 1
            else:
                stale += 1
            oldest_ns = min(oldest_ns, acknowledged_ns)
        claim = f"{settings.sync[0]}, {settings.writes[0]}"
        lost = stale + missing
        figures = PowerCutFigures(
            cut=f"simulated {self.parameters.name}",
            identity="",
            simulated=True,
            acknowledged=self.acknowledged,
            checked=len(self._acknowledged),
            present=present,
            stale=stale,
            missing=missing,
            oldest_lost_s=round((at_ns - oldest_ns) / 1e9, 6),
            by_claim={claim: {"acknowledged": self.acknowledged, "checked": len(self._acknowledged), "lost": lost}},
        )
        return Step(
            name="power cut",
            settings=settings,
            ops=self.acknowledged,
            syncs=self.acknowledged,
            bytes=self.acknowledged * bytes_each,
            elapsed_s=elapsed_s,
            rate_per_s=self.acknowledged / elapsed_s if elapsed_s else 0.0,
            figures=figures,
        )

    def _stamp_at(self, offset: int, at_ns: float) -> int | None:
        """Return the number of the newest write of this offset that a disk still has."""
        stamps = (disk.stamp_at(offset, at_ns) for disk in self.disks())
        return max((stamp for stamp in stamps if stamp is not None), default=None)

    def _new_file(self) -> SimulatedFile:
        parameters = self.parameters
        storage = CachedDisk(parameters.front, self.front) if parameters.front and self.front else self.disk
        log = self.log or storage
        kind = ZfsFile if parameters.filesystem.kind == "zfs" else SimulatedFile
        return kind(parameters, storage, log)
