"""Seconds of a watch, and their sum."""

import pytest

from fstui.trace.reader.devices import DiskCounters
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.spans import MAX_ROWS, Span, WaitKey
from fstui.trace.reader.waits import SyncedFile


def second(
    *,
    syncs: int,
    call_ns: int,
    device_ns: int,
    looked: float = 1.0,
    file: str | None = "/log",
    inode: int = 12,
    threads: int = 1,
) -> Span:
    """Return a second of one program, file and disk. ``looked``: share of the time in which requests were recorded."""
    span = Span()
    span.elapsed_s, span.traced_s = 1.0, looked
    row = span.rows.row(WaitKey("mariadbd", False, SyncedFile(8 << 20, inode)))
    row.path, row.device, row.request_devices, row.inodes = file, "sda1", frozenset({"sda"}), {inode}
    row.threads = set(range(threads))
    row.waited_ns = syncs * call_ns
    for _ in range(syncs):
        row.durations.add(call_ns)
    for _ in range(round(syncs * looked)):
        span.device("sda").flushes.add(device_ns)
    span.device("sda").counters = DiskCounters(syncs, 4096 * syncs, 1, syncs, 1)
    return span


@pytest.mark.parametrize("looked", [1.0, 0.25])
def test_device_time_per_sync_does_not_depend_on_the_share(looked: float) -> None:
    (row,) = second(syncs=400, call_ns=1000, device_ns=600, looked=looked).as_dict()["waits"]
    assert (row["syncs"], row["waited_ns"], row["device_ns"]) == (400, 400_000, 600)


def test_device_time_is_at_most_the_time_of_the_sync() -> None:
    (row,) = second(syncs=10, call_ns=100, device_ns=600).as_dict()["waits"]
    assert row["device_ns"] == 100


@pytest.mark.parametrize(
    ("threads", "device_ns"),
    [
        (1, 700 // 8),  # the other syncs waited for no flush
        (4, 700 // 2),
        (8, 700),
        (100, 700),
    ],
)
def test_a_flush_serves_at_most_one_sync_of_each_thread(threads: int, device_ns: int) -> None:
    span = second(syncs=400, call_ns=1000, device_ns=0, threads=threads)
    span.devices["sda"].flushes = Durations()
    for _ in range(50):
        span.devices["sda"].flushes.add(700)
    assert span.as_dict()["waits"][0]["device_ns"] == device_ns


def test_requests_of_other_programs_are_not_part_of_a_sync() -> None:
    span = second(syncs=20, call_ns=50_000, device_ns=100)
    for _ in range(8000):
        span.device("sda").writes.add(200)
    assert span.as_dict()["waits"][0]["device_ns"] == 100 + 3 * 200


def test_members_of_a_mirror_work_at_the_same_time() -> None:
    span = second(syncs=400, call_ns=1000, device_ns=400)
    span.devices["sdb"] = span.devices["sda"]
    for row in span.rows.rows.values():
        row.request_devices = frozenset({"sda", "sdb"})
    assert span.as_dict()["waits"][0]["device_ns"] == 400


def test_without_recorded_requests_device_time_is_unknown() -> None:
    (row,) = second(syncs=10, call_ns=100, device_ns=600, looked=0.0).as_dict()["waits"]
    assert row["device_ns"] is None


def test_seconds_add_up_and_a_later_path_stays() -> None:
    whole = Span()
    whole.merge(second(syncs=10, call_ns=100, device_ns=60, file=None))
    whole.merge(second(syncs=30, call_ns=200, device_ns=60))
    whole.merge(second(syncs=0, call_ns=0, device_ns=0, file=None))
    found = whole.as_dict()
    (row,), (device,) = found["waits"], found["devices"]
    assert (found["elapsed_s"], row["syncs"], row["waited_ns"], row["file"]) == (3.0, 40, 7000, "/log")
    assert (device["writes"], device["flushes"], device["flush_ns"]["max"]) == (40, 40, 60)


def test_unnamed_files_share_one_row() -> None:
    whole = Span()
    for inode in range(1, 5):
        whole.merge(second(syncs=10, call_ns=100, device_ns=60, file="/log" if inode == 1 else None, inode=inode))
    for found in (whole.as_dict(), whole.as_dict()):
        rows = {row["file"]: (row["syncs"], row["files"]) for row in found["waits"]}
        assert rows == {"/log": (10, 1), None: (30, 3)}


def test_named_files_keep_their_row_among_thousands() -> None:
    whole = Span()
    whole.merge(second(syncs=10, call_ns=100, device_ns=60))
    for first in range(100, 100 + 2 * MAX_ROWS, MAX_ROWS):
        for inode in range(first, first + MAX_ROWS):
            whole.merge(second(syncs=1, call_ns=100, device_ns=60, file=None, inode=inode))
    whole.merge(second(syncs=10, call_ns=100, device_ns=60))
    rows = {row["file"]: row["syncs"] for row in whole.as_dict()["waits"]}
    assert rows == {"/log": 20, None: 2 * MAX_ROWS}
    assert len(whole.rows.rows) <= MAX_ROWS
