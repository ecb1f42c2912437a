"""Seconds of watching, and what they come to together."""

import pytest

from fstui.trace.reader.below import Counted
from fstui.trace.reader.rows import MOST_ROWS, Key
from fstui.trace.reader.spans import Span
from fstui.trace.reader.waits import File


def second(
    *, syncs: int, call_ns: int, device_ns: int, looked: float = 1.0, file: str | None = "/log", inode: int = 12
) -> Span:
    """One program, one file, one disk; so many of its requests were seen as share of the time was looked at."""
    span = Span()
    span.elapsed_s, span.looked_s = 1.0, looked
    row = span.rows.row(Key("mariadbd", False, File(8 << 20, inode)))
    row.path, row.device, row.below, row.inodes = file, "sda1", frozenset({"sda"}), {inode}
    for _ in range(syncs):
        row.durations.add(call_ns)
    for _ in range(round(syncs * looked)):
        span.device("sda").flushes.add(device_ns)
    span.device("sda").counted = Counted(syncs, 4096 * syncs, 1, syncs, 1)
    return span


@pytest.mark.parametrize("looked", [1.0, 0.25])
def test_the_device_s_own_part_is_that_of_one_sync_however_little_was_looked_at(looked: float) -> None:
    (row,) = second(syncs=400, call_ns=1000, device_ns=600, looked=looked).told()["waits"]
    assert (row["syncs"], row["waited_ns"], row["device_ns"]) == (400, 400_000, 600)


def test_it_is_never_more_than_the_sync_took() -> None:
    (row,) = second(syncs=10, call_ns=100, device_ns=600).told()["waits"]
    assert row["device_ns"] == 100


def test_where_nobody_looked_it_is_not_known() -> None:
    (row,) = second(syncs=10, call_ns=100, device_ns=600, looked=0.0).told()["waits"]
    assert row["device_ns"] is None


def test_seconds_add_up_and_a_path_that_was_found_later_stays() -> None:
    whole = Span()
    whole.merge(second(syncs=10, call_ns=100, device_ns=60, file=None))
    whole.merge(second(syncs=30, call_ns=200, device_ns=60))
    whole.merge(second(syncs=0, call_ns=0, device_ns=0, file=None))
    told = whole.told()
    (row,), (device,) = told["waits"], told["devices"]
    assert (told["elapsed_s"], row["syncs"], row["waited_ns"], row["file"]) == (3.0, 40, 7000, "/log")
    assert (device["writes"], device["flushes"], device["flush_ns"]["max"]) == (40, 40, 60)


def test_files_without_a_name_stand_together_and_apart_from_those_that_have_one() -> None:
    whole = Span()
    for inode in range(1, 5):
        whole.merge(second(syncs=10, call_ns=100, device_ns=60, file="/log" if inode == 1 else None, inode=inode))
    for told in (whole.told(), whole.told()):
        rows = {row["file"]: (row["syncs"], row["files"]) for row in told["waits"]}
        assert rows == {"/log": (10, 1), None: (30, 3)}


def test_however_many_files_there_are_those_with_a_name_keep_their_row() -> None:
    whole = Span()
    whole.merge(second(syncs=10, call_ns=100, device_ns=60))
    for first in range(100, 100 + 2 * MOST_ROWS, MOST_ROWS):
        for inode in range(first, first + MOST_ROWS):
            whole.merge(second(syncs=1, call_ns=100, device_ns=60, file=None, inode=inode))
    whole.merge(second(syncs=10, call_ns=100, device_ns=60))
    rows = {row["file"]: row["syncs"] for row in whole.told()["waits"]}
    assert rows == {"/log": 20, None: 2 * MOST_ROWS}
    assert len(whole.rows.rows) <= MOST_ROWS
