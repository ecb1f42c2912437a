import pytest
from msgspec.structs import replace

from fstui.model.counters import DeviceTimes
from fstui.model.host import Host, OtherWriter
from fstui.model.judgement import Speed
from fstui.model.watch import JournalCommits, LostWrite, WatchCounts, WatchedDevice, WatchReport
from fstui.report import watch
from fstui.report.formats import json
from fstui.trace.conclusion import conclude
from tests.factories.watched import DATABASE
from tests.printing import as_text

TIMES = DeviceTimes(p50=38_000_000, p99=60_000_000, max=260_000_000)
ROW = replace(
    DATABASE,
    pid=812,
    syncs=240,
    waited_ns=9_600_000_000,
    ended_ns=9_600_000_000,
    latency_ns=TIMES,
    device_ns=36_000_000,
    cpu_ns=96_000_000,
)
WHOLE = WatchCounts(
    elapsed_s=10.0,
    traced_s=10.0,
    waits=(ROW,),
    devices=(WatchedDevice(device="sda", writes=500, written_bytes=10 << 20, flushes=250, fua=0, flush_ns=TIMES),),
    commits=(JournalCommits(device="sda1", count=20, latency_ns=TIMES),),
)


def report(whole: WatchCounts = WHOLE, **more: object) -> WatchReport:
    found = conclude(whole)
    made = WatchReport(started_at="", version="", host=Host(), total=whole, culprit=found.culprit, sentence="")
    return replace(made, sentence=found.sentence, **more)


def test_the_watch_lists_waits_and_ends_with_the_conclusion() -> None:
    lines = as_text(watch.watch_report(report())).splitlines()
    assert lines == [
        "watched all programs for 10.0 s",
        "",
        "PROGRAM         SYNCS/S      P50      P99     MAX  DEVICE MEAN  CPU WAIT ≤  WAITING  FILE",
        "mariadbd (812)     24.0  38.0 ms  60.0 ms  260 ms      36.0 ms         1\xa0%   96.0\xa0%  "
        "/var/lib/mysql/ib_logfile0",
        "",
        "DEVICE  WRITES/S  BYTES/S  WRITE P50  FLUSHES/S  FLUSH P50  FLUSH P99  FUA",
        "sda         50.0  1.0 MiB          –       25.0    38.0 ms    60.0 ms    0",
        "journal of sda1: 2.00 commits/s, p50 38.0 ms, 260 ms at most",
        "",
        "The program waits for the disk: sda1 itself takes 36.0 ms of the 40.0 ms that",
        "mariadbd (812) waits per sync on average.",
    ]


def test_no_time_in_the_device_is_a_dash() -> None:
    row = replace(ROW, device_ns=0)
    assert watch.waiting_cells(row, 10.0)[watch.WAIT_HEADER.index("DEVICE MEAN")] == "–"


@pytest.mark.parametrize("threads", [1, 2])
def test_kernel_threads_have_no_process_id(threads: int) -> None:
    row = replace(ROW, program="kworker", kernel=True, processes=threads, pid=2 if threads == 1 else None)
    assert row.program_label == "kworker (kernel)"


def test_missing_events_and_failures_are_named() -> None:
    whole = replace(WHOLE, lost=7, traced_s=2.0, waits=(replace(ROW, failed={5: 2}),))
    reported = LostWrite(device=None, inode=98, errno=28, returned=1)
    errors = (LostWrite(device="sda1", inode=99, errno=5, returned=0), reported)
    text = as_text(watch.watch_report(report(whole, errors=errors)))
    assert "the kernel's buffers were full and lost 7 events: the rates are lower bounds" in text
    assert "device times and FUA cover 20\xa0% of the time" in text
    assert "mariadbd (812): 2 syncs of /var/lib/mysql/ib_logfile0 failed: Input/output error" in text
    assert "a write of inode 99 on sda1 failed with EIO: not reported to any program" in text
    assert "a write of inode 98 on ? failed with ENOSPC: reported 1 time" in text


def test_names_of_files_and_programs_are_escaped() -> None:
    row = replace(ROW, program="\x1b[2J", file="/tmp/\x9bA\udcff\n\u202e")
    whole = replace(WHOLE, waits=(row,))
    for text in (as_text(watch.watch_report(report(whole))), json.indented(report(whole)).decode()):
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)


def test_without_a_trace_the_writers_are_listed() -> None:
    whole = WatchCounts(elapsed_s=2.0, writers=(OtherWriter(pid=812, name="mariadbd", written_bytes=4 << 20),))
    text = as_text(watch.watch_report(report(whole, untraced="only root may trace the kernel", mount_point="/srv")))
    assert text.startswith("watched /srv for 2.0 s; not traced by the kernel: only root may trace the kernel\n")
    assert "mariadbd (812)    2.0 MiB" in text


def test_one_second_is_one_line() -> None:
    assert watch.line(WHOLE) == (
        "mariadbd (812) 24.0 syncs/s of /var/lib/mysql/ib_logfile0, p50 38.0 ms · 25.0 flushes/s"
    )
    assert watch.line(WatchCounts(elapsed_s=1.0)) == "no program waits · devices idle"


def test_the_watch_ends_with_both_answers() -> None:
    speed = Speed(answer="stalls", title="mariadbd (812) waited 260 ms", sentence="It did.")
    text = as_text(
        watch.watch_report(report(durability="Is it durable? The configuration shows no defect.", speed=speed))
    )
    assert text.endswith(
        "Is it durable? The configuration shows no defect.\n"
        "Is it slow? Yes, it stalls: mariadbd (812) waited 260 ms. It did.\n"
    )
    assert watch.conclusion(report(speed=speed)).endswith("▲ STALLS  mariadbd (812) waited 260 ms")
    assert "Is it" not in as_text(watch.watch_report(report()))


def test_a_sync_in_flight_waits_all_the_time() -> None:
    row = replace(ROW, syncs=0, latency_ns=None, waited_ns=1_000_000_000, in_flight_ns=7_600_000_000)
    assert watch.waiting_cells(row, 1.0)[watch.WAIT_HEADER.index("WAITING")] == "100.0\xa0%"
    threads = replace(row, waited_ns=600_000_000_000)
    assert watch.waiting_cells(threads, 1.0)[watch.WAIT_HEADER.index("WAITING")] == "60000\xa0%"
