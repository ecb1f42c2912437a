import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fstui.model.watch import FileWaits, WatchReport
from fstui.state import ledger
from fstui.trace.reader.blocked import frozen_write, running_syncs
from tests.real import disks, headless, processes

SYNCS = 150
PROGRAM = """
import ctypes, mmap, os, sys
how, path, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
flags = os.O_RDWR | os.O_CREAT | (os.O_DSYNC if how == "O_DSYNC" else 0)
fd = os.open(path, flags, 0o600)
os.pwrite(fd, bytes(4096), 0)
os.fsync(fd)
memory = mmap.mmap(fd, 4096)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
print("ready", flush=True)
sys.stdin.readline()
for number in range(times):
    if how == "msync":
        memory[number] = 1
        memory.flush()
    elif how == "msync(MS_ASYNC)":
        memory[number] = 1
        ctypes.CDLL(None).msync(address, ctypes.c_size_t(4096), 1)
    elif how == "sync_file_range":
        os.pwrite(fd, b"x", number)
        ctypes.CDLL(None).sync_file_range(fd, ctypes.c_long(0), ctypes.c_long(0), 7)
    else:
        os.pwrite(fd, b"x", number)
        if how != "O_DSYNC":
            getattr(os, how)(fd)
print("done", flush=True)
sys.stdin.readline()
"""


def syncing(how: str, path: Path, within: tuple[str, ...] = ()) -> AbstractContextManager[subprocess.Popen[str]]:
    """A program that has opened its file and waits for the start."""
    return processes.program(PROGRAM, how, path, SYNCS, within=within)


def sync(program: subprocess.Popen[str]) -> None:
    """Let the program sync its file."""
    assert processes.say(program) == "done"


@contextmanager
def watch(*words: str | Path, within: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    process = headless.start("watch", "--format", "events", *words, within=within)
    try:
        assert process.stdout and process.stderr
        first = process.stdout.readline()
        assert first and json.loads(first)["event"].endswith("Started"), process.stderr.read().decode()
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[bytes]) -> WatchReport:
    assert process.stdout
    while json.loads(process.stdout.readline())["event"] != "WatchedSecond":
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    last = json.loads(out.splitlines()[-1])
    assert last["event"] == "WatchFinished"
    return report_of(last["report"])


def report_of(told: Any) -> WatchReport:
    return msgspec.convert(told, WatchReport, strict=False)


def row_of(report: WatchReport, path: Path) -> FileWaits:
    rows = [row for row in report.total.waits if row.file == str(path)]
    assert len(rows) == 1, [(row.program, row.file_label, row.syncs) for row in report.total.waits]
    return rows[0]


@pytest.mark.parametrize("how", ["fsync", "fdatasync", "O_DSYNC", "msync"])
def test_every_sync_method_is_counted_with_program_and_file(workshop: Path, how: str) -> None:
    with disks.on_loop(workshop) as storage, syncing(how, path := storage.directory / "a file") as program:
        with watch("--mount", storage.directory) as watching:
            sync(program)
            report = ended(watching)
        row = row_of(report, path)
    assert (report.untraced, report.total.lost) == (None, 0)
    assert (row.pid, row.syncs, row.files, row.device) == (program.pid, SYNCS, 1, storage.device)
    assert row.program.startswith("python")
    assert row.latency_ns and row.device_ns is not None
    assert 0 < row.device_ns <= row.waited_ns / SYNCS
    (device,) = (one for one in report.total.devices if one.device == storage.device)
    assert device.flushes is not None and device.flushes >= SYNCS
    assert device.flush_ns and device.write_ns


def test_a_write_to_a_frozen_filesystem_is_named(workshop: Path) -> None:
    with (
        disks.on_loop(workshop) as storage,
        syncing("fdatasync", path := storage.directory / "file") as program,
        watch("--mount", storage.directory) as watching,
    ):
        assert program.stdin and program.stdout and watching.stdout
        with disks.frozen(storage.directory):
            program.stdin.write("\n")
            program.stdin.flush()
            named = f"The filesystem is frozen: {program_label(program)} waits to write to {path}, for"
            sentences = (json.loads(line).get("sentence", "") for line in islice(watching.stdout, 20))
            assert any(sentence.startswith(named) for sentence in sentences)
        assert program.stdout.readline().strip() == "done"
        row = row_of(ended(watching), path)
    assert row.frozen_ns and row.syncs == SYNCS + 1


@pytest.mark.parametrize(("call", "is_on_file"), [("os.truncate(fd, 0)", True), ("os.open('new', os.O_CREAT)", False)])
def test_only_a_call_on_a_file_has_its_descriptor(workshop: Path, call: str, is_on_file: bool) -> None:
    opening = "import os, sys; os.chdir(sys.argv[1]); fd = os.open('file', os.O_RDWR | os.O_CREAT); "
    text = f"{opening}print(flush=True); input(); {call}"
    with disks.on_loop(workshop) as storage, processes.program(text, storage.directory) as program:
        (fd,) = (fd for fd in range(3, 20) if Path(f"/proc/{program.pid}/fd/{fd}").exists())
        assert program.stdin
        with disks.frozen(storage.directory):
            program.stdin.write("\n")
            program.stdin.flush()
            assert processes.eventually(lambda: frozen_write(program.pid) is not None)
            assert frozen_write(program.pid) == (fd if is_on_file else -1)


def program_label(program: subprocess.Popen[str]) -> str:
    return f"{Path(f'/proc/{program.pid}/comm').read_text().strip()} ({program.pid})"


def test_a_sync_that_hangs_before_the_watch_begins_is_named(workshop: Path) -> None:
    with (
        disks.on_loop(workshop) as lower,
        disks.on_loop(lower.directory, size_bytes=disks.SIZE_BYTES // 2) as storage,
        syncing("fdatasync", path := storage.directory / "file") as program,
    ):
        assert program.stdin and program.stdout
        with disks.frozen(lower.directory):
            program.stdin.write("\n")
            program.stdin.flush()
            assert processes.eventually(lambda: program.pid in dict(running_syncs()))
            with watch("--mount", storage.directory) as watching:
                assert watching.stdout
                named = f"{program_label(program)} still waits for a sync of {path}, for"
                sentences = (json.loads(line).get("sentence", "") for line in islice(watching.stdout, 5))
                assert any(sentence.startswith(named) for sentence in sentences)
        assert program.stdout.readline().strip() == "done"


def test_sync_file_range_does_not_count_as_a_sync(workshop: Path) -> None:
    """The call writes pages and waits for them, but sends no flush and no metadata."""
    with (
        disks.on_loop(workshop) as storage,
        syncing("sync_file_range", storage.directory / "file") as program,
        watch("--mount", storage.directory) as watching,
    ):
        sync(program)
        report = ended(watching)
    assert report.untraced is None
    assert [row for row in report.total.waits if row.pid == program.pid] == []
    (device,) = (one for one in report.total.devices if one.device == storage.device)
    assert device.written_bytes, "its writes are counted"


def test_an_msync_that_does_not_wait_is_no_sync(workshop: Path) -> None:
    """The kernel does nothing for MS_ASYNC: the page stays dirty (mm/msync.c)."""
    with (
        disks.on_loop(workshop) as storage,
        syncing("msync(MS_ASYNC)", storage.directory / "file") as program,
        watch("--pid", str(program.pid)) as watching,
    ):
        sync(program)
        report = ended(watching)
    assert report.untraced is None
    assert [row for row in report.total.waits if row.pid == program.pid] == []


def test_a_limit_of_the_cgroup_is_read(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        assert storage.device
        with disks.write_limit(storage.device, per_s=100) as within:
            path = storage.directory / "file"
            with syncing("fdatasync", path, within) as program, watch("--mount", storage.directory) as watching:
                sync(program)
                report = ended(watching)
    (limit,) = row_of(report, path).io_limits
    assert limit.startswith(f"{storage.device} ") and limit.endswith("iops 100")


@pytest.mark.parametrize("fstype", ["xfs", "btrfs"])
@pytest.mark.parametrize("how", ["fdatasync", "O_DSYNC"])
def test_filesystems_without_an_event_for_the_end_of_a_sync(workshop: Path, fstype: str, how: str) -> None:
    with disks.on_loop(workshop, fstype) as storage, syncing(how, path := storage.directory / "file") as program:
        with watch("--mount", storage.directory) as watching:
            sync(program)
            report = ended(watching)
        row = row_of(report, path)
    assert row.syncs == SYNCS
    assert (row.latency_ns is None) == (how == "O_DSYNC"), "the system call around it tells, where there is one"


def test_one_process_is_watched_with_its_children(workshop: Path) -> None:
    parent_of = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    with disks.on_loop(workshop) as storage, syncing("fsync", storage.directory / "other") as other:
        below = (sys.executable, "-c", PROGRAM, "fsync", storage.directory / "child's", SYNCS)
        with processes.program(parent_of, *below) as parent, watch("--pid", str(parent.pid)) as watching:
            sync(parent)
            sync(other)
            report = ended(watching)
            processes.say(parent)  # its child ends
    assert [(row.file_label, row.syncs) for row in report.total.waits] == [(str(storage.directory / "child's"), SYNCS)]


def test_removed_files_are_counted_together(workshop: Path) -> None:
    program = """
import os, sys
for number in range(40):
    fd = os.open(f"{sys.argv[1]}/{number}", os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"x")
    os.fsync(fd)
    os.close(fd)
"""
    with disks.on_loop(workshop) as storage, watch("--mount", storage.directory) as watching:
        process = subprocess.Popen([sys.executable, "-c", program, storage.directory])
        process.wait()
        report = ended(watching)
    rows = [row for row in report.total.waits if row.pid == process.pid]
    assert sum(row.syncs for row in rows) == 40
    assert any(row.files > 30 for row in rows)
    assert all(row.program.startswith("python") for row in rows), "the kernel keeps the name of the dead"


def test_without_root_it_reports_what_proc_shows(workshop: Path) -> None:
    with (
        disks.on_loop(workshop) as storage,
        syncing("fsync", storage.directory / "file") as program,
        watch(within=processes.nobody("dac_override")) as watching,
    ):
        sync(program)
        report = ended(watching)
    assert (report.untraced, report.culprit) == ("only root may trace the kernel", "unknown")
    assert report.total.waits == ()
    (device,) = (one for one in report.total.devices if one.device == storage.device)
    assert device.flushes is not None and device.flushes >= SYNCS
    assert report.sentence.startswith("fstui cannot see which program waits: only root may trace the kernel.")


def test_pid_namespace_of_a_container_is_reported_without_names() -> None:
    """The kernel's process ids are those of the host and would name other programs."""
    unshare = disks.tool("unshare")
    done = headless.call(
        "watch", "--seconds", "1", "--format", "json", within=(unshare, "--pid", "--fork", "--mount-proc")
    )
    report = report_of(json.loads(done.stdout))
    assert report.untraced and "in a container" in report.untraced
    assert report.total.waits == ()
    assert report.sentence.startswith("fstui cannot see which program waits:")


def test_time_limit_ends_it_with_text_and_one_document(workshop: Path) -> None:
    done = headless.call("watch", "--seconds", "1")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().startswith("watched all programs for")
    done = headless.call("watch", "--seconds", "1", "--format", "json")
    assert report_of(json.loads(done.stdout)).total.elapsed_s >= 0.9
    assert ledger.entries() == []


def test_missing_process_is_refused() -> None:
    done = headless.call("watch", "--pid", "0")
    assert (done.returncode, done.stderr.decode()) == (2, "fstui: There is no process 0.\n")


def test_clean_removes_its_trace_instances_after_kill_9() -> None:
    with watch() as watching:
        (child,) = processes.children_running(watching.pid, "watch")
        processes.kill([child])
        watching.kill()
        watching.wait()
    assert processes.all_end([child])
    (entry,) = ledger.stale_entries()
    done = headless.call("clean")
    assert (done.returncode, done.stdout.decode()) == (0, f"removed {entry.what}\n"), done.stderr.decode()
    assert ledger.entries() == []
