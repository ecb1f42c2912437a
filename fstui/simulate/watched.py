"""A program that commits on a simulated box, and what a watch sees of it: who waits, and what the disks do meanwhile.

No programs run on a box that is not there; one that commits at a database's usual pace makes disks comparable.
"""

from __future__ import annotations

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.latency import Histogram
from fstui.model.counters import DeviceCounters, DeviceTimes
from fstui.model.watch import Waiting, Watched, WatchedDevice
from fstui.simulate.box import Box
from fstui.simulate.programs import Writes
from fstui.simulate.stack import mount_point

COMMITS = SyncWrites(seconds=0, block_bytes=8192, offsets="sequential", sync="fdatasync", ops_per_s=50.0)
PROGRAM, PID, FILE = "database", 100, "commits.log"
LEAST_FOR_P99 = 100


class WatchedBox:
    """The program at work, and two looks at it: since the last, and since the beginning."""

    def __init__(self, box: Box) -> None:
        box.begin_step()
        self._box = box
        self._program = Writes(box, COMMITS)
        self._program.begin()
        self._second, self._whole = Look(box), Look(box)
        for disk in box.disks():
            disk.told = self._request

    def until(self, now_ns: float) -> float:
        """Let it work until then. When its last commit came back, which may be later."""
        for done in self._program.until(now_ns):
            if not self._box.filesystem.stubbed:  # what a library answers no kernel hears of
                syncs = [end - begin for begin, end in zip(done.marks[::2], done.marks[1::2], strict=True)]
                self._second.syncs.add(syncs)
                self._whole.syncs.add(syncs)
        return max(now_ns, self._program.ended_ns)

    def second(self) -> Watched:
        """Since the last time that this was asked."""
        seen, self._second = self._second.seen(), Look(self._box)
        return seen

    def whole(self) -> Watched:
        """Since the beginning."""
        return self._whole.seen()

    def _request(self, device: str, what: str, took_ns: float) -> None:
        for look in (self._second, self._whole):
            look.request(device, what, round(took_ns))


class Look:
    """A stretch of the model's time."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._since_ns = box.now_ns
        self._before = {each.device: each for each in box.counters()}
        self.syncs = Histogram()
        self._requests: dict[tuple[str, str], Histogram] = {}

    def request(self, device: str, what: str, took_ns: int) -> None:
        """A disk has answered."""
        self._requests.setdefault((device, what), Histogram()).add([took_ns])

    def seen(self) -> Watched:
        """What it comes to."""
        elapsed_s = (self._box.now_ns - self._since_ns) / 1e9
        devices = tuple(filter(_was_asked, map(self._device, self._box.counters())))
        waits = (self._waiting(),) if self.syncs.total else ()
        return Watched(elapsed_s=elapsed_s, looked_s=elapsed_s, waits=waits, devices=devices)

    def _waiting(self) -> Waiting:
        below_ns = sum(histogram.sum for histogram in self._requests.values())
        return Waiting(
            program=PROGRAM,
            pid=PID,
            processes=1,
            file=f"{mount_point(self._box.made)}/{FILE}",
            inode=None,
            files=1,
            device=self._box.made.disk.name,
            syncs=self.syncs.total,
            waited_ns=self.syncs.sum,
            latency_ns=_times(self.syncs),
            device_ns=min(below_ns, self.syncs.sum) // self.syncs.total,
            cpu_ns=0,
            in_flight_ns=None,
        )

    def _device(self, now: DeviceCounters) -> WatchedDevice:
        before = self._before[now.device]

        def since(name: str) -> int:
            moved: int = getattr(now, name) - getattr(before, name)
            return moved

        return WatchedDevice(
            device=now.device,
            writes=since("writes"),
            written_bytes=since("written_bytes"),
            write_ms=since("write_ms"),
            flushes=since("flushes"),
            flush_ms=since("flush_ms"),
            flush_ns=_times(self._requests.get((now.device, "flush_ms"))),
            write_ns=_times(self._requests.get((now.device, "write_ms"))),
        )


def _was_asked(device: WatchedDevice) -> bool:
    return bool(device.writes or device.flushes)


def _times(taken: Histogram | None) -> DeviceTimes | None:
    if taken is None:
        return None
    p50, p99 = taken.percentiles((0.5, 0.99))
    return DeviceTimes(p50=p50, p99=p99 if taken.total >= LEAST_FOR_P99 else None, max=taken.max)
