"""Signs that a process' syncs are answered in the kernel's place."""

from __future__ import annotations

import msgspec
import pytest

from fstui.judge.facts import Case
from fstui.judge.facts.process import io_limits, named, stub_signs
from fstui.model.counters import Idle
from fstui.model.host import Process
from fstui.model.run import Evidence
from tests.factories.evidence import HONEST_PROCESS
from tests.factories.runs import target
from tests.factories.storage import readings


def test_each_sign_is_a_line() -> None:
    stubbed = Process(
        pipe_fsync_fails=False,
        futile_syncs={"fsync": (60, 3), "msync": (60, 0)},
        dsync_flag_kept=False,
        libc_sync_ns=1_100,
        raw_sync_ns=101_000,
        preloads=readings(preload="/usr/lib/libeatmydata.so"),
    )
    assert list(stub_signs(stubbed)) == [
        "fsync of a pipe: succeeded; the kernel refuses it with EINVAL",
        "fsync of what cannot be synced: 3 of 60 succeeded; the kernel refuses each",
        "O_DSYNC: taken away from the file that was opened with it (F_GETFL)",
        "libc's fdatasync: 1.1 µs; the raw system call: 101 µs",
        "preloaded: /usr/lib/libeatmydata.so (/read/preload)",
    ]
    assert list(stub_signs(HONEST_PROCESS)) == list(stub_signs(Process())) == []


def test_a_process_has_a_name_and_its_limits() -> None:
    database = Process(pid=812, name="mysqld", io_limits=readings(wiops="100"))
    assert named(database) == "mysqld (812)" and named(Process(pid=3)) == "process (3)"
    assert list(io_limits(database, "its limit")) == ["its limit: wiops 100 (/read/wiops)"]


ANSWERED = {"fsync": (75, 45), "fdatasync": (75, 0)}


def test_what_answers_as_syncfs_does_and_leaves_nothing_dirty_is_no_stub() -> None:
    seen = Process(pipe_fsync_fails=False, futile_syncs=ANSWERED, answered_like={"fsync": "syncfs"})
    assert len(list(stub_signs(seen))) == 2, "on an overlay, or before Linux 6.5, the page cache does not tell"
    assert list(stub_signs(msgspec.structs.replace(seen, left_dirty={"fsync": (12, 0)}))) == []
    (*_, left) = stub_signs(msgspec.structs.replace(seen, left_dirty={"fsync": (12, 6)}))
    assert left == "fsync: 6 of 12 left their file dirty in memory; the system call leaves none"


def test_one_page_of_all_that_was_left_dirty_is_no_sign() -> None:
    """A page whose write has ended may be told so a moment later."""
    assert list(stub_signs(Process(left_dirty={"fsync": (76, 1), "fdatasync": (76, 0)}))) == []
    assert len(list(stub_signs(Process(left_dirty={"fsync": (12, 1), "fdatasync": (12, 1)})))) == 2


@pytest.mark.parametrize(("tried", "clean", "honest"), [(12, 12, True), (12, 11, False), (12, 0, False), (1, 1, False)])
def test_what_answers_everywhere_must_have_synced_other_files_each_time(tried: int, clean: int, honest: bool) -> None:
    seen = Process(
        futile_syncs={"fsync": (75, 75)},
        answered_like={"fsync": "sync"},
        left_dirty={"fsync": (tried, 0)},
        others_clean={"fsync": (tried, clean)},
    )
    assert (list(stub_signs(seen)) == []) is honest


def test_the_likeness_ends_where_an_answer_differs() -> None:
    seen = Process(futile_syncs={"fsync": (75, 45)}, answered_like={"fsync": "syncfs"})
    assert seen.answering({"fsync": (50, 0)}).answered_like == {"fsync": "syncfs"}
    assert seen.answering({"fdatasync": (50, 1)}).answered_like == {"fsync": "syncfs"}
    answering = seen.answering({"fsync": (50, 5)})
    assert answering.answered_like == {} and answering.futile_syncs == {"fsync": (125, 50)}
    all_answered = Process(answered_like={"fsync": "sync"})
    assert all_answered.answering({"fsync": (50, 50)}).answered_like == {"fsync": "sync"}
    assert all_answered.answering({"fsync": (50, 49)}).answered_like == {}


def test_an_o_dsync_that_a_library_makes_by_itself_is_no_stub() -> None:
    """It takes the flag away, and syncs after each write."""
    assert list(stub_signs(Process(dsync_flag_kept=False, left_dirty={"O_DSYNC": (3, 0)}))) == []
    assert list(stub_signs(Process(dsync_flag_kept=False, left_dirty={"O_DSYNC": (3, 1)})))
    assert list(stub_signs(Process(dsync_flag_kept=True, left_dirty={"O_DSYNC": (3, 3)}))) == []


def test_what_was_answered_while_the_devices_were_watched_counts() -> None:
    idle = Idle(elapsed_s=1.0, futile_syncs={"fsync": (50, 5), "fdatasync": (50, 0)})
    seen = Evidence(process=HONEST_PROCESS, idle=idle, target=target())
    assert Case(seen).configuration.stub_signs == (
        "fsync of what cannot be synced: 5 of 50 succeeded; the kernel refuses each",
    )
