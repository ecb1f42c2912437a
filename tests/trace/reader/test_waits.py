"""Events of calls and filesystems → who waited how long for which file."""

from fstui.trace.reader.waits import Waits

DISK, INODE, FD = 8 << 20, 131, 5


def times(waits: Waits) -> dict[tuple[int, int, int, int], tuple[int, int]]:
    """By thread and file: how many, and how long altogether."""
    return {key: (durations.count, durations.sum_ns) for key, durations in waits.done.items()}


def test_a_call_in_which_a_filesystem_syncs_a_file_is_one_wait() -> None:
    waits = Waits()
    waits.called(100, 7, FD)
    waits.entered(110, 7, DISK, INODE)
    waits.left(180, 7, 0)
    waits.returned(200, 7, 0)
    assert times(waits) == {(7, DISK, INODE, FD): (1, 100)}


def test_a_filesystem_that_syncs_without_a_call_is_a_wait_too() -> None:
    """An O_DSYNC write, io_uring."""
    waits = Waits()
    waits.entered(110, 7, DISK, INODE)
    waits.left(180, 7, 0)
    assert times(waits) == {(7, DISK, INODE, -1): (1, 70)}


def test_where_a_filesystem_does_not_tell_the_end_the_call_does_or_nobody() -> None:
    waits = Waits()
    waits.called(100, 7, FD)
    waits.passed(110, 7, DISK, INODE)
    waits.returned(200, 7, 0)
    waits.passed(300, 7, DISK, INODE)
    waits.passed_somewhere(310, 8, INODE)
    assert times(waits) == {(7, DISK, INODE, FD): (1, 100)}
    assert waits.timeless == {(7, DISK, INODE, -1): 1, (8, 0, INODE, -1): 1}


def test_of_several_files_in_one_call_the_first_is_the_one() -> None:
    waits = Waits()
    waits.called(100, 7, FD)
    waits.entered(110, 7, DISK, INODE)
    waits.left(120, 7)
    waits.entered(130, 7, DISK, INODE + 1)
    waits.returned(200, 7, 0)
    assert times(waits) == {(7, DISK, INODE, FD): (1, 100)}


def test_threads_are_told_apart() -> None:
    waits = Waits()
    waits.called(100, 7, FD)
    waits.called(110, 8, FD)
    waits.returned(150, 7, 0)
    waits.returned(170, 8, 0)
    assert times(waits) == {(7, 0, 0, FD): (1, 50), (8, 0, 0, FD): (1, 60)}


def test_a_failed_sync_is_counted_with_its_errno() -> None:
    waits = Waits()
    waits.called(100, 7, FD)
    waits.returned(150, 7, -5)
    assert waits.failed == {(7, 0, 0, FD, 5): 1}


def test_a_fua_write_is_a_wait_unless_it_is_part_of_one() -> None:
    waits = Waits()
    waits.queued(100, 7, DISK, 88)
    waits.completed(160, DISK, 88)
    waits.called(200, 7, FD)
    waits.queued(210, 7, DISK, 88)
    waits.completed(260, DISK, 88)
    waits.returned(300, 7, 0)
    assert times(waits) == {(7, DISK, 0, -1): (1, 60), (7, 0, 0, FD): (1, 100)}


def test_an_end_without_a_beginning_is_nothing() -> None:
    waits = Waits()
    waits.returned(100, 7, 0)
    waits.left(100, 7)
    waits.completed(100, DISK, 88)
    assert times(waits) == {}


def test_what_has_not_returned_stays_open_over_a_look() -> None:
    waits = Waits()
    waits.called(100, 7, FD)
    waits.entered(110, 8, DISK, INODE)
    waits.clear()
    assert [(thread, file.fd, file.inode, since) for thread, file, since in waits.open()] == [
        (7, FD, 0, 100),
        (8, -1, INODE, 110),
    ]
    waits.returned(400, 7, 0)
    assert times(waits) == {(7, 0, 0, FD): (1, 300)}
    waits.forget(8)
    assert list(waits.open()) == []
