"""A simulated host: its disks, their filesystem, its clock, and the writes that it acknowledged to its programs."""

from collections.abc import Iterator

from fstui.measure.kinds.powercut import PowerCut, PowerCutFigures
from fstui.model.counters import Counters
from fstui.model.steps import Step
from fstui.simulate.disk import Disk
from fstui.simulate.kernel import CachedDisk, SimulatedFile, ZfsFile
from fstui.simulate.parameters import SimulationParameters

START_NS = 1e9


class SimulatedHost:
    def __init__(self, parameters: SimulationParameters) -> None:
        self.parameters = parameters
        self.now_ns = START_NS
        self.disk = Disk(parameters.disk, parameters.seed)
        self.log = Disk(parameters.log, parameters.seed + 1) if parameters.log else None
        self.cache_device = Disk(parameters.cache_device, parameters.seed + 2) if parameters.cache_device else None
        self.file = self._new_file()
        self._acknowledgements: dict[int, tuple[float, int]] = {}
        """The newest acknowledgement by offset: its time, and the stamp of the write."""
        self.ack_count = 0

    def begin_step(self) -> None:
        """Start with a new file. The disks keep their state."""
        self.file = self._new_file()
        self._acknowledgements.clear()
        self.ack_count = 0

    def change(self, parameters: SimulationParameters) -> None:
        self.parameters = parameters
        for disk, disk_parameters in zip((self.disk, self.log, self.cache_device), parameters.disks, strict=True):
            if disk is not None and disk_parameters is not None:
                disk.change(disk_parameters)
        self.file.change(parameters)

    def acknowledge(self, time_ns: float, offset: int, stamp: int) -> None:
        self._acknowledgements[offset] = (time_ns, stamp)
        self.ack_count += 1

    def counters(self) -> Counters:
        now_ns = int(self.now_ns)
        devices = tuple(disk.counters() for disk in self.disks())
        return Counters(monotonic_ns=now_ns, until_ns=now_ns, devices=devices)

    def disks(self) -> Iterator[Disk]:
        yield from filter(None, (self.disk, self.log, self.cache_device))

    def cut_power(self, time_ns: float, settings: PowerCut, block_bytes: int, elapsed_s: float) -> Step:
        """Cut the power. Compare acknowledged writes with remaining ones, as ``fstui powercut verify`` does."""
        present = stale = missing = 0
        oldest_lost_ns = time_ns
        for offset, (acknowledged_ns, stamp) in self._acknowledgements.items():
            stamp_on_disk = self._stamp_at(offset, time_ns)
            if stamp_on_disk is None:
                missing += 1
            elif stamp_on_disk < stamp:
                stale += 1
            else:
                present += 1
                continue
            oldest_lost_ns = min(oldest_lost_ns, acknowledged_ns)
        claim = f"{settings.sync[0]}, {settings.writes[0]}"
        checked, lost = len(self._acknowledgements), stale + missing
        figures = PowerCutFigures(
            cut=f"simulated {self.parameters.name}",
            identity="",
            simulated=True,
            acknowledged=self.ack_count,
            checked=checked,
            present=present,
            stale=stale,
            missing=missing,
            oldest_lost_s=round((time_ns - oldest_lost_ns) / 1e9, 6),
            by_claim={claim: {"acknowledged": self.ack_count, "checked": checked, "lost": lost}},
        )
        return Step(
            name="power cut",
            settings=settings,
            ops=self.ack_count,
            syncs=self.ack_count,
            bytes=self.ack_count * block_bytes,
            elapsed_s=elapsed_s,
            rate_per_s=self.ack_count / elapsed_s if elapsed_s else 0.0,
            figures=figures,
        )

    def _stamp_at(self, offset: int, time_ns: float) -> int | None:
        """Return the stamp of the newest write to this offset that a disk still has."""
        stamps = (disk.stamp_at(offset, time_ns) for disk in self.disks())
        return max((stamp for stamp in stamps if stamp is not None), default=None)

    def _new_file(self) -> SimulatedFile:
        parameters = self.parameters
        cache, disk = parameters.cache_device, self.cache_device
        storage = CachedDisk(cache, disk) if cache and disk else self.disk
        log = self.log or storage
        kind = ZfsFile if parameters.filesystem.kind == "zfs" else SimulatedFile
        return kind(parameters, storage, log)
