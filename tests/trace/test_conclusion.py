"""A watch in one sentence."""

import msgspec
import pytest

from fstui.model.counters import DeviceTimes
from fstui.model.host import Writer
from fstui.model.watch import Commits, Waiting, Watched, WatchedDevice
from fstui.trace.conclusion import conclude, conclude_from_proc
from tests.factories.watched import DATABASE, MS


def waiting(syncs: int, sync_ms: float, device_ms: float, **more: object) -> Waiting:
    mean_ns = int(sync_ms * MS)
    measured: dict[str, object] = {
        "syncs": syncs,
        "waited_ns": mean_ns * syncs,
        "latency_ns": DeviceTimes(p50=mean_ns, p99=None, max=mean_ns),
        "device_ns": int(device_ms * MS),
        "cpu_ns": 0,
    }
    return msgspec.structs.replace(DATABASE, **measured | more)


def watched(*rows: Waiting, **more: object) -> Watched:
    return msgspec.structs.replace(Watched(elapsed_s=10.0, looked_s=10.0, waits=rows), **more)


@pytest.mark.parametrize(
    ("rows", "culprit", "words"),
    [
        ([waiting(200, 40.0, 38.0)], "disk", "sda1 itself takes 38.0 ms of the 40.0 ms that a sync of /var/lib/mysql"),
        ([waiting(200, 40.0, 2.0)], "filesystem", "takes mariadbd (50) 40.0 ms, 2.0 ms of them in the device."),
        ([waiting(80_000, 0.12, 0.09)], "program", "8 000 syncs/s of /var/lib/mysql/ib_logfile0 and spends 96% of its"),
        ([waiting(300, 40.0, 2.0, cpu_ns=9_000 * MS)], "cpu", "for up to 75% of the time it waited for a CPU"),
        ([waiting(8_000, 0.12, 0.09)], "nobody", "Little is waited: mariadbd (50) makes 800 syncs/s of"),
        ([waiting(45_000, 0.12, 0.09)], "program", "spends 54% of its time in them"),
        ([waiting(10, 2.0, 1.0)], "nobody", "mariadbd (50) asks for most, 1.00 syncs/s of 2.0 ms each, 0.2% of its"),
        ([], "nobody", "no program asked for a sync in 10.0 s"),
        ([waiting(900, 40.0, 38.0, kernel=True, program="kworker")], "nobody", "no program asked"),
        ([waiting(1, 1.0, 1.0, in_flight_ns=12_400 * MS)], "unknown", "has waited 12.4 s for /var/lib/mysql/ib_log"),
        ([waiting(80_000, 0.5, 0.1)], "program", "spends the time of 4.0 threads in them"),
    ],
)
def test_what_the_time_goes_into(rows: list[Waiting], culprit: str, words: str) -> None:
    found = conclude(watched(*rows))
    assert found.culprit == culprit
    assert words in found.sentence


def test_a_slow_filesystem_is_told_with_its_journal() -> None:
    commits = Commits(device="sda1", count=240, latency_ns=DeviceTimes(p50=30 * MS, p99=None, max=90 * MS))
    found = conclude(watched(waiting(200, 40.0, 2.0), commits=(commits,)))
    assert "its journal made 24.0 commits/s of 30.0 ms (p50), 90.0 ms at the most" in found.sentence


def test_a_program_is_judged_over_all_its_files() -> None:
    """Each alone would wait for nothing."""
    rows = [waiting(100, 4.0, 3.5, file=f"/var/lib/mysql/{name}", inode=name) for name in range(5)]
    assert conclude(watched(*rows)).culprit == "disk"


def test_a_sync_without_a_time_counts_and_takes_none() -> None:
    timeless = waiting(10_000, 0.0, 0.0, latency_ns=None, waited_ns=0, device_ns=None)
    found = conclude(watched(waiting(200, 40.0, 38.0), timeless))
    assert (found.culprit, "38.0 ms of the 40.0 ms" in found.sentence) == ("disk", True)


def test_without_a_trace_it_says_what_is_counted() -> None:
    seen = watched(
        devices=(WatchedDevice(device="sda", flushes=500, flush_ms=1000), WatchedDevice(device="sdb", flushes=None)),
        writers=(Writer(pid=50, name="mariadbd", written_bytes=10 << 20),),
    )
    found = conclude_from_proc(seen, "only root may trace the kernel")
    assert found.culprit == "unknown"
    assert found.sentence == (
        "Who waits is not to be seen: only root may trace the kernel. sda did 50.0 flushes/s of 2.0 ms each. "
        "mariadbd (50) wrote most, 1.0 MiB/s."
    )
    assert "No device that counts them" in conclude_from_proc(watched(), "why").sentence
