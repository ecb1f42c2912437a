"""A program that commits on a simulated host, and what ``fstui watch`` reports about it.

On every disk the program commits 50 times per second, so that disks can be compared.
"""

from __future__ import annotations

import msgspec

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.latency import Histogram
from fstui.model.counters import DeviceCounters, DeviceTimes, difference
from fstui.model.watch import Waiting, Watched, WatchedDevice
from fstui.simulate.programs import SyncWritesProgram
from fstui.simulate.simulated_host import SimulatedHost
from fstui.simulate.stack import mount_point

COMMITS = SyncWrites(seconds=0, block_bytes=8192, offsets="sequential", sync="fdatasync", ops_per_s=50.0)
PROGRAM, PID, FILE = "database", 100, "commits.log"
MIN_FOR_P99 = 100


class WatchedHost:
    """Runs the program and observes it, in the current second and from the start."""

    def __init__(self, host: SimulatedHost) -> None:
        host.begin_step()
        self._host = host
        self._program = SyncWritesProgram(host, COMMITS)
        self._program.begin()
        self._second, self._whole = Observation(host), Observation(host)
        for disk in host.disks():
            disk.on_request = self._request

    def run_until(self, now_ns: float) -> float:
        """Run the program until ``now_ns``. Return the time at which its last commit ended, if that is later."""
        for operations in self._program.run_until(now_ns):
            if not self._host.filesystem.stubbed:  # a stubbed sync does not reach the kernel
                syncs = [end - begin for begin, end in zip(operations.marks[::2], operations.marks[1::2], strict=True)]
                self._second.syncs.add(syncs)
                self._whole.syncs.add(syncs)
        return max(now_ns, self._program.ended_ns)

    def second(self) -> Watched:
        watched, self._second = self._second.watched(), Observation(self._host)
        return watched

    def whole(self) -> Watched:
        return self._whole.watched()

    def _request(self, device: str, what: str, took_ns: float) -> None:
        for observation in (self._second, self._whole):
            observation.request(device, what, round(took_ns))


class Observation:
    """Counts the syncs and the requests since its start."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._since_ns = host.now_ns
        self._before = host.counters()
        self.syncs = Histogram()
        self._requests: dict[tuple[str, str], Histogram] = {}

    def request(self, device: str, what: str, took_ns: int) -> None:
        """Count a request. ``what``: ``write`` or ``flush``."""
        self._requests.setdefault((device, what), Histogram()).add([took_ns])

    def watched(self) -> Watched:
        elapsed_s = (self._host.now_ns - self._since_ns) / 1e9
        moved = difference(self._before, self._host.counters())
        devices = tuple(self._device(counters) for counters in moved if counters.writes or counters.flushes)
        waits = (self._waiting(),) if self.syncs.total else ()
        return Watched(elapsed_s=elapsed_s, looked_s=elapsed_s, waits=waits, devices=devices)

    def _waiting(self) -> Waiting:
        below_ns = sum(histogram.sum for histogram in self._requests.values())
        return Waiting(
            program=PROGRAM,
            pid=PID,
            processes=1,
            file=f"{mount_point(self._host.parameters)}/{FILE}",
            inode=None,
            files=1,
            device=self._host.parameters.disk.name,
            syncs=self.syncs.total,
            waited_ns=self.syncs.sum,
            latency_ns=_times(self.syncs),
            device_ns=min(below_ns, self.syncs.sum) // self.syncs.total,
            cpu_ns=0,
            in_flight_ns=None,
        )

    def _device(self, moved: DeviceCounters) -> WatchedDevice:
        return msgspec.structs.replace(
            msgspec.convert(moved, WatchedDevice, from_attributes=True),
            flush_ns=_times(self._requests.get((moved.device, "flush"))),
            write_ns=_times(self._requests.get((moved.device, "write"))),
        )


def _times(taken: Histogram | None) -> DeviceTimes | None:
    if taken is None:
        return None
    p50, p99 = taken.percentiles((0.5, 0.99))
    return DeviceTimes(p50=p50, p99=p99 if taken.total >= MIN_FOR_P99 else None, max=taken.max)
