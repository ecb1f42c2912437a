"""The recorder's own part: which threads it leaves out, which rows it keeps, and when it drops a call."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from fstui.trace.reader import recorder
from fstui.trace.reader.recorder import HostCounters, Processes, Trace
from fstui.trace.reader.spans import WaitKey, WaitRow
from fstui.trace.reader.tracefs import TracefsError
from fstui.trace.reader.waits import SLOW_SYNC_NS, SyncedFile

FILE = SyncedFile(device=1, inode=2, fd=3)


def row(program: str, waited_ms: int, device: str = "vda", path: str = "/a") -> WaitRow:
    made = WaitRow(WaitKey(program, False, FILE))
    made.durations.add(waited_ms * 1_000_000)
    made.device, made.path = device, path
    return made


def test_only_the_threads_that_make_most_calls_are_left_out() -> None:
    assert recorder.busiest_threads(Counter({1: 500, 2: 400, 3: 60, 4: 40})) == [1, 2]
    assert recorder.busiest_threads(Counter()) == []


def test_a_program_with_many_files_does_not_hide_others() -> None:
    many = [row("syncer", 100 + number, path=f"/{number}") for number in range(50)]
    kept = recorder.limit_rows([*many, row("etcd", 5), row("syncer", 1, device="vdb")])
    assert [one.key.name for one in kept].count("syncer") == recorder.MAX_ROWS_PER_PROGRAM + 1
    assert kept[-2].key.name == "etcd"
    assert sum(one.durations.count for one in kept) == 52


def test_a_thread_that_runs_is_not_blocked_in_a_sync() -> None:
    assert not recorder.is_blocked(threading.get_native_id(), FILE)
    assert not recorder.is_blocked(threading.get_native_id(), FILE._replace(fd=-1))
    assert not recorder.is_blocked(2**22 - 1, FILE)


def test_blocking_is_counted() -> None:
    before = recorder.switches(threading.get_native_id())
    time.sleep(0.001)
    after = recorder.switches(threading.get_native_id())
    assert before is not None and after is not None and after > before
    assert recorder.switches(2**22 - 1) is None


def test_counters_list_only_devices_that_did_something(monkeypatch: pytest.MonkeyPatch) -> None:
    stat = "{} 0 {} 1 0 8 1 2 0 16 3 0 4 5 0 0 0 0 6 7\n"
    texts = {"/proc/diskstats": stat.format(7, "idle") + stat.format(8, "busy")}
    monkeypatch.setattr("fstui.proc.read_text", lambda path: texts.get(path, ""))
    monkeypatch.setattr("os.path.isdir", lambda path: True)
    counters = HostCounters()
    texts["/proc/diskstats"] = texts["/proc/diskstats"].replace("busy 1 0 8 1 2 0 16 3", "busy 1 0 8 1 12 0 96 33")
    found = counters.changes_since_last_call()
    assert found["devices"] == [["busy", 0, 0, 10, 40, 30, 0, 0, 0, 0, 0, 0]]
    assert found["pressure_ms"] == [None] * 5


def test_what_processes_moved_names_their_devices(tmp_path: Path) -> None:
    processes = Processes(set())
    assert processes.busiest_since_last_call() == []
    processes._scan_cost_s = 0.0
    with (tmp_path / "file").open("wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        moved = {one["pid"]: one for one in processes.busiest_since_last_call() or ()}
    if os.getpid() in moved:  # not in memory
        assert moved[os.getpid()]["written"] >= 1 << 20 and moved[os.getpid()]["devices"]
    assert Processes({os.getpid()}).busiest_since_last_call() == []


@pytest.fixture
def trace() -> Iterator[Trace]:
    made = Trace(f"fstui-test-{os.getpid()}")
    yield made
    made.remove()


@pytest.mark.root
def test_a_call_whose_end_was_missed_is_dropped(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its program would seem to wait for ever."""
    thread, long_ago_ns = threading.get_native_id(), time.monotonic_ns() - 400 * 10**9
    trace.waits.begin_call(long_ago_ns, thread, 3)
    monkeypatch.setattr(trace, "lost", lambda: 1)
    found = trace.end_window(10.0, anonymous=False)
    assert not [one for one in found["waits"] if one.get("in_flight_ms", 0) > 100_000]


@pytest.mark.root
def test_a_sync_that_still_runs_is_not_dropped(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of other threads may have been lost. When it began is no longer known."""
    thread, began_ns = threading.get_native_id(), time.monotonic_ns()
    trace.waits.begin_call(began_ns, thread, FILE.fd)
    monkeypatch.setattr("fstui.trace.reader.watch.running_syncs", lambda: [(thread, FILE.fd)])
    trace.forget_in_flight()
    assert [open_ for open_, _, since_ns in trace.waits.in_flight() if since_ns > began_ns] == [thread]


@pytest.mark.root
def test_each_lost_event_is_counted_once(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are also lost while a window ends."""
    numbers = count(1)
    monkeypatch.setattr(trace, "lost", lambda: next(numbers))
    windows = [trace.end_window(10.0, anonymous=False)["lost"] for _ in range(2)]
    assert sum(windows) == next(numbers) - 1


@pytest.mark.root
def test_a_call_of_a_thread_that_is_left_out_is_no_wait(trace: Trace) -> None:
    thread = threading.get_native_id()
    exclude(trace, thread)
    assert thread not in {open_ for open_, _, _ in trace.waits.in_flight()}


@pytest.fixture
def busy_thread(tmp_path: Path) -> Iterator[int]:
    """Yield the ID of a thread that syncs all the time."""
    has_begun, must_end = threading.Event(), threading.Event()

    def sync() -> None:
        with (tmp_path / "busy").open("wb") as file:
            while not must_end.is_set():
                os.fdatasync(file.fileno())
                has_begun.set()

    thread = threading.Thread(target=sync)
    thread.start()
    has_begun.wait()
    assert thread.native_id is not None
    yield thread.native_id
    must_end.set()
    thread.join()


@pytest.mark.root
def test_other_threads_are_traced_while_one_is_left_out(trace: Trace, busy_thread: int, tmp_path: Path) -> None:
    exclude(trace, busy_thread)
    assert str(busy_thread) in trace.instance.read("set_event_notrace_pid").split()
    with (tmp_path / "file").open("wb") as file:
        os.fdatasync(file.fileno())
    trace.read()
    assert threading.get_native_id() in trace.waits.threads()


@pytest.mark.root
def test_a_thread_stays_left_out_while_others_are_added(trace: Trace, busy_thread: int) -> None:
    """If it were traced for a moment, a call that begins then would seem to last until the end of a later call."""
    exclude(trace, busy_thread)
    trace.waits.clear()
    exclude(trace, threading.get_native_id())
    trace.read()
    assert busy_thread not in trace.waits.threads()


@pytest.mark.root
def test_the_end_of_a_later_call_does_not_end_a_left_out_one(trace: Trace, busy_thread: int) -> None:
    thread, began_ns = threading.get_native_id(), time.monotonic_ns()
    exclude(trace, thread)
    trace.waits.begin_call(began_ns, thread, FILE.fd)
    exclude(trace, busy_thread)
    trace.waits.clear()
    trace.waits.end_call(began_ns + 5 * 10**9, thread, 0)
    assert not trace.waits.slow_syncs and thread not in trace.waits.threads()


@pytest.mark.root
def test_a_thread_that_is_left_out_and_blocked_is_traced(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = threading.get_native_id()
    exclude(trace, thread)
    monkeypatch.setattr(
        recorder, "switches", lambda _: trace._excluded_threads[thread].switches if trace._excluded_threads else 7
    )
    monkeypatch.setattr(recorder, "is_blocked", lambda _, file: file == FILE)
    trace._excluded_threads[thread] = trace._excluded_threads[thread]._replace(switches=7)
    trace.limit_events()
    assert not trace._excluded_threads
    assert (thread, FILE) in {(open_, file) for open_, file, _ in trace.waits.in_flight()}


@pytest.mark.root
def test_a_left_out_thread_may_be_blocked_as_a_window_ends(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, a program that has been stuck since then would not be found."""
    thread = threading.get_native_id()
    exclude(trace, thread)
    monkeypatch.setattr(recorder, "switches", lambda _: 7)
    monkeypatch.setattr(recorder, "is_blocked", lambda number, file: (number, file) == (thread, FILE))
    trace.end_window(10.0, anonymous=False)
    assert (thread, FILE) in {(open_, file) for open_, file, _ in trace.waits.in_flight()}


@pytest.mark.root
def test_a_sync_is_not_cut_when_its_thread_is_left_out(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is in the same sync at each check has been in it since its start."""
    monkeypatch.setattr(recorder, "switches", lambda _: 7)
    monkeypatch.setattr(recorder, "is_blocked", lambda _, file: file == FILE)
    began_ns = exclude(trace, threading.get_native_id())
    trace.end_window(10.0, anonymous=False)
    assert (threading.get_native_id(), FILE, began_ns) in trace.waits.in_flight()


@pytest.mark.root
def test_a_thread_in_a_slow_sync_is_not_left_out(trace: Trace, busy_thread: int) -> None:
    thread, began_ns = threading.get_native_id(), time.monotonic_ns() - SLOW_SYNC_NS
    for _ in range(10_000):
        trace.waits._add(began_ns, (thread, *FILE), 1000, 0)
    trace.waits.begin_call(began_ns, thread, FILE.fd)
    exclude(trace, busy_thread)
    assert (thread, began_ns) in {(open_, since_ns) for open_, _, since_ns in trace.waits.in_flight()}


@pytest.mark.parametrize(("switches", "has_slowed"), [(7, True), (17, True), (57, False), (None, False)])
def test_a_slow_sync_may_block_many_times(switches: int | None, has_slowed: bool) -> None:
    last = recorder.ExcludedThread(0, 0, 7, 100.0, FILE)
    assert last._replace(checked_ns=10**9, switches=switches).has_slowed(last) == has_slowed


@pytest.mark.root
def test_a_sync_that_ends_as_tracing_resumes_is_no_wait(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    thread, counts = threading.get_native_id(), iter(range(100))
    exclude(trace, thread)
    monkeypatch.setattr(recorder, "switches", lambda _: next(counts))
    monkeypatch.setattr(recorder, "is_blocked", lambda number, _: number == thread)
    trace.end_window(10.0, anonymous=False)
    assert thread not in {open_ for open_, _, _ in trace.waits.in_flight()}


@pytest.mark.root
def test_a_running_sync_of_an_untraced_thread_does_not_age(trace: Trace) -> None:
    """Its end was not traced, so it would be in flight until the thread's next sync."""
    thread = threading.get_native_id()
    exclude(trace, thread)
    trace.waits.begin_call(time.monotonic_ns(), thread, FILE.fd)
    trace._trace_all_threads({})
    assert thread not in {open_ for open_, _, _ in trace.waits.in_flight()}


def exclude(trace: Trace, thread: int) -> int:
    """Let a thread make more calls than all other programs of this host together, and be in one of them.

    Return the start of that call.
    """
    for _ in range(10_000):
        trace.waits._add(time.monotonic_ns(), (thread, *FILE), 1000, 0)
    began_ns = time.monotonic_ns()
    trace.waits.begin_call(began_ns, thread, FILE.fd)
    trace.exclude_busiest()
    assert thread in trace._excluded_threads
    return began_ns


@pytest.mark.root
def test_a_pause_of_the_trace_leaves_no_sync_in_flight(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no thread can be excluded, the trace is paused for all. The ends of running syncs are not recorded."""
    write, thread = trace.instance.write, threading.get_native_id()

    def refuse(name: str, value: str, *, append: bool = False) -> None:
        if append:
            raise TracefsError("refused")
        write(name, value)

    monkeypatch.setattr(trace.instance, "write", refuse)
    trace.waits.begin_call(time.monotonic_ns(), thread, FILE.fd)
    trace.exclude_busiest()
    assert thread in trace._excluded_threads, "it is checked whether the sync is stuck"
    assert not list(trace.waits.in_flight())


@pytest.mark.root
def test_threads_that_are_left_out_are_traced_again(trace: Trace, tmp_path: Path) -> None:
    def syncs() -> int:
        with (tmp_path / "file").open("wb") as file:
            for _ in range(20):
                os.fdatasync(file.fileno())
            rows = trace.end_window(10.0, anonymous=False)["waits"]
        return sum(int(one["syncs"]) for one in rows if one.get("file") == str(tmp_path / "file"))

    assert syncs() == 20
    exclude(trace, threading.get_native_id())
    assert syncs() == 0
    assert syncs() == 20


@pytest.mark.root
def test_a_program_that_is_left_out_for_a_time_is_marked(trace: Trace) -> None:
    exclude(trace, threading.get_native_id())
    rows = trace.end_window(10.0, anonymous=False)["waits"]
    assert {row.get("partly_traced") for row in rows if row.get("pid") == os.getpid()} == {True}
    trace.waits._add(time.monotonic_ns(), (threading.get_native_id(), *FILE), 1000, 0)
    assert not any("partly_traced" in row for row in trace.end_window(10.0, anonymous=False)["waits"])


@pytest.mark.parametrize(("now_s", "remaining_s"), [(7.01, 0.99), (7.4, 0.6), (7.6, 1.4), (7.99, 1.01)])
def test_records_end_with_a_second_of_the_clock(
    monkeypatch: pytest.MonkeyPatch, now_s: float, remaining_s: float
) -> None:
    monkeypatch.setattr(time, "time", lambda: now_s)
    assert recorder._until_whole_second_s() == pytest.approx(remaining_s)
