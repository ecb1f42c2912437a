"""A second of a watch in which a database waits for a slow disk."""

from msgspec.structs import replace

from fstui.model.counters import DeviceTimes
from fstui.model.host import OtherWriter
from fstui.model.watch import FileWaits, JournalCommits, WatchCounts, WatchedDevice

MS = 1_000_000
SLOW = DeviceTimes(p50=38 * MS, p99=91 * MS, max=120 * MS)
DATABASE = FileWaits(
    pid=50,
    processes=1,
    program="mariadbd",
    file="/var/lib/mysql/ib_logfile0",
    inode=12,
    files=1,
    device="sda1",
    syncs=23,
    waited_ns=920 * MS,
    ended_ns=920 * MS,
    latency_ns=DeviceTimes(p50=40 * MS, p99=None, max=122 * MS),
    device_ns=38 * MS,
    cpu_ns=2 * MS,
    in_flight_ns=None,
)
SECOND = WatchCounts(
    elapsed_s=1.0,
    traced_s=1.0,
    waits=(
        DATABASE,
        FileWaits(
            pid=None,
            processes=4,
            program="postgres",
            file=None,
            inode=None,
            files=3,
            device="sda1",
            syncs=4,
            waited_ns=160 * MS,
            ended_ns=160 * MS,
            latency_ns=DeviceTimes(p50=39 * MS, p99=None, max=41 * MS),
            device_ns=37 * MS,
            cpu_ns=0,
            in_flight_ns=None,
        ),
    ),
    devices=(
        WatchedDevice(
            device="sdb",
            writes=61,
            written_bytes=1 << 20,
            write_ms=90,
            flushes=27,
            flush_ms=1020,
            fua=24,
            flush_ns=SLOW,
            write_ns=DeviceTimes(p50=2 * MS, p99=None, max=9 * MS),
        ),
    ),
    commits=(JournalCommits(device="dm-2", count=24, latency_ns=SLOW),),
    writers=(OtherWriter(pid=700, name="rsyslogd", written_bytes=40960),),
)
"""A second with waiting and writing programs, so that every view has content."""


def minutes(seconds: int) -> list[WatchCounts]:
    """Return this many seconds, in which the disk becomes slow repeatedly."""
    return [_slower(1 + at % 30 // 10) for at in range(seconds)]


def _slower(times: int) -> WatchCounts:
    waits = tuple(
        replace(each, waited_ns=each.waited_ns // 3 * times, ended_ns=each.ended_ns // 3 * times)
        for each in SECOND.waits
    )
    devices = tuple(replace(each, flush_ms=(each.flush_ms or 0) // 3 * times) for each in SECOND.devices)
    return replace(SECOND, waits=waits, devices=devices)
