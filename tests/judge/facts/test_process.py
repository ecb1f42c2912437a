"""Signs that a process' syncs are answered in the kernel's place."""

from __future__ import annotations

from fstui.judge.facts.process import io_limits, named, stub_signs
from fstui.model.host import Process
from tests.factories.evidence import HONEST_PROCESS
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
