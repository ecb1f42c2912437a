"""What a watch found, in one sentence and two answers."""

import msgspec
import pytest

from fstui.model.counters import DeviceTimes
from fstui.model.host import Inventory, OtherWriter
from fstui.model.storage import Medium, Target
from fstui.model.watch import FileWaits, JournalCommits, WatchCounts, WatchedDevice
from fstui.trace.conclusion import StorageVerdicts, conclude, conclude_from_proc, storage_verdicts
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop
from tests.factories.watched import DATABASE, MS

SSD = on_disk(filesystem(), disk(medium=Medium(class_="ssd")))
LYING = on_disk(filesystem(barrier="nobarrier"), disk())


def waiting(syncs: int, sync_ms: float, device_ms: float, **more: object) -> FileWaits:
    mean_ns = int(sync_ms * MS)
    measured: dict[str, object] = {
        "syncs": syncs,
        "waited_ns": mean_ns * syncs,
        "ended_ns": mean_ns * syncs,
        "latency_ns": DeviceTimes(p50=mean_ns, p99=None, max=mean_ns),
        "device_ns": int(device_ms * MS),
        "cpu_ns": 0,
    }
    return msgspec.structs.replace(DATABASE, **measured | more)


def watched(*rows: FileWaits, **more: object) -> WatchCounts:
    return msgspec.structs.replace(WatchCounts(elapsed_s=10.0, traced_s=10.0, waits=rows), **more)


@pytest.mark.parametrize(
    ("rows", "culprit", "words"),
    [
        ([waiting(200, 40.0, 38.0)], "disk", "sda1 itself takes 38.0 ms of the 40.0 ms that mariadbd (50) waits per"),
        ([waiting(200, 40.0, 2.0)], "filesystem", "waits 40.0 ms per sync on average: the device takes 2.0 ms."),
        ([waiting(80_000, 0.12, 0.09)], "program", "ib_logfile0 and spends 96\xa0% of its time"),
        (
            [waiting(300, 40.0, 2.0, cpu_ns=9_000 * MS)],
            "cpu",
            "the device takes 2.0 ms, and a wait for a CPU at most 30.0 ms.",
        ),
        (
            [waiting(8_000, 0.12, 0.09)],
            "nobody",
            "Syncs are quick: in 10.0 s, mariadbd (50) waited 9.6\xa0% of its time, for 800 syncs/s of",
        ),
        ([waiting(45_000, 0.12, 0.09)], "program", "spends 54\xa0% of its time in them"),
        (
            [waiting(10, 2.0, 1.0)],
            "nobody",
            "No program waits long for syncs: in 10.0 s, mariadbd (50) waited most, 0.2\xa0% of its time, for 1.00 "
            "syncs/s of 2.0 ms.",
        ),
        ([], "nobody", "No program waits for a sync: in 10.0 s, none requested one"),
        (
            [waiting(900, 40.0, 38.0, kernel=True, program="kworker")],
            "nobody",
            "No program waits for a sync: in 10.0 s, only kernel threads requested one",
        ),
        (
            [waiting(1, 1.0, 1.0, in_flight_ns=12_400 * MS)],
            "unknown",
            "still waits for a sync of /var/lib/mysql/ib_log",
        ),
        ([waiting(80_000, 0.5, 0.1)], "program", "while on average 4.0 of its threads wait for them"),
        ([waiting(200, 40.0, 0.0, device_ns=None)], "filesystem", "no request was seen at the device."),
    ],
)
def test_what_the_time_goes_into(rows: list[FileWaits], culprit: str, words: str) -> None:
    found = conclude(watched(*rows))
    assert found.culprit == culprit
    assert words in found.sentence


def test_devices_that_were_not_traced_have_no_time() -> None:
    found = conclude(watched(waiting(200, 40.0, 0.0, cpu_ns=9_000 * MS), traced_s=0.3))
    assert found.culprit == "unknown" and "so their times are not known" in found.sentence


def test_a_device_whose_requests_the_trace_misses_has_no_time() -> None:
    found = conclude(
        watched(waiting(200, 40.0, 0.0, device_ns=None), devices=(WatchedDevice(device="sda1", flushes=9),))
    )
    assert found.culprit == "unknown" and "sda1 counted 9 flushes, but the trace has none" in found.sentence


def test_nothing_is_slow_while_processes_wait_for_a_cpu() -> None:
    found = conclude(watched(waiting(200, 40.0, 2.0), cpu_pressure_s=7.4))
    assert found.culprit == "unknown" and "The CPU pressure was 74\xa0%." in found.sentence
    assert conclude(watched(waiting(200, 40.0, 2.0), cpu_pressure_s=2.0)).culprit == "filesystem"
    assert conclude(watched(waiting(200, 40.0, 38.0), cpu_pressure_s=7.4)).culprit == "disk"


@pytest.mark.parametrize(
    ("device_ms", "cpu_ns", "pressure_s", "culprit", "words"),
    [
        (0.2, 7_000 * MS, 9.9, "cpu", "The program may wait for a CPU: mariadbd (50) waits 1.7 ms per sync"),
        (0.2, 0, 9.9, "unknown", "The CPU pressure was 99\xa0%."),
        (0.2, 0, 1.0, "program", "The program syncs too often"),
        (1.2, 7_000 * MS, 9.9, "program", "The program syncs too often"),
    ],
)
def test_quick_syncs_may_wait_for_a_cpu(
    device_ms: float, cpu_ns: int, pressure_s: float, culprit: str, words: str
) -> None:
    found = conclude(watched(waiting(5_600, 1.7, device_ms, cpu_ns=cpu_ns), cpu_pressure_s=pressure_s))
    assert found.culprit == culprit and words in found.sentence


@pytest.mark.parametrize(
    ("limit", "culprit", "words"),
    [
        ("sda wiops 40", "unknown", "I/O limit: mariadbd (50) waits 40.0 ms per sync on average"),
        ("sda wiops 40", "unknown", "Its cgroup may write at most 40 writes/s to sda (wiops)."),
        ("sda wbps 1048576", "unknown", "Its cgroup may write at most 1.0 MiB/s to sda (wbps)."),
        ("sda wiops 100000", "filesystem", "The filesystem is slow"),
        ("sda wbps 1073741824", "filesystem", "The filesystem is slow"),
    ],
)
def test_an_io_limit_may_delay_syncs_above_the_device(limit: str, culprit: str, words: str) -> None:
    sda = WatchedDevice(device="sda", writes=400, written_bytes=9 << 20, flushes=200)
    found = conclude(watched(waiting(200, 40.0, 2.0, io_limits=(limit,)), devices=(sda,)))
    assert found.culprit == culprit and words in found.sentence
    slow_disk = conclude(watched(waiting(200, 40.0, 38.0, io_limits=(limit,)), devices=(sda,)))
    assert slow_disk.culprit == "disk"


def test_a_sync_in_flight_names_the_io_limit() -> None:
    stuck = waiting(0, 0.0, 0.0, waited_ns=1000 * MS, in_flight_ns=7600 * MS, io_limits=("sda write_iops 10",))
    found = conclude(watched(stuck, elapsed_s=1.0, devices=(WatchedDevice(device="sda", writes=10),)))
    assert "for 7.6 s so far. Its cgroup may write at most 10 writes/s to sda (write_iops)." in found.sentence


@pytest.mark.parametrize(("writes", "is_named"), [(100, True), (30, False), (5000, False)])
def test_a_limit_is_named_if_the_device_reaches_it(writes: int, is_named: bool) -> None:
    """A sync of many pages sends many writes. Far more writes than the limit are those of other programs."""
    row, sda = waiting(4, 2500.0, 2.0, io_limits=("sda wiops 10",)), WatchedDevice(device="sda", writes=writes)
    assert ("I/O limit" in conclude(watched(row, devices=(sda,))).sentence) == is_named


def test_a_frozen_filesystem_is_named() -> None:
    frozen: dict[str, object] = {"waited_ns": 1000 * MS, "frozen_ns": 1000 * MS, "is_frozen": True}
    rows = [waiting(0, 0.0, 0.0, in_flight_ns=7600 * MS - pid, pid=pid, program=f"db{pid}", **frozen) for pid in (1, 2)]
    found = conclude(watched(*rows, elapsed_s=1.0))
    assert found.culprit == "filesystem"
    assert found.sentence.startswith(
        "The filesystem is frozen: db1 (1) waits to write to /var/lib/mysql/ib_logfile0, for"
    )
    assert "7.6 s so far, and so does 1 other program." in found.sentence
    ended = conclude(watched(waiting(1, 7600.0, 0.0, frozen_ns=7600 * MS))).sentence
    assert ended.startswith("The filesystem was frozen: mariadbd (50) waited to write to")


@pytest.mark.parametrize(("is_frozen", "words"), [
    (True, "image of a loop device has been frozen for 900 ms. mariadbd (50) waits for a sync of"),
    (False, "image of a loop device was frozen for 900 ms. mariadbd (50) waited for a sync of"),
])  # fmt: skip
def test_a_freeze_below_a_loop_device_is_named(is_frozen: bool, words: str) -> None:
    worker = waiting(0, 0.0, 0.0, kernel=True, program="kworker", waited_ns=900 * MS, frozen_ns=900 * MS,
                     in_flight_ns=900 * MS, is_frozen=is_frozen, file=None, inode=None, device=None)  # fmt: skip
    elsewhere = waiting(99, 90.0, 1.0, program="postgres", file="/other")
    waits = waiting(3, 30.0, 1.0, waited_ns=1000 * MS, in_flight_ns=905 * MS)
    found = conclude(watched(elsewhere, waits, worker, elapsed_s=1.0))
    assert found.culprit == "filesystem" and words in found.sentence


def test_a_file_that_is_being_created_is_no_device() -> None:
    unnamed: dict[str, object] = {"file": None, "inode": None, "device": None, "files": 1}
    found = conclude(watched(waiting(0, 0.0, 0.0, in_flight_ns=2000 * MS, is_frozen=True, **unnamed), elapsed_s=1.0))
    assert "waits to write to an unknown file, for 2.0 s so far" in found.sentence


def test_a_frozen_write_is_named_rather_than_a_longer_sync() -> None:
    frozen = waiting(0, 0.0, 0.0, waited_ns=0, in_flight_ns=0, is_frozen=True, file="/srv/log", inode=9)
    first = conclude(watched(frozen, waiting(1, 400.0, 1.0), elapsed_s=1.0)).sentence
    assert first.startswith("The filesystem is frozen: mariadbd (50) waits to write to /srv/log. fsfreeze")
    later = msgspec.structs.replace(frozen, waited_ns=700 * MS, frozen_ns=700 * MS, in_flight_ns=700 * MS)
    found = conclude(watched(waiting(2, 400.0, 1.0), later, elapsed_s=1.0))
    assert "waits to write to /srv/log, for 700 ms so far. fsfreeze" in found.sentence


def test_a_program_without_a_completed_sync_has_no_mean() -> None:
    begun = waiting(0, 0.0, 0.0, latency_ns=None, waited_ns=900 * MS, in_flight_ns=900 * MS, program="dd")
    found = conclude(watched(waiting(20, 50.0, 49.0), begun, elapsed_s=1.0))
    assert found.culprit == "disk" and "also waits" not in found.sentence


def test_a_sync_after_a_freeze_is_not_frozen() -> None:
    found = conclude(watched(waiting(900, 2.0, 1.5, frozen_ns=400 * MS, in_flight_ns=2 * MS)))
    assert "frozen" not in found.sentence


def test_a_neighbour_that_writes_much_is_not_the_victim() -> None:
    """Each of its few syncs waits for its own data."""
    dd = waiting(30, 118.0, 110.0, program="dd", pid=None, processes=6, file="/srv/copy", inode=9)
    found = conclude(watched(dd, waiting(1000, 3.0, 2.9), elapsed_s=5.0))
    assert found.culprit == "disk" and "that mariadbd (50) waits per sync on average" in found.sentence
    assert found.sentence.endswith(" dd (6 processes) also waits, 118 ms per sync.")
    sda1 = WatchedDevice(device="sda1", written_bytes=5 << 30)
    busy = conclude(watched(dd, waiting(1000, 3.0, 2.9), elapsed_s=5.0, devices=(sda1,)))
    assert busy.sentence.endswith(" also waits, 118 ms per sync, and 1.0 GiB/s are written to sda1.")
    assert "dd (" not in conclude(watched(waiting(1000, 3.0, 2.9), elapsed_s=5.0)).sentence


def test_a_wait_shorter_than_a_second_is_seen_in_flight() -> None:
    row = waiting(0, 0.0, 0.0, latency_ns=None, waited_ns=700 * MS, in_flight_ns=700 * MS)
    assert "still waits for a sync" in conclude(watched(row, elapsed_s=1.0)).sentence


def test_the_mean_is_that_of_whole_syncs() -> None:
    """A sync that began earlier ended in this second."""
    row = waiting(1, 3500.0, 3400.0, waited_ns=500 * MS)
    assert "of the 3.5 s that" in conclude(watched(row, elapsed_s=1.0)).sentence


def test_the_lowest_io_limit_applies() -> None:
    limits = ("sda wiops 60", "sda wiops 40")
    assert "at most 40 writes/s" in conclude(watched(waiting(200, 40.0, 2.0, io_limits=limits))).sentence


@pytest.mark.parametrize(
    ("flush_ms", "pressure_s", "culprit", "words"),
    [
        (8, 0.0, "filesystem", "A layer above the disk is slow: mariadbd (50) waits 7.0 ms"),
        (8, 8.0, "unknown", "loop0 takes 6.4 ms, sda below it 60.0 µs. The CPU"),
        (1200, 0.0, "disk", "The program waits for the disk: sda itself takes 6.0 ms of the 7.0 ms"),
    ],
)
def test_a_loop_device_waits_for_the_disk_below(flush_ms: int, pressure_s: float, culprit: str, words: str) -> None:
    seen = watched(
        waiting(200, 7.0, 6.4, device="loop0"),
        devices=(
            WatchedDevice(device="loop0", writes=200, write_ms=1000, flushes=200, flush_ms=300),
            WatchedDevice(device="sda", writes=200, write_ms=4 + flush_ms, flushes=200, flush_ms=flush_ms),
        ),
        cpu_pressure_s=pressure_s,
    )
    found = conclude(seen, (on_disk(filesystem(name="/")), on_loop(filesystem(name="/"), below=disk())))
    assert found.culprit == culprit and words in found.sentence


def test_the_device_and_the_cpu_take_no_more_than_the_whole_wait() -> None:
    """The program waited for a CPU also while the device worked."""
    some = conclude(watched(waiting(300, 10.0, 4.0, cpu_ns=2_900 * MS)))
    assert some.sentence.endswith(": the device takes 4.0 ms, and a wait for a CPU at most 6.0 ms.")
    sda = WatchedDevice(device="sda", writes=200, write_ms=4, flushes=200, flush_ms=8)
    row = waiting(200, 7.0, 6.4, device="loop0", cpu_ns=1_300 * MS)
    found = conclude(
        watched(row, devices=(WatchedDevice(device="loop0", writes=200), sda)),
        (on_loop(filesystem(name="/"), below=disk()),),
    )
    assert found.culprit == "filesystem", "without the loop device's time, only 600 µs are left"


def test_the_time_of_a_flush_below_a_loop_is_counted_once() -> None:
    """The disk takes 5.04 ms of 7 ms, not 7.5 ms."""
    sda = WatchedDevice(device="sda", writes=400, write_ms=1008, flushes=200, flush_ms=1000)
    found = conclude(
        watched(waiting(200, 7.0, 6.4, device="loop0"), devices=(WatchedDevice(device="loop0", writes=200), sda)),
        (on_loop(filesystem(name="/"), below=disk()),),
    )
    assert found.culprit == "disk" and "sda itself takes 5.0 ms of the 7.0 ms" in found.sentence


def test_a_disk_below_a_loop_is_judged_by_its_own_time() -> None:
    part = block("sda1", "partition", "sda")
    above = on_loop(filesystem(name="/", below=("sda1",)), below=disk())
    both = msgspec.structs.replace(above, stack=(*above.stack[:-1], part, above.stack[-1]))
    sda = WatchedDevice(device="sda", writes=200, write_ms=4, flushes=200, flush_ms=8)
    found = conclude(watched(waiting(200, 40.0, 38.0, device="sda1"), devices=(sda,)), (both,))
    assert found.culprit == "disk" and "sda1 itself takes 38.0 ms" in found.sentence


def test_kernel_threads_that_wait_are_mentioned() -> None:
    rows = waiting(10, 2.0, 1.0), waiting(900, 40.0, 38.0, kernel=True, program="kworker")
    assert conclude(watched(*rows)).sentence.startswith(
        "Only kernel threads wait for long: in 10.0 s, of the programs, mariadbd (50)"
    )


def test_a_slow_filesystem_is_reported_with_its_journal() -> None:
    commits = JournalCommits(device="sda1", count=240, latency_ns=DeviceTimes(p50=30 * MS, p99=None, max=90 * MS))
    found = conclude(watched(waiting(200, 40.0, 2.0), commits=(commits,)))
    assert "the journal made 24.0 commits/s of 30.0 ms (p50), at most 90.0 ms" in found.sentence


def test_a_program_is_judged_over_all_its_files() -> None:
    """Each file alone would not show a wait."""
    rows = [waiting(100, 4.0, 3.5, file=f"/var/lib/mysql/{name}", inode=name) for name in range(5)]
    assert conclude(watched(*rows)).culprit == "disk"


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"pid": 51}, "mariadbd (2 processes) makes 8\xa0000 syncs/s of /var/lib/mysql/ib_logfile0 and"),
        ({"inode": 13, "file": "/b"}, "mariadbd (50) makes 8\xa0000 syncs/s of 2 files and"),
        ({"pid": 51, "inode": 13, "file": "/b"}, "mariadbd (2 processes) makes 8\xa0000 syncs/s of 2 files and"),
        ({"pid": None, "inode": 13, "file": "/b"}, "mariadbd (several processes) makes 8\xa0000 syncs/s of 2"),
    ],
)
def test_the_sum_names_all_processes_and_files(others: dict[str, object], words: str) -> None:
    rows = waiting(40_000, 0.12, 0.09), waiting(40_000, 0.12, 0.09, **others)
    assert words in conclude(watched(*rows)).sentence


def test_a_stall_names_the_cpu_wait_of_its_own_program() -> None:
    seen = watched(on_sda(300, cpu_ns=100 * MS), cpu_pressure_s=9.9)
    found = storage_verdicts(seen, Inventory(filesystems=(SSD,)), (SSD,)).speed
    assert "On average, the device needed 1.0 ms per sync. The CPU pressure was 99" in found.sentence


def test_a_wait_for_a_cpu_may_be_due_to_a_limit_of_the_cgroup() -> None:
    found = ended(on_sda(300, cpu_ns=200 * MS)).speed
    assert found.title == "mariadbd (50) had no CPU" and "or a CPU limit of the cgroup applied" in found.sentence


def test_short_cpu_waits_do_not_explain_a_long_sync_in_flight() -> None:
    found = ended(on_sda(27, cpu_ns=100 * MS, in_flight_ns=2800 * MS)).speed
    assert found.answer == "stalls" and "waited 2.8 s for one sync" in found.title


def test_both_answers_name_the_filesystem() -> None:
    for sync_ms in (3, 300):
        found = ended(on_sda(sync_ms))
        assert "durable? /srv: the storage settings" in found.durability and found.speed.title.startswith("on /srv, ")


def test_a_sync_without_a_time_adds_no_time() -> None:
    timeless = waiting(10_000, 0.0, 0.0, latency_ns=None, waited_ns=0, ended_ns=0, device_ns=None)
    found = conclude(watched(waiting(200, 40.0, 38.0), timeless))
    assert (found.culprit, "38.0 ms of the 40.0 ms" in found.sentence) == ("disk", True)


def test_without_a_trace_the_counters_are_reported() -> None:
    seen = watched(
        devices=(WatchedDevice(device="sda", flushes=500, flush_ms=1000), WatchedDevice(device="sdb", flushes=None)),
        writers=(OtherWriter(pid=50, name="mariadbd", written_bytes=10 << 20),),
    )
    found = conclude_from_proc(seen, "only root may trace the kernel")
    assert found.culprit == "unknown"
    assert found.sentence == (
        "fstui cannot see which program waits: only root may trace the kernel. sda did 50.0 flushes/s of 2.0 ms each. "
        "mariadbd (50) wrote most, 1.0 MiB/s."
    )
    assert "No device that counts flushes" in conclude_from_proc(watched(), "why").sentence


def on_sda(sync_ms: float, device_ms: float = 1.0, **more: object) -> FileWaits:
    return waiting(200, sync_ms, device_ms, device="sda", **more)


def ended(row: FileWaits, flush_ms: float = 1.0, where: Target = SSD) -> StorageVerdicts:
    times = DeviceTimes(p50=int(flush_ms * MS), p99=None, max=int(flush_ms * MS))
    device = WatchedDevice(device="sda", flushes=200, flush_ns=times)
    return storage_verdicts(watched(row, devices=(device,)), Inventory(filesystems=(where,)), (where,))


@pytest.mark.parametrize(
    ("row", "flush_ms", "where", "answer"),
    [
        (on_sda(3), 1, SSD, "normal"),
        (on_sda(249), 1, SSD, "normal"),
        (on_sda(40), 30, SSD, "slow"),
        (on_sda(251), 1, SSD, "stalls"),
        (on_sda(3, in_flight_ns=400 * MS), 1, SSD, "stalls"),
        (on_sda(300, cpu_ns=200 * MS), 1, SSD, "unknown"),  # waiting for a CPU says nothing of the storage
        (on_sda(3), 1, on_disk(), "unknown"),  # no reference for an unknown class
    ],
)
def test_is_it_slow(row: FileWaits, flush_ms: float, where: Target, answer: str) -> None:
    found = ended(row, flush_ms, where).speed
    assert found.answer == answer and found.title
    assert bool(found.yardstick) is (answer != "unknown")


@pytest.mark.parametrize(
    ("flushes", "reason"),
    [(20, "fstui does not know what kind of disk sda is"), (19, "fstui timed fewer than 20 flushes of the disk")],
)
def test_unknown_speed_names_the_reason(flushes: int, reason: str) -> None:
    times = DeviceTimes(p50=MS, p99=None, max=MS)
    seen = watched(on_sda(3), devices=(WatchedDevice(device="sda", flushes=flushes, flush_ns=times),))
    found = storage_verdicts(seen, Inventory(filesystems=(on_disk(),)), (on_disk(),)).speed
    assert (found.answer, found.title) == ("unknown", reason)


def test_conclusion_names_why_a_longer_row_does_not_count() -> None:
    found = conclude(watched(waiting(10, 30.0, 1.0, kernel=True, program="kworker"), waiting(10, 2.0, 1.0)))
    assert "No program waits long for syncs: in 10.0 s, of the programs, mariadbd (50) waited most" in found.sentence


def test_a_filesystem_above_the_waited_for_one_is_not_judged() -> None:
    below = on_disk(filesystem(name="/"), disk(medium=Medium(class_="ssd")))
    above = on_loop(filesystem(name="/"), below=disk())
    lying = msgspec.structs.replace(above, stack=(filesystem(barrier="nobarrier", below=("loop0",)), *above.stack[1:]))
    both = Inventory(filesystems=(below, lying))
    honest = storage_verdicts(watched(on_sda(3)), both, both.filesystems)
    assert "no defect" in honest.durability
    accused = storage_verdicts(watched(waiting(200, 3, 1.0, device="loop0")), both, both.filesystems)
    assert "/srv: not-durable" in accused.durability


def test_the_configuration_answers_is_it_honest() -> None:
    assert "fstui check" in ended(on_sda(3)).durability
    assert "/srv: not-durable" in ended(on_sda(3), where=LYING).durability
    assert "not-durable" not in ended(waiting(1, 1.0, 1.0, device="sdb")).durability


def test_without_a_trace_the_written_filesystems_are_judged() -> None:
    sound = on_disk(filesystem(name="/", below=("sdb",)), disk("sdb"))
    both = Inventory(filesystems=(sound, LYING))
    for name, words in (("sda", "/srv: not-durable"), ("sdb", "durable? /: the storage settings show no defect")):
        seen = watched(devices=(WatchedDevice(device=name, writes=20), WatchedDevice(device="sdc", writes=9)))
        assert words in storage_verdicts(seen, both, both.filesystems).durability


def test_storage_without_writes_is_not_called_free_of_defects() -> None:
    both = Inventory(filesystems=(on_disk(filesystem(name="/", below=("sdb",)), disk("sdb")), LYING))
    idle = watched(devices=(WatchedDevice(device="sda", writes=0, flushes=0),))
    assert "durable? Not judged" in storage_verdicts(idle, both, both.filesystems).durability
