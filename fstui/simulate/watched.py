"""A program that commits on a simulated host, and what ``fstui watch`` reports about the program.

On every disk the program commits 50 times per second, so that disks can be compared.
"""

import msgspec

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.latency import Histogram
from fstui.model.counters import DeviceCounters, DeviceTimes, difference
from fstui.model.watch import FileWaits, WatchCounts, WatchedDevice
from fstui.simulate.programs import SyncWritesProgram
from fstui.simulate.simulated_host import SimulatedHost
from fstui.simulate.stack import mount_point

COMMITS = SyncWrites(seconds=0, block_bytes=8192, offsets="sequential", sync="fdatasync", ops_per_s=50.0)
PROGRAM, PID, FILE = "database", 100, "commits.log"
MIN_FOR_P99 = 100


class WatchedHost:
    """Run the program, and observe the current second and the whole time."""

    def __init__(self, host: SimulatedHost) -> None:
        host.begin_step()
        self._host = host
        self._program = SyncWritesProgram(host, COMMITS)
        self._program.begin()
        self._second, self._whole = Observation(host), Observation(host)
        for disk in host.disks():
            disk.on_request = self._count_request

    def run_until(self, now_ns: float) -> float:
        """Run the program until ``now_ns``. Return ``now_ns``, or the end of the last commit if that is later."""
        for operations in self._program.run_until(now_ns):
            if not self._host.file.syncs_stubbed:  # a stubbed sync does not reach the kernel
                ends_ns = operations.part_ends_ns
                syncs = [end - begin for begin, end in zip(ends_ns[::2], ends_ns[1::2], strict=True)]
                self._second.syncs.add(syncs)
                self._whole.syncs.add(syncs)
        return max(now_ns, self._program.ended_ns)

    def second(self) -> WatchCounts:
        """Return the summary of the current second, and start a new one."""
        summary, self._second = self._second.summary(), Observation(self._host)
        return summary

    def whole(self) -> WatchCounts:
        return self._whole.summary()

    def _count_request(self, device: str, request: str, duration_ns: float) -> None:
        for observation in (self._second, self._whole):
            observation.count_request(device, request, round(duration_ns))


class Observation:
    """The syncs of the program and the requests to the disks during one period."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._start_ns = host.now_ns
        self._before = host.counters()
        self.syncs = Histogram()
        self._requests: dict[tuple[str, str], Histogram] = {}

    def count_request(self, device: str, request: str, duration_ns: int) -> None:
        """Count a request, ``write`` or ``flush``."""
        self._requests.setdefault((device, request), Histogram()).add([duration_ns])

    def summary(self) -> WatchCounts:
        elapsed_s = (self._host.now_ns - self._start_ns) / 1e9
        deltas = difference(self._before, self._host.counters())
        devices = tuple(self._device(delta) for delta in deltas if delta.writes or delta.flushes)
        waits = (self._waiting(),) if self.syncs.total else ()
        return WatchCounts(elapsed_s=elapsed_s, traced_s=elapsed_s, waits=waits, devices=devices)

    def _waiting(self) -> FileWaits:
        requests_ns = sum(histogram.sum for histogram in self._requests.values())
        return FileWaits(
            program=PROGRAM,
            pid=PID,
            processes=1,
            file=f"{mount_point(self._host.parameters)}/{FILE}",
            inode=None,
            files=1,
            device=self._host.parameters.disk.name,
            syncs=self.syncs.total,
            waited_ns=self.syncs.sum,
            ended_ns=self.syncs.sum,
            latency_ns=_percentiles(self.syncs),
            device_ns=min(requests_ns, self.syncs.sum) // self.syncs.total,
            cpu_ns=0,
            in_flight_ns=None,
        )

    def _device(self, counters: DeviceCounters) -> WatchedDevice:
        return msgspec.structs.replace(
            msgspec.convert(counters, WatchedDevice, from_attributes=True),
            flush_ns=_percentiles(self._requests.get((counters.device, "flush"))),
            write_ns=_percentiles(self._requests.get((counters.device, "write"))),
        )


def _percentiles(histogram: Histogram | None) -> DeviceTimes | None:
    if histogram is None:
        return None
    p50, p99 = histogram.percentiles((0.5, 0.99))
    return DeviceTimes(p50=p50, p99=p99 if histogram.total >= MIN_FOR_P99 else None, max=histogram.max)
