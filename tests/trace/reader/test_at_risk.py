"""The parts of ``fstui watch --at-risk`` that need no kernel: ages, syncs, flushes, names."""

import os
from pathlib import Path

import pytest

from fstui import proc
from fstui.trace.reader import at_risk, open_files
from fstui.trace.reader.exposure import DatedBytes, Exposure, WriteCache, WriteCaches
from fstui.trace.reader.new_entries import Journal, NewEntries, writeback_age_s
from fstui.trace.reader.open_files import EVERYTHING, Opener, OpenFile
from fstui.trace.reader.processes import process_of
from fstui.trace.reader.syncs import EventSwitch, Syncs

FILE, MAX = (7 << 20, 12), 1 << 30


def update(
    one: Exposure, dirty: int, since: float, *, flushed_at: float = 0.0, durable_before: float = 0.0, limit: int = MAX
) -> None:
    one.update(dirty, since, limit=limit, flushed_at=flushed_at, durable_before=durable_before)


def test_the_oldest_bytes_are_written_first() -> None:
    amounts = DatedBytes()
    amounts.set_total(10, 1.0)
    amounts.set_total(30, 2.0)
    assert (amounts.total, amounts.oldest) == (30, 1.0)
    assert amounts.set_total(15, 3.0) == [(1.0, 10), (2.0, 5)]
    assert (amounts.total, amounts.oldest) == (15, 2.0)
    amounts.raise_times(2.5)
    assert (amounts.total, amounts.oldest) == (15, 2.5)


def test_a_sync_makes_older_bytes_durable() -> None:
    one = Exposure()
    update(one, 100, 1.0)
    one.add_sync(start=1.5, end=1.6, now=2.0)
    update(one, 40, 1.0, flushed_at=1.6)
    assert (one.in_memory.total, one.in_cache.total, one.oldest) == (40, 0, 1.5)


def test_bytes_the_kernel_wrote_stay_in_the_cache_until_a_flush() -> None:
    one = Exposure()
    update(one, 100, 1.0)
    update(one, 0, 2.0)
    assert (one.in_memory.total, one.in_cache.total, one.oldest) == (0, 100, 1.0)
    update(one, 0, 3.0, limit=0, flushed_at=3.0)
    assert (one.total, one.oldest) == (0, None)


def test_bytes_written_before_a_flush_are_not_in_the_cache() -> None:
    """Whatever another program wrote after the flush."""
    one = Exposure()
    update(one, 100, 1.0)
    update(one, 40, 2.0)
    update(one, 10, 3.0, durable_before=2.9)
    assert one.in_cache.total == 90, "the flush may have been before the last update"
    update(one, 0, 4.0, durable_before=4.0)
    assert one.in_cache.total == 10


def test_bytes_counted_before_the_sync_are_durable_after_it() -> None:
    """The sync ended between the count of the pages and the reading of its event."""
    one = Exposure()
    update(one, 100, 1.0)
    one.add_sync(start=2.1, end=2.2, now=2.0)
    update(one, 100, 1.0, flushed_at=2.2)
    update(one, 0, 2.0, flushed_at=2.2)
    assert one.total == 0


def test_a_sync_without_a_flush_leaves_bytes_in_the_cache() -> None:
    """As on an ext4 that is mounted with barrier=0."""
    one = Exposure()
    update(one, 100, 1.0)
    one.add_sync(start=1.5, end=1.6, now=2.0)
    update(one, 0, 1.0)
    assert one.in_cache.total == 100


def test_bytes_written_just_before_a_sync_are_being_synced() -> None:
    one = Exposure()
    one.add_sync(start=9.90, end=9.95, now=10.0)
    assert one.is_being_synced(10.0, running_sync_start=9.96)
    assert one.is_being_synced(10.0, None)
    assert not one.is_being_synced(10.2, None), "nothing syncs what was written since"
    assert not one.is_being_synced(12.0, running_sync_start=9.96), "it takes long"
    assert not Exposure().is_being_synced(10.0, running_sync_start=9.9), "it never synced before"


class PreparedSyncs(Syncs):
    """Gets its events from the test."""

    def __init__(self) -> None:
        self.counts, self.ended_syncs, self.running_syncs, self.new_entries = {}, {}, {}, {}
        self._entry_count = 0
        self._unlinking = {}
        self._end_events = EventSwitch()

    def read(self) -> None:
        """There is nothing to read."""

    def lost(self) -> int:
        return 0


def test_the_next_sync_of_a_thread_ends_the_previous_one() -> None:
    syncs = PreparedSyncs()
    syncs.begin(100, 5, *FILE)
    assert syncs.ended_syncs == {}
    syncs.begin(200, 5, *FILE)
    assert (syncs.ended_syncs[FILE], syncs.counts) == ((100, 200), {(5, *FILE): 2})
    syncs.end(250, 5)
    assert (syncs.ended_syncs[FILE], syncs.running_syncs) == ((200, 250), {})


def test_without_cachestat_syncs_alone_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "why_unsupported", lambda: "this kernel has no cachestat")
    syncs = PreparedSyncs()
    watched = at_risk.AtRiskTracker(EVERYTHING, syncs, None)
    for time_ns in (100, 200, 300):
        syncs.begin(time_ns, os.getpid(), *FILE)
    state = watched.update()
    assert (state["unsupported"], state["files"]) == ("this kernel has no cachestat", [])
    (program,) = state["programs"]
    assert (program["pid"], program["syncs"], program["dirty_bytes"]) == (os.getpid(), 3, 0)


def test_a_process_is_one_program_before_and_after_its_files_are_seen() -> None:
    tracker = at_risk.AtRiskTracker(EVERYTHING, PreparedSyncs(), None)
    process, stat = process_of(os.getpid()), proc.stat(os.getpid())
    assert process and stat
    tracker._threads[process.pid] = process
    assert tracker._program_of_thread(process.pid) is tracker._program_of_process(Opener(process.pid, stat))


@pytest.mark.parametrize(("first_scan", "may_be_older"), [(7, True), (6, False), (-1, False)])
def test_bytes_of_the_first_look_at_a_file_may_be_older(first_scan: int, may_be_older: bool) -> None:
    """A scan that takes too long leaves programs for the next one."""
    file = OpenFile((1, 2), 1, "/srv/data", "ext4")
    file.first_scan, file.last_scan = first_scan, 7
    row = at_risk.FileRow(file, last_update=5.0)
    row.update(4096, 5.0, limit=0, flushed_at=0.0, durable_before=0.0)
    watched = at_risk.AtRiskTracker(EVERYTHING, PreparedSyncs(), None)
    assert watched._amounts_as_dict(row, [row])["at_least"] is may_be_older


@pytest.mark.parametrize(("direct", "log"), [(False, "/ib_logfile0"), (True, None)])
def test_a_log_written_with_o_direct_has_no_amount(direct: bool, log: str | None) -> None:
    """As that of MariaDB."""
    row = at_risk.FileRow(file := OpenFile((1, 2), 1, "/ib_logfile0", "ext4"), 0.0)
    row.count_syncs(1.0, 9)
    file.is_direct = direct
    watched = at_risk.AtRiskTracker(EVERYTHING, PreparedSyncs(), None)
    assert watched._program_as_dict(at_risk.ProgramRow("mariadbd", 7), [row], [])["log"] == log


def test_an_unlink_is_no_new_name() -> None:
    syncs = PreparedSyncs()
    device, directory = FILE
    syncs._begin_unlink(1, 5, directory)
    syncs._change_directory(2, 5, directory, device)
    assert syncs.new_entries == {}
    syncs._change_directory(3, 5, directory, device)
    assert syncs.new_entries == {(5, FILE): (1, 3)}


@pytest.mark.parametrize(
    ("done", "age_s", "is_committed"),
    [(0, 2.0, False), (1, 1.0, False), (1, 2.0, True), (2, 0.1, True), (0, 11.0, True)],
)
def test_a_later_commit_of_the_journal_makes_names_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int, age_s: float, is_committed: bool
) -> None:
    info = tmp_path / "info"
    info.write_text("7 transactions (7 requested), each up to 2048 blocks\n")
    journal = Journal(str(info), 5.0)
    monkeypatch.setattr("fstui.trace.reader.new_entries.journal_of", lambda _: journal)
    names = NewEntries(FILE, None, 1, 100.0)
    info.write_text(f"{7 + done} transactions (7 requested), each up to 2048 blocks\n")
    commits = {journal: journal.commits()}
    assert names.is_committed(100.0 + age_s, commits) == is_committed
    # a commit that may have begun before the change does not contain it later either
    assert names.is_committed(100.0 + max(age_s, 3.0), commits) == is_committed


@pytest.mark.parametrize(("interval", "expected_s"), [("500\n", 35.0), ("", 35.0), ("0\n", float("inf"))])
def test_names_stay_at_risk_if_the_kernel_never_writes_back(
    monkeypatch: pytest.MonkeyPatch, interval: str, expected_s: float
) -> None:
    answers = {"/proc/sys/vm/dirty_expire_centisecs": "3000\n", "/proc/sys/vm/dirty_writeback_centisecs": interval}
    monkeypatch.setattr("fstui.proc.read_text", answers.__getitem__)
    monkeypatch.setattr("fstui.trace.reader.new_entries.journal_of", lambda _: None)
    monkeypatch.setattr("fstui.trace.reader.new_entries.writeback_age_s", writeback_age_s.__wrapped__)
    assert writeback_age_s.__wrapped__() == expected_s
    names = NewEntries(FILE, None, 1, 100.0)
    assert names.is_committed(100.0 + 36.0, {}) == (expected_s < 36)


def test_a_flush_counts_at_the_disks_that_need_one() -> None:
    caches = WriteCaches()
    caches.add(["volatile", "protected"])
    caches.disks["volatile"].is_volatile, caches.disks["protected"].is_volatile = True, False
    assert caches.flushed_at(["volatile", "protected"]) == 0.0
    assert caches.flushed_at(["protected"]) == float("inf")


def test_a_flush_makes_the_bytes_of_earlier_polls_durable(tmp_path: Path) -> None:
    disk = WriteCache("none")
    disk._path = str(tmp_path / "stat")
    for sectors, flushes, unflushed, is_durable in ((8, 0, 4096, False), (8, 1, 0, True), (24, 1, 8192, False)):
        before = disk._polled_at
        Path(disk._path).write_text(f"0 0 0 0 0 0 {sectors} 0 0 0 0 0 0 0 0 {flushes} 0")
        disk.poll()
        assert (disk.unflushed_bytes, disk.durable_before == before) == (unflushed, is_durable or not before)
