"""What is found in a recording: the program, the device and the cause, and nothing where nothing happened."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fstui.judge import incidents
from fstui.judge.moments import sum_of_windows
from fstui.model.recording import Discarder, Incident, ProcessIo, Record, RecordedWait, Second, Window
from tests.factories.recorded import BEGIN, ETCD, LENGTH_S, RSYNC, at, between, calm, disk, second, stalled, window


def found(records: list[Record]) -> list[Incident]:
    return incidents.incidents(incidents.collect_records(records), BEGIN, BEGIN + LENGTH_S, 9)


def only(records: list[Record]) -> Incident:
    (one,) = found(records)
    return one


SLOW = between(596, 608, disk(900.0, writes=20, written_kib=310_000))
BUSY = between(1, LENGTH_S, disk(), pressure_ms=(990, 20, 10, 0, 0))


def test_a_writer_that_made_the_device_slow_is_named() -> None:
    one = only(calm(SLOW, at((600, 610), stalled(), processes=(RSYNC,))))
    assert (one.cause, one.program, one.pid, one.device) == ("writer", "etcd", 812, "vda")
    assert (one.culprit, one.culprit_pid, one.culprit_cgroup) == ("rsync", 4711, RSYNC.cgroup)
    assert one.sentence == (
        "etcd (pid 812) waited 8.0 s (at most 4.0 s at a time) in fdatasync of /var/lib/etcd/wal/0.wal; vda's own "
        "latency rose from 2.0 ms to 900 ms while rsync (pid 4711, cgroup backup.service) "
        "wrote 295.6 MiB/s. Not the cause: a lack of CPU time or memory."
    )
    assert (one.start, one.end) == (BEGIN + 594, BEGIN + 608)


Seconds = Callable[[int], Second | None]
Windows = Callable[[int], Window | None]


def quiet(at_s: int) -> None:
    """Leave everything calm."""


def waiting(*waits: RecordedWait, **changes: object) -> Windows:
    return at((600,), *waits, **changes)


def syncing(program: str, **changes: int) -> RecordedWait:
    return replace(RecordedWait(program=program, pid=9, device="vda", below=("vda",), syncs=5000), **changes)


BUSY_AND_SLOW = between(596, 608, disk(900.0, writes=20), pressure_ms=(990, 20, 10, 0, 0))
SHORT_OF_MEMORY = between(590, 600, disk(), pressure_ms=(50, 20, 10, 600, 400))
READING = between(596, 608, disk(900.0, writes=20, reads=900, read_kib=300_000))
DISCARDING = between(596, 608, disk(900.0, writes=20, discards=5, discarded_kib=32_000, discard_ms=900))
ELSEWHERE = between(596, 608, disk(900.0, writes=20, written_kib=80), disk(name="vdb", written_kib=300_000))
STUCK = between(596, 599, disk(writes=0, flushes=0, in_flight=3))
TAR = ProcessIo(program="tar", pid=99, read=3_000_000_000, written=0)
FSTRIM = (Discarder(program="fstrim", device="vda", bytes=300 << 20),)
ON_VDB, NO_FILE = replace(RSYNC, devices=("vdb",)), replace(RSYNC, devices=())
OWN = replace(RSYNC, program="etcd", pid=812)
WHOLE_FOLIOS = replace(RSYNC, written=25 * RSYNC.written)
ALL_SLOWER = replace(ETCD, syncs=100, waited_ms=5000, longest_ms=90, p50_us=50_000, limits=("vda wiops 20",))


def slow_at_times(at_s: int) -> Second | None:
    return second(at_s, disk(900.0, writes=20)) if at_s in {590, 591, 599, 600} else None


def with_postgres(at_s: int) -> Window:
    return window(at_s, stalled() if at_s == 600 else ETCD, syncing("postgres", waited_ms=900))


@pytest.mark.parametrize(
    ("seconds", "windows", "cause", "culprit"),
    [
        pytest.param(SLOW, waiting(stalled(), processes=(OWN,)), "itself", "", id="its own writes"),
        pytest.param(ELSEWHERE, waiting(stalled(), processes=(RSYNC,)), "device", "", id="few writes there"),
        pytest.param(ELSEWHERE, waiting(stalled(), processes=(ON_VDB,)), "device", "", id="a writer to another device"),
        pytest.param(SLOW, waiting(stalled(), processes=(ON_VDB,)), "device", "", id="a writer with files elsewhere"),
        pytest.param(SLOW, waiting(stalled(), processes=(NO_FILE,)), "device", "", id="a writer without a file"),
        pytest.param(SLOW, waiting(stalled(), processes=(WHOLE_FOLIOS,)), "device", "", id="counted in whole folios"),
        pytest.param(SLOW, waiting(stalled(syncing("syncer", syncs=4)), stalled()), "syncs", "syncer", id="a newcomer"),
        pytest.param(
            SLOW, waiting(stalled(), syncing("postgres", waited_ms=9000)), "syncs", "postgres", id="a neighbour"
        ),
        pytest.param(SLOW, with_postgres, "device", "", id="a neighbour that always syncs as often"),
        pytest.param(READING, waiting(stalled(), processes=(TAR,)), "reader", "tar", id="a reader"),
        pytest.param(DISCARDING, waiting(stalled(), discards=FSTRIM), "discards", "fstrim", id="discards"),
        pytest.param(SLOW, waiting(stalled()), "device", "", id="slow by itself"),
        pytest.param(STUCK, waiting(stalled()), "device", "", id="nothing completed"),
        pytest.param(
            slow_at_times,
            waiting(stalled(slow=((9.0, 1000, 0), (0.5, 1000, 0)), ms=1000)),
            "device",
            "",
            id="slow during the waits",
        ),
        pytest.param(quiet, at((600, 610), ALL_SLOWER), "io-limit", "", id="all syncs ten times slower"),
        pytest.param(quiet, waiting(stalled(limits=("vdb wiops 10",))), "unknown", "", id="a limit of another device"),
        pytest.param(quiet, waiting(stalled(limits=("vda riops 10",))), "unknown", "", id="a limit of reads"),
        pytest.param(quiet, waiting(stalled(cpu_ms=4000)), "unknown", "", id="CPU at other times"),
        pytest.param(BUSY_AND_SLOW, waiting(stalled(cpu_ms=3900)), "cpu", "", id="CPU makes the device seem slow"),
        pytest.param(BUSY_AND_SLOW, waiting(stalled(cpu_ms=3000)), "device", "", id="CPU explains a part"),
    ],
)
def test_the_cause_is_found(seconds: Seconds, windows: Windows, cause: str, culprit: str) -> None:
    one = only(calm(seconds, windows))
    assert (one.cause, one.culprit, one.program, one.device) == (cause, culprit, "etcd", "vda")


def test_the_sum_counts_a_freeze_of_two_windows_once() -> None:
    """Each window reports a write in flight from its start."""
    total = sum_of_windows([window(at_s, replace(ETCD, frozen_ms=frozen_ms)) for at_s, frozen_ms in ((0, 5), (10, 15))])
    assert total and [wait.frozen_ms for wait in total.waits] == [15]


def test_processes_that_wait_for_one_file_share_a_row() -> None:
    windows = [window(at_s, replace(ETCD, pid=pid)) for at_s, pid in ((0, 7), (10, 7), (20, 8), (30, 9))]
    for number, pid, processes in ((2, 7, 1), (3, 0, 0), (4, 0, 0)):
        total = sum_of_windows(windows[:number])
        assert total and [(wait.pid, wait.processes, wait.syncs) for wait in total.waits] == [
            (pid, processes, number * ETCD.syncs)
        ]
    several = replace(ETCD, pid=0, processes=3)
    total = sum_of_windows([window(at_s, several) for at_s in (0, 10)])
    assert total and total.waits[0].program_label == "etcd (3 processes)"
    one = only(calm(quiet, lambda at_s: window(at_s, stalled(pid=at_s)) if at_s in (600, 610) else None))
    assert one.pid is None and one.sentence.startswith("etcd (several processes) waited 8.0 s (at most 4.0 s at a ")
    assert one.longest_s == 4.0


HANGING = stalled(device="", below=(), fstype="fuse.sshfs", mount_point="/srv/remote")
NOWHERE = stalled(device="", below=(), call="sync", file="")


@pytest.mark.parametrize(
    ("seconds", "windows", "cause", "words"),
    [
        (
            quiet,
            waiting(stalled(limits=("vda wiops 10",))),
            "io-limit",
            "an I/O limit allows cgroup etcd.service at most 10 writes/s to vda (wiops)",
        ),
        (
            quiet,
            waiting(stalled(limits=("vda wiops 10",), cgroup="")),
            "io-limit",
            "an I/O limit allows the program at most 10 writes/s to vda (wiops)",
        ),
        (quiet, waiting(HANGING), "filesystem", "the fuse.sshfs filesystem at /srv/remote did not respond"),
        (quiet, waiting(NOWHERE), "unknown", "in sync of all filesystems; the cause is not known"),
        (SLOW, quiet, "device", "no program was seen to wait for a sync"),
        (
            BUSY,
            waiting(stalled()),
            "unknown",
            "memory. Processes waited for a CPU for 99\xa0% of that time, but mainly other programs.",
        ),
    ],
)
def test_the_sentence_names_the_cause(seconds: Seconds, windows: Windows, cause: str, words: str) -> None:
    one = only(calm(seconds, windows))
    assert one.cause == cause and words in one.sentence
    assert (one.device == "") is (cause == "filesystem" or "all filesystems" in words)


WORKER = stalled(RecordedWait(program="kworker", kernel=True, file="/srv/good.img (vda)", device="vdb"))
SLOW_FLUSH = between(597, 597, disk(flushes=1, flush_ms=2600))
SHORT_FLUSH = between(597, 597, disk(flushes=1, flush_ms=60))
NO_FLUSHES = between(590, 600, disk(flushes=0, flush_ms=0))
DEVICE_EXCLUDED = "So the delay was probably in the filesystem or the program"
WAITED_BELOW = "; vda waited up to 2.6 s for its backing file /srv/good.img. So the delay may have been "


@pytest.mark.parametrize(
    ("seconds", "worker", "words"),
    [
        (quiet, ETCD, f"; vda completed writes as usual (median 2.0 ms). {DEVICE_EXCLUDED}"),
        (SHORT_FLUSH, ETCD, DEVICE_EXCLUDED),
        (
            SLOW_FLUSH,
            ETCD,
            ", but a flush took at least 2.6 s (at other times 2.0 ms). So the delay may have been in vda",
        ),
        (NO_FLUSHES, ETCD, ", but none of its flushes were counted. So it is not known whether the delay was in vda"),
        (quiet, stalled(WORKER, ms=2600), WAITED_BELOW),
        (quiet, stalled(WORKER, ms=1900), DEVICE_EXCLUDED),
        (quiet, stalled(WORKER, ms=2600, slow=((9.0, 2600, 0),)), DEVICE_EXCLUDED),
        (quiet, stalled(WORKER, ms=2600, file="/srv/other.img (loop0)"), DEVICE_EXCLUDED),
    ],
    ids=[
        "usual",
        "short flush",
        "slow flush",
        "no flush",
        "backing file",
        "short wait below",
        "earlier wait",
        "another loop device",
    ],
)
def test_only_usual_writes_and_flushes_exclude_the_device(seconds: Seconds, worker: RecordedWait, words: str) -> None:
    one = only(calm(seconds, waiting(stalled(), worker)))
    assert one.cause == "unknown" and words in one.sentence
    assert (DEVICE_EXCLUDED in one.sentence) == (DEVICE_EXCLUDED in words)


@pytest.mark.parametrize(
    ("seconds", "windows", "cause", "words"),
    [
        (BUSY, waiting(stalled(cpu_ms=3500)), "cpu", "lack of CPU"),
        (quiet, waiting(stalled(cpu_ms=1500)), "unknown", "lack of CPU"),
        (SHORT_OF_MEMORY, waiting(stalled()), "memory", "memory."),
    ],
)
def test_what_may_be_the_cause_is_not_excluded(seconds: Seconds, windows: Windows, cause: str, words: str) -> None:
    one = only(calm(seconds, windows))
    assert one.cause == cause and words not in one.sentence


def test_a_lack_of_cpus_may_explain_a_part_of_the_wait() -> None:
    one = only(calm(BUSY, waiting(stalled(cpu_ms=1500))))
    assert one.cause == "unknown" and DEVICE_EXCLUDED not in one.sentence
    assert "but processes waited for a CPU for 99\xa0% of that time. So that may be the cause" in one.sentence
    assert DEVICE_EXCLUDED in only(calm(BUSY, waiting(stalled(cpu_ms=400)))).sentence
    several = only(calm(BUSY, waiting(stalled(pid=0, processes=3))))
    assert "So that may be the cause. Not the cause: a lack of memory" in several.sentence, (
        "their wait for a CPU is not known"
    )


def test_the_sentence_names_the_largest_share_of_a_cpu() -> None:
    for cpu_ms, share in {3900: "98", 2400: "60"}.items():
        sentence = only(calm(BUSY, waiting(stalled(cpu_ms=cpu_ms)))).sentence
        assert f"; it waited for a CPU for up to {share}\xa0% of that time (" in sentence


def test_cpu_waits_of_a_process_with_the_same_name_do_not_count() -> None:
    other = stalled(pid=813, file="/srv/other", ms=3900, cpu_ms=3900)
    assert only(calm(BUSY, waiting(stalled(cpu_ms=400), other))).cause == "unknown"


LIMITED = stalled(limits=("vda wiops 10",))


@pytest.mark.parametrize(("limit", "is_explained"), [("100000000", True), ("900000000", False)])
def test_writes_above_a_limit_are_explained(limit: str, is_explained: bool) -> None:
    """The programs of other cgroups may have no limit."""
    writing = between(596, 608, disk(written_kib=310_000))
    one = only(calm(writing, waiting(stalled(limits=(f"vda write_bps {limit}",)))))
    words = "(median 2.0 ms). All programs wrote 242.2 MiB/s, so the limit probably does not apply to all."
    assert one.cause == "io-limit" and (words in one.sentence) == is_explained


@pytest.mark.parametrize(
    ("seconds", "worker", "cause"),
    [(SHORT_FLUSH, ETCD, "io-limit"), (SLOW_FLUSH, ETCD, "unknown"), (quiet, stalled(WORKER, ms=2600), "unknown")],
    ids=["short flush", "slow flush", "backing file"],
)
def test_a_limit_is_the_cause_only_if_the_device_is_not(seconds: Seconds, worker: RecordedWait, cause: str) -> None:
    assert only(calm(seconds, waiting(LIMITED, worker))).cause == cause


def test_a_program_that_syncs_rarely_may_write_much() -> None:
    """A program that ended soon is not in the list of processes that wrote most."""
    sentence = only(calm(SLOW, waiting(stalled(), syncing("dd", syncs=7, waited_ms=9000)))).sentence
    assert "while dd (pid 9) synced 0.70 times/s, and 242.2 MiB/s were written" in sentence


def test_a_frozen_filesystem_is_the_cause() -> None:
    frozen = stalled(replace(ETCD, call="", frozen_ms=8000), ms=8000)
    one = only(calm(SLOW, waiting(frozen)))
    assert one.cause == "filesystem"
    assert "waited 8.0 s to write to /var/lib/etcd/wal/0.wal; its filesystem was frozen" in one.sentence


def test_a_stuck_loop_device_is_not_explained_by_its_load() -> None:
    loop = [between(first, last, disk(900.0, name="loop3", **counts)) for first, last, counts in (
        (594, 595, {"written_kib": 900_000}), (596, 599, {"writes": 0, "flushes": 0, "in_flight": 3}),
    )]  # fmt: skip
    waits = waiting(stalled(device="loop3", below=("loop3",)), processes=(replace(RSYNC, devices=("loop3",)),))
    one = only(calm(lambda at_s: loop[0](at_s) or loop[1](at_s), waits))
    assert (one.cause, one.culprit) == ("device", "")
    assert "loop3 completed nothing for 4 s. The filesystem of its backing file was frozen" in one.sentence


ALWAYS_SLOW = replace(ETCD, p50_us=40_000, longest_ms=300, waited_ms=8000, slow=((3.0, 300, 0),))


@pytest.mark.parametrize(
    ("seconds", "windows"),
    [
        (quiet, quiet),
        (quiet, waiting(stalled(ms=300))),
        (quiet, lambda at_s: window(at_s, ALWAYS_SLOW)),
        (quiet, waiting(stalled(kernel=True))),
        (between(600, 600, disk(90.0)), quiet),
    ],
    ids=["nothing", "one short stall", "always slow", "a kernel thread", "a hiccup of an unused device"],
)
def test_nothing_unusual_is_no_incident(seconds: Seconds, windows: Windows) -> None:
    assert found(calm(seconds, windows)) == []


def test_a_sync_that_has_not_returned_counts() -> None:
    one = only(calm(windows=at((890,), replace(ETCD, in_flight_ms=7000))))
    assert (one.waited_s, one.start) == (7.0, BEGIN + 883)


def test_a_sync_seen_in_two_windows_counts_once() -> None:
    def windows(at_s: int) -> Window | None:
        first = window(600, replace(ETCD, in_flight_ms=3000))
        return {600: first, 610: window(610, stalled(ms=6000, slow=((7.0, 6000, 0),)))}.get(at_s)

    assert only(calm(windows=windows)).waited_s == 6.0


def test_a_sync_that_started_later_is_another_one() -> None:
    def windows(at_s: int) -> Window | None:
        first = window(600, replace(ETCD, in_flight_ms=3000))
        return {600: first, 610: window(610, replace(ETCD, in_flight_ms=5000))}.get(at_s)

    one = only(calm(windows=windows))
    assert (one.waited_s, one.start) == (8.0, BEGIN + 597)


def test_the_sentence_has_the_sum_of_all_waits_if_it_differs() -> None:
    other = stalled(RecordedWait(program="app", pid=9, device="vda", below=("vda",), file="/srv/app"), ms=1000)
    one = only(calm(windows=waiting(stalled(), other)))
    assert (one.waited_s, one.all_waited_s) == (4.0, 5.0)
    assert "0.wal (1 other program too, all waits: 5.0 s);" in one.sentence
    assert "all waits" not in only(calm(windows=waiting(stalled()))).sentence


def test_incidents_are_sorted_by_the_wait_in_their_sentence() -> None:
    """All waits of the first are longer, but no single program waited as long as in the second."""
    others = (replace(ETCD, program=f"app{number}", pid=number, file=f"/srv/{number}") for number in range(3))
    many = [stalled(ETCD, ms=5000), *(stalled(other, ms=5000) for other in others)]
    one = stalled(replace(ETCD, device="vdb", below=("vdb",)), ms=9000)
    both = found(calm(windows=at((600,), *many, one)))
    assert [(each.waited_s, each.all_waited_s) for each in both] == [(9.0, 9.0), (5.0, 20.0)]


def test_two_places_at_once_are_two_incidents() -> None:
    other = stalled(replace(ETCD, program="mariadbd", pid=5, device="vdb", below=("vdb",)), ms=9000)
    assert [one.program for one in found(calm(windows=at((600,), stalled(), other)))] == ["mariadbd", "etcd"]


def test_without_a_trace_a_slow_device_is_reported() -> None:
    one = only(calm(SLOW, untraced="only root may trace the kernel"))
    assert (one.cause, one.program, one.device) == ("device", "", "vda")


def test_the_timeline_has_a_bounded_number_of_rows() -> None:
    rows = incidents.buckets(incidents.collect_records(calm()), BEGIN, BEGIN + LENGTH_S)
    assert 0 < len(rows) <= incidents.MAX_BUCKETS
    assert (rows[0].start, rows[-1].end) == (BEGIN, BEGIN + LENGTH_S)


@pytest.mark.parametrize(
    ("wait", "device", "latency_ms"),
    [
        pytest.param(stalled(ms=700), "vda", 2.0, id="the device of the wait"),
        pytest.param(stalled(ms=90), "vdb", 900.0, id="a device slower than a short wait"),
        pytest.param(stalled(ms=700, below=("vdc",)), "vdc", None, id="a device without requests"),
        pytest.param(stalled(ms=700, below=()), "vdb", 900.0, id="no device below the file"),
    ],
)
def test_a_row_has_the_longest_wait_and_its_device(wait: RecordedWait, device: str, latency_ms: float | None) -> None:
    records: list[Record] = [second(5, disk(), disk(900.0, name="vdb")), window(9, ETCD, wait)]
    (row,) = incidents.buckets(incidents.collect_records(records), BEGIN, BEGIN + 10)
    assert (row.device, row.latency_ms) == (device, latency_ms)
    assert (row.longest_ms, row.program) == (wait.longest_ms, "etcd")


def test_a_window_partly_outside_is_in_the_nearest_row() -> None:
    records: list[Record] = [second(1, disk()), window(9, ETCD)]
    rows = incidents.buckets(incidents.collect_records(records), BEGIN, BEGIN + 2)
    assert [row.longest_ms for row in rows] == [12]
    assert incidents.buckets(incidents.collect_records([]), BEGIN, BEGIN + 2) == []


def test_a_slow_sync_is_in_the_row_of_its_own_time() -> None:
    records: list[Record] = [window(5, stalled(ms=500)), window(15, stalled(ms=2000)), second(19, disk())]
    rows = incidents.buckets(incidents.collect_records(records), BEGIN, BEGIN + 20, 10)
    assert [(row.longest_ms, row.program) for row in rows] == [(500, "etcd"), (2000, "etcd")]
    # the window of the sync at 11 to 13 s is in the row of 0 to 10 s, but not the sync
    rows = incidents.buckets(incidents.collect_records(records[1:]), BEGIN, BEGIN + 11)
    assert [(row.longest_ms, row.program) for row in rows] == [(None, "")]


def test_pressure_is_unknown_without_psi() -> None:
    blind: list[Second] = [second(1, pressure_ms=(None,) * 5)]
    assert incidents.pressure_share(blind, 0) is None
