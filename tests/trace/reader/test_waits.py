"""From events of calls and filesystems to who waited how long for which file."""

from fstui.trace.reader.waits import SyncWaits

DISK, INODE, FD = 8 << 20, 131, 5


def times(waits: SyncWaits) -> dict[tuple[int, int, int, int], tuple[int, int]]:
    """Return the number and the total time of syncs by thread and file."""
    return {key: (durations.count, durations.sum_ns) for key, durations in waits.durations.items()}


def test_a_call_and_the_sync_in_it_are_one_wait() -> None:
    waits = SyncWaits()
    waits.begin_call(100, 7, FD)
    waits.begin_sync(110, 7, DISK, INODE)
    waits.end_sync(180, 7, 0)
    waits.end_call(200, 7, 0)
    assert times(waits) == {(7, DISK, INODE, FD): (1, 100)}


def test_a_sync_without_a_call_is_a_wait() -> None:
    """As for an O_DSYNC write or io_uring."""
    waits = SyncWaits()
    waits.begin_sync(110, 7, DISK, INODE)
    waits.end_sync(180, 7, 0)
    assert times(waits) == {(7, DISK, INODE, -1): (1, 70)}


def test_without_an_end_event_the_call_gives_the_time() -> None:
    waits = SyncWaits()
    waits.begin_call(100, 7, FD)
    waits.begin_sync_without_end(110, 7, DISK, INODE)
    waits.end_call(200, 7, 0)
    waits.begin_sync_without_end(300, 7, DISK, INODE)
    waits.begin_sync_without_device(310, 8, INODE)
    assert times(waits) == {(7, DISK, INODE, FD): (1, 100)}
    assert waits.untimed_syncs == {(7, DISK, INODE, -1): 1, (8, 0, INODE, -1): 1}


def test_a_call_that_syncs_several_files_counts_for_the_first() -> None:
    waits = SyncWaits()
    waits.begin_call(100, 7, FD)
    waits.begin_sync(110, 7, DISK, INODE)
    waits.end_sync(120, 7)
    waits.begin_sync(130, 7, DISK, INODE + 1)
    waits.end_call(200, 7, 0)
    assert times(waits) == {(7, DISK, INODE, FD): (1, 100)}


def test_threads_are_counted_separately() -> None:
    waits = SyncWaits()
    waits.begin_call(100, 7, FD)
    waits.begin_call(110, 8, FD)
    waits.end_call(150, 7, 0)
    waits.end_call(170, 8, 0)
    assert times(waits) == {(7, 0, 0, FD): (1, 50), (8, 0, 0, FD): (1, 60)}


def test_a_failed_sync_is_counted_with_its_errno() -> None:
    waits = SyncWaits()
    waits.begin_call(100, 7, FD)
    waits.end_call(150, 7, -5)
    assert waits.failures == {(7, 0, 0, FD, 5): 1}


def test_a_fua_write_is_a_wait_unless_it_is_part_of_a_sync() -> None:
    waits = SyncWaits()
    waits.begin_fua_write(100, 7, DISK, 88)
    waits.end_fua_write(160, DISK, 88)
    waits.begin_call(200, 7, FD)
    waits.begin_fua_write(210, 7, DISK, 88)
    waits.end_fua_write(260, DISK, 88)
    waits.end_call(300, 7, 0)
    assert times(waits) == {(7, DISK, 0, -1): (1, 60), (7, 0, 0, FD): (1, 100)}


def test_an_end_without_a_begin_is_ignored() -> None:
    waits = SyncWaits()
    waits.end_call(100, 7, 0)
    waits.end_sync(100, 7)
    waits.end_fua_write(100, DISK, 88)
    assert times(waits) == {}


def test_open_calls_survive_a_clear() -> None:
    waits = SyncWaits()
    waits.begin_call(100, 7, FD)
    waits.begin_sync(110, 8, DISK, INODE)
    waits.clear()
    assert [(thread, file.fd, file.inode, since) for thread, file, since in waits.in_flight()] == [
        (7, FD, 0, 100),
        (8, -1, INODE, 110),
    ]
    waits.end_call(400, 7, 0)
    assert times(waits) == {(7, 0, 0, FD): (1, 300)}
    waits.forget(8)
    assert list(waits.in_flight()) == []


def test_a_wait_counts_in_each_second_it_lasts() -> None:
    waits = SyncWaits()
    waits.clear(1000)
    waits.begin_call(1500, 7, FD)
    waits.clear(2000)
    waits.clear(3000)
    waits.end_call(3100, 7, 0)
    waits.begin_call(3200, 7, FD)
    waits.end_call(3300, 7, 0)
    assert times(waits) == {(7, 0, 0, FD): (2, 1700)}
    assert waits.earlier_ns == {(7, 0, 0, FD): 1500}
    waits.clear(4000)
    assert not waits.earlier_ns


def test_a_write_to_a_frozen_filesystem_is_a_wait() -> None:
    waits = SyncWaits()
    waits.set_frozen(1000, {7: FD, 8: FD})
    waits.set_frozen(2000, {7: FD})
    assert (waits.frozen, waits.threads()) == ({(7, 0, 0, FD): (1000, 2000)}, {7, 8})
    waits.set_frozen(3000, {})
    assert times(waits) == {(7, 0, 0, FD): (1, 1000), (8, 0, 0, FD): (1, 0)}
    assert waits.ended_frozen == {(7, 0, 0, FD), (8, 0, 0, FD)} and not waits.frozen
