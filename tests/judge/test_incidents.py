"""What is found in a recording: the program, the device and the cause, and nothing where nothing happened."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fstui.judge import incidents
from fstui.model.recording import Discarder, Incident, Mover, Record, RecordedWait, Second, Window
from tests.factories.recorded import BEGIN, ETCD, LENGTH_S, RSYNC, at, between, calm, disk, second, stalled, window


def found(records: list[Record]) -> list[Incident]:
    return incidents.incidents(incidents.records_of(records), BEGIN, BEGIN + LENGTH_S, 9)


def only(records: list[Record]) -> Incident:
    (one,) = found(records)
    return one


SLOW = between(596, 608, disk(900.0, writes=20, written_kib=310_000))
BUSY = between(1, LENGTH_S, disk(), pressure_ms=(990, 20, 10, 0, 0))


def test_nothing_is_found_where_nothing_happened() -> None:
    assert found(calm()) == []


def test_a_writer_that_made_the_device_slow_is_named() -> None:
    one = only(calm(SLOW, at((600, 610), stalled(), processes=(RSYNC,))))
    assert (one.cause, one.program, one.pid, one.device) == ("writer", "etcd", 812, "vda")
    assert (one.culprit, one.culprit_pid, one.culprit_cgroup) == ("rsync", 4711, RSYNC.cgroup)
    assert one.sentence == (
        "etcd (pid 812) waited 8.0 s in fdatasync of /var/lib/etcd/wal/0.wal; vda's own latency rose from 2.0 ms to "
        "900 ms while rsync (pid 4711, cgroup backup.service) wrote 295.6 MiB/s; not CPU, not memory."
    )
    assert (one.start, one.end) == (BEGIN + 594, BEGIN + 608)


def test_its_own_writes_are_not_blamed_on_others() -> None:
    own = replace(RSYNC, program="etcd", pid=812)
    one = only(calm(SLOW, at((600,), stalled(), processes=(own,))))
    assert (one.cause, one.culprit) == ("itself", "")


def test_a_writer_to_another_device_is_not_blamed() -> None:
    other = between(596, 608, disk(900.0, writes=20, written_kib=80), disk(name="vdb", written_kib=300_000))
    elsewhere = replace(RSYNC, devices=("vdb",))
    for processes in ((RSYNC,), (elsewhere,)):
        one = only(calm(other, at((600,), stalled(), processes=processes)))
        assert (one.cause, one.culprit) == ("device", "")


@pytest.mark.parametrize("devices", [("vdb",), ()])
def test_a_writer_without_a_file_there_is_not_blamed(devices: tuple[str, ...]) -> None:
    elsewhere = replace(RSYNC, devices=devices)
    assert only(calm(SLOW, at((600,), stalled(), processes=(elsewhere,)))).cause == "device"


def test_a_few_slow_syncs_of_a_newcomer_are_the_cause() -> None:
    newcomer = RecordedWait(program="syncer", pid=9, device="vda", below=("vda",), syncs=4, waited_ms=20_000)
    one = only(calm(SLOW, at((600,), stalled(newcomer), stalled())))
    assert (one.program, one.cause, one.culprit) == ("etcd", "syncs", "syncer")


def test_a_single_short_stall_is_not_worth_a_report() -> None:
    assert found(calm(windows=at((600,), stalled(ms=300)))) == []


def test_a_reader_is_named() -> None:
    reading = between(596, 608, disk(900.0, writes=20, reads=900, read_kib=300_000))
    tar = Mover(program="tar", pid=99, read=3_000_000_000, written=0)
    assert only(calm(reading, at((600,), stalled(), processes=(tar,)))).culprit == "tar"


def test_a_neighbour_that_syncs_is_named() -> None:
    neighbour = RecordedWait(program="postgres", pid=9, device="vda", below=("vda",), syncs=5000, waited_ms=9000)
    one = only(calm(SLOW, at((600,), stalled(), neighbour)))
    assert (one.cause, one.culprit, one.culprit_pid) == ("syncs", "postgres", 9)


def test_discards_are_named_with_their_program() -> None:
    discarding = between(596, 608, disk(900.0, writes=20, discards=5, discarded_kib=32_000, discard_ms=900))
    by = (Discarder(program="fstrim", device="vda", bytes=300 << 20),)
    one = only(calm(discarding, at((600,), stalled(), discards=by)))
    assert (one.cause, one.culprit) == ("discards", "fstrim")


def test_a_device_slow_by_itself_accuses_no_program() -> None:
    one = only(calm(SLOW, at((600,), stalled())))
    assert (one.cause, one.culprit, one.device) == ("device", "", "vda")


def test_a_device_that_completes_nothing_is_slow() -> None:
    stuck = between(596, 599, disk(writes=0, flushes=0, in_flight=3))
    assert only(calm(stuck, at((600,), stalled()))).cause == "device"


def test_an_io_limit_is_named_if_the_device_is_fast() -> None:
    limited = stalled(limits=("vda wiops 10",))
    one = only(calm(windows=at((600,), limited)))
    assert (one.cause, one.device) == ("io-limit", "vda")
    assert "cgroup etcd.service may write at most 10 writes/s to vda (wiops)" in one.sentence


@pytest.mark.parametrize("limit", ["vdb wiops 10", "vda riops 10"])
def test_a_limit_of_another_device_or_of_reads_is_no_cause(limit: str) -> None:
    assert only(calm(windows=at((600,), stalled(limits=(limit,))))).cause == "unknown"


def test_a_lack_of_cpu_is_named_if_the_program_waited_for_it() -> None:
    one = only(calm(BUSY, windows=at((600,), stalled(cpu_ms=3500))))
    assert one.cause == "cpu" and "not CPU" not in one.sentence


def test_a_busy_host_is_no_cause_if_the_program_had_its_cpu() -> None:
    one = only(calm(BUSY, at((600,), stalled())))
    assert one.cause == "unknown" and "not CPU" in one.sentence


def test_a_lack_of_cpu_at_other_times_is_no_cause() -> None:
    assert only(calm(windows=at((600,), stalled(cpu_ms=4000)))).cause == "unknown"


def test_a_lack_of_memory_is_named() -> None:
    short = between(590, 600, disk(), pressure_ms=(50, 20, 10, 600, 400))
    one = only(calm(short, at((600,), stalled())))
    assert one.cause == "memory" and "not memory" not in one.sentence


def test_a_hanging_fuse_filesystem_is_named() -> None:
    hanging = stalled(device="", below=(), fstype="fuse.sshfs", mount_point="/srv/remote")
    one = only(calm(windows=at((600,), hanging)))
    assert (one.cause, one.device) == ("filesystem", "")
    assert "the fuse.sshfs filesystem at /srv/remote did not answer" in one.sentence


def test_a_sync_that_has_not_returned_counts() -> None:
    one = only(calm(windows=at((890,), replace(ETCD, in_flight_ms=7000))))
    assert (one.waited_s, one.start) == (7.0, BEGIN + 883)


def test_a_sync_seen_in_two_windows_counts_once() -> None:
    def windows(at_s: int) -> Window | None:
        first = window(600, replace(ETCD, in_flight_ms=3000))
        return {600: first, 610: window(610, stalled(ms=6000, slow=((7.0, 6000, 0),)))}.get(at_s)

    assert only(calm(windows=windows)).waited_s == 6.0


def test_syncs_that_are_all_ten_times_slower_are_found() -> None:
    slower = replace(ETCD, syncs=100, waited_ms=5000, longest_ms=90, p50_us=50_000, limits=("vda wiops 20",))
    assert only(calm(windows=at((600, 610), slower))).cause == "io-limit"


def test_a_disk_that_is_always_slow_has_no_incident() -> None:
    rotating = replace(ETCD, p50_us=40_000, longest_ms=300, waited_ms=8000, slow=((3.0, 300, 0),))
    assert found(calm(windows=lambda at_s: window(at_s, rotating))) == []


def test_kernel_threads_are_not_reported() -> None:
    assert found(calm(windows=at((600,), stalled(kernel=True)))) == []


def test_two_places_at_once_are_two_incidents() -> None:
    other = stalled(replace(ETCD, program="mariadbd", pid=5, device="vdb", below=("vdb",)), ms=9000)
    assert [one.program for one in found(calm(windows=at((600,), stalled(), other)))] == ["mariadbd", "etcd"]


def test_without_a_trace_a_slow_device_is_reported() -> None:
    one = only(calm(SLOW, untraced="only root may trace the kernel"))
    assert (one.cause, one.program, one.device) == ("device", "", "vda")


def test_a_short_hiccup_of_an_unused_device_is_no_incident() -> None:
    assert found(calm(between(600, 600, disk(90.0)))) == []


@pytest.mark.parametrize("make", [lambda: disk(900.0), lambda: disk(writes=0, flushes=0, in_flight=1)])
def test_a_slow_device_is_one_incident_with_its_waits(make: Callable[[], object]) -> None:
    one = only(calm(SLOW, at((600,), stalled(), processes=(RSYNC,))))
    assert one.program == "etcd"


def test_the_timeline_has_a_bounded_number_of_rows() -> None:
    rows = incidents.buckets(incidents.records_of(calm()), BEGIN, BEGIN + LENGTH_S)
    assert 0 < len(rows) <= incidents.MAX_BUCKETS
    assert (rows[0].start, rows[-1].end) == (BEGIN, BEGIN + LENGTH_S)


def test_a_bucket_shows_the_slowest_device_and_the_longest_wait() -> None:
    records: list[Record] = [second(5, disk(), disk(30.0, name="vdb")), window(9, ETCD, stalled(ms=700))]
    (row,) = incidents.buckets(incidents.records_of(records), BEGIN, BEGIN + 10)
    assert (row.device, row.latency_ms, row.longest_ms, row.program) == ("vdb", 30.0, 700, "etcd")


def test_without_records_a_timeline_is_empty() -> None:
    assert incidents.buckets(incidents.records_of([]), BEGIN, BEGIN + 10) == []


def test_pressure_is_unknown_without_psi() -> None:
    blind: list[Second] = [second(1, pressure_ms=(None,) * 5)]
    assert incidents.pressure(blind, 0) is None


def test_a_file_on_an_unknown_device_has_no_known_cause() -> None:
    one = only(calm(windows=at((600,), stalled(device="", below=(), call="sync", file=""))))
    assert (one.cause, one.device) == ("unknown", "")
    assert "in sync of all filesystems; the cause is not known" in one.sentence


def test_a_lack_of_cpu_that_makes_the_device_seem_slow_is_named() -> None:
    slow = between(596, 608, disk(900.0, writes=20), pressure_ms=(990, 20, 10, 0, 0))
    assert only(calm(slow, at((600,), stalled(cpu_ms=3900)))).cause == "cpu"
    assert only(calm(slow, at((600,), stalled(cpu_ms=3000)))).cause == "device"


def test_a_device_is_slow_if_it_was_during_the_waits() -> None:
    stalls = stalled(slow=((9.0, 1000, 0), (0.5, 1000, 0)), ms=1000)
    slow = {590, 591, 599, 600}
    one = only(calm(lambda at_s: second(at_s, disk(900.0, writes=20)) if at_s in slow else None, at((600,), stalls)))
    assert one.cause == "device"


def test_a_slow_device_that_nobody_waited_for_is_explained() -> None:
    one = only(calm(SLOW))
    assert (one.cause, one.program, one.culprit) == ("device", "", "")
    assert "no program was seen to wait for a sync" in one.sentence


def test_a_program_that_always_syncs_as_often_is_not_the_cause() -> None:
    steady = RecordedWait(program="postgres", pid=9, device="vda", below=("vda",), syncs=5000, waited_ms=900)
    records = calm(SLOW, lambda at_s: window(at_s, stalled() if at_s == 600 else ETCD, steady))
    assert (only(records).cause, only(records).culprit) == ("device", "")


def test_a_lack_of_cpu_that_explains_a_part_is_not_excluded() -> None:
    assert "CPU" not in only(calm(windows=at((600,), stalled(cpu_ms=1500)))).sentence
