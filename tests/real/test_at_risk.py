"""``fstui watch --at-risk`` next to programs that write known amounts and sync them in known ways."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from fstui.model.at_risk import AtRisk, AtRiskReport, FileAtRisk, ProgramAtRisk
from fstui.state import ledger
from fstui.trace.reader.open_files import OpenFile, OpenFiles, Scope
from tests.real import disks, headless, processes, test_watch
from tests.real.disks import MIB

NO_COMMIT = "commit=300"
"""The journal's commit every 5 s would flush the device."""
PROGRAM = """
import mmap, os, sys
path, directory = sys.argv[1], os.path.dirname(sys.argv[1])
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
memory = mmap.mmap(-1, 1 << 20)
memory.write(os.urandom(1 << 20))
at = 0
with open("/proc/self/comm", "w") as name:
    name.write("writer")  # not the name of the process that runs the tests, as they would count as one program
print("ready", flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if word == "open":
        os.close(fd)
        fd = os.open(path, os.O_RDWR | getattr(os, rest[0]))
        at = 0
    elif word == "write":
        for _ in range(int(rest[0])):
            at += os.pwritev(fd, [memory], at)
    elif word == "map":
        mapped = mmap.mmap(fd, int(rest[0]) << 20)
        for page in range(0, len(mapped), 4096):
            mapped[page] = 1
    elif word == "msync":
        mapped.flush()
    elif word == "fsync":
        os.fsync(fd)
    elif word == "start_writeback":
        import ctypes
        ctypes.CDLL(None).sync_file_range(fd, ctypes.c_long(0), ctypes.c_long(0), 7)
    elif word == "rename":
        os.rename(path, path + ".new")
    elif word == "sync_directory":
        above = os.open(directory, os.O_RDONLY)
        os.fsync(above)
        os.close(above)
    elif word == "close":
        os.close(fd)
    print("done", flush=True)
"""


class Writer(NamedTuple):
    """A program that does what the test says, one step at a time."""

    path: Path
    process: subprocess.Popen[str]

    @property
    def pid(self) -> int:
        return self.process.pid

    def do(self, *steps: str) -> None:
        for step in steps:
            assert processes.say(self.process, step) == "done"


@contextmanager
def writing(path: Path, within: tuple[str, ...] = ()) -> Iterator[Writer]:
    with processes.program(PROGRAM, path, within=within) as process:
        yield Writer(path, process)


class Watch:
    """A running watch."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.second()

    def second(self) -> AtRisk:
        assert self.process.stdout
        return msgspec.convert(json.loads(self.process.stdout.readline())["second"], AtRisk)

    def until(self, is_so: Callable[[AtRisk], bool]) -> AtRisk:
        """Return the first state for which this holds, or the tenth."""
        for _ in range(10):
            if is_so(state := self.second()):
                break
        return state

    def ended(self) -> AtRiskReport:
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return msgspec.convert(json.loads(out.splitlines()[-1])["report"], AtRiskReport)


@contextmanager
def watch(*words: str | Path, within: tuple[str, ...] = ()) -> Iterator[Watch]:
    with test_watch.watch("--at-risk", *words, within=within) as process:
        yield Watch(process)


@contextmanager
def watched(workshop: Path, fstype: str = "ext4", options: str = "") -> Iterator[tuple[Writer, Watch]]:
    """Watch a filesystem and a program that has opened a file on it."""
    with (
        disks.on_loop(workshop, fstype, options=options, size_bytes=2 * disks.SIZE_BYTES) as storage,
        writing(storage.directory / "a file") as writer,
        watch("--mount", storage.directory) as watching,
    ):
        yield writer, watching


def file_of(state: AtRisk, path: Path) -> FileAtRisk | None:
    return next((row for row in state.files if row.path == str(path)), None)


def bytes_of(state: AtRisk, path: Path) -> tuple[int, int]:
    """Return what is not written, and what a disk's cache may hold."""
    row = file_of(state, path)
    return (row.dirty_bytes, row.cached_bytes) if row else (0, 0)


def program_of(state: AtRisk, pid: int) -> ProgramAtRisk:
    return next(each for each in state.programs if each.pid == pid)


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "btrfs"])
def test_unsynced_bytes_are_counted_until_their_sync(workshop: Path, fstype: str) -> None:
    with watched(workshop, fstype) as (writer, watching):
        path = writer.path
        writer.do("write 8", "fsync", "write 3")
        state = watching.until(lambda state: bytes_of(state, path)[0] > 0)
        assert bytes_of(state, path) == (3 * MIB, 0)
        program = program_of(state, writer.pid)
        assert (program.bytes, program.files, program.syncs) == (3 * MIB, 1, 1)
        writer.do("fsync")
        state = watching.until(lambda state: bytes_of(state, path) == (0, 0))
        assert bytes_of(state, path) == (0, 0)
        report = watching.ended()
    assert report.untraced is None and report.last.lost == 0
    (sentence,) = report.sentences
    assert f"({writer.pid}): nothing at risk now; since the watch began, at most 3.0 MiB" in sentence
    assert ledger.entries() == []


def test_a_program_that_syncs_each_write_shows_zero(workshop: Path) -> None:
    with (
        disks.on_loop(workshop) as storage,
        writing(path := storage.directory / "file") as writer,
        watch("--pid", str(writer.pid)) as watching,
    ):
        writer.do("open O_DSYNC", *["write 1"] * 20)
        state = watching.until(lambda state: bool(file_of(state, path)))
        row = file_of(state, path)
        assert row and (row.bytes, row.syncs) == (0, 20)
        assert "nothing at risk" in watching.ended().sentences[0]


def test_direct_writes_are_named_with_what_the_cache_holds(workshop: Path) -> None:
    with (
        disks.on_loop(workshop, options=NO_COMMIT) as storage,
        writing(storage.directory / "file") as writer,
    ):
        writer.do("write 8", "fsync", "open O_DIRECT")
        with watch("--mount", storage.directory) as watching:
            writer.do("write 4")
            state = watching.until(lambda state: program_of(state, writer.pid).direct_bytes >= 4 * MIB)
            program = program_of(state, writer.pid)
            assert (program.bytes, program.direct_files) == (0, 1)
            assert program.direct_bytes == pytest.approx(4 * MIB, rel=0.02)
            writer.do("fsync")
            state = watching.until(lambda state: program_of(state, writer.pid).direct_bytes < MIB)
            assert program_of(state, writer.pid).direct_bytes < MIB
            assert "O_DIRECT writes to 1 file are not counted" in watching.ended().sentences[0]


def test_written_pages_are_in_the_cache_until_a_flush(workshop: Path) -> None:
    with (
        disks.on_loop(workshop, options=NO_COMMIT) as storage,
        writing(path := storage.directory / "file") as writer,
    ):
        writer.do("write 8", "fsync", "open O_RDWR")
        with watch("--mount", storage.directory) as watching:
            writer.do("write 4")
            watching.until(lambda state: bytes_of(state, path)[0] > 0)
            writer.do("start_writeback")
            state = watching.until(lambda state: bytes_of(state, path)[1] > 0)
            assert bytes_of(state, path) == (0, 4 * MIB)


def test_no_volatile_cache_means_nothing_in_the_cache(workshop: Path) -> None:
    with disks.write_through(workshop) as storage, writing(path := storage.directory / "file") as writer:
        writer.do("write 8", "fsync", "open O_RDWR")
        with watch("--mount", storage.directory) as watching:
            writer.do("write 4")
            watching.until(lambda state: bytes_of(state, path)[0] > 0)
            writer.do("start_writeback")
            state = watching.until(lambda state: bytes_of(state, path) == (0, 0))
            assert bytes_of(state, path) == (0, 0)
            assert [disk.volatile for disk in state.devices if disk.device == storage.device] == [False]


def test_mapped_writes_are_counted_until_msync(workshop: Path) -> None:
    with watched(workshop) as (writer, watching):
        path = writer.path
        writer.do("write 2", "fsync", "map 2")
        state = watching.until(lambda state: bytes_of(state, path)[0] > 0)
        assert bytes_of(state, path) == (2 * MIB, 0)
        writer.do("msync")
        assert bytes_of(watching.until(lambda state: bytes_of(state, path) == (0, 0)), path) == (0, 0)


def test_a_rename_is_listed_until_its_directory_is_synced(workshop: Path) -> None:
    with watched(workshop, options=NO_COMMIT) as (writer, watching):
        writer.do("write 1", "fsync", "rename")
        state = watching.until(lambda state: bool(state.names))
        assert [(row.count, row.directory_label) for row in state.names] == [(1, str(writer.path.parent))]
        assert program_of(state, writer.pid).names == 1
        writer.do("sync_directory")
        assert watching.until(lambda state: not state.names).names == ()


def test_a_rename_with_a_sync_of_its_directory_is_not_listed(workshop: Path) -> None:
    with watched(workshop, options=NO_COMMIT) as (writer, watching):
        writer.do("write 1", "fsync", "rename", "sync_directory", "write 1")
        state = watching.until(lambda state: bytes_of(state, writer.path.with_name("a file.new"))[0] > 0)
        assert state.names == () and state.names_recorded


def test_a_closed_file_remains_until_the_kernel_writes_it(workshop: Path) -> None:
    with watched(workshop, options=NO_COMMIT) as (writer, watching):
        path = writer.path
        writer.do("write 4")
        watching.until(lambda state: bytes_of(state, path)[0] > 0)
        writer.do("close")
        state = watching.until(lambda state: bool((row := file_of(state, path)) and row.closed))
        row = file_of(state, path)
        assert row and row.closed and row.dirty_bytes == 4 * MIB


def test_a_file_of_two_programs_is_shared(workshop: Path) -> None:
    with (
        disks.on_loop(workshop) as storage,
        writing(path := storage.directory / "file") as one,
        writing(path) as other,
        watch("--mount", storage.directory) as watching,
    ):
        one.do("write 1")
        state = watching.until(lambda state: bytes_of(state, path)[0] > 0)
        row = file_of(state, path)
        assert row and [program.rpartition("(")[2] for program in row.programs] == sorted(
            f"{writer.pid})" for writer in (one, other)
        )
        assert all(program_of(state, writer.pid).shared_files == 1 for writer in (one, other))


def test_files_that_are_not_covered_are_counted(workshop: Path) -> None:
    with (
        disks.overlay(workshop) as storage,
        writing(storage.directory / "file") as writer,
        watch("--pid", str(writer.pid)) as watching,
    ):
        writer.do("write 1")
        watching.second()
        assert watching.second().not_covered == {"overlay": 1}


def test_a_deleted_file_is_not_at_risk(workshop: Path) -> None:
    with watched(workshop) as (writer, watching):
        writer.do("write 1")
        watching.until(lambda state: bytes_of(state, writer.path)[0] > 0)
        writer.path.unlink()
        state = watching.until(lambda state: not any(row.bytes for row in state.files))
        assert not any(row.bytes for row in state.files)


@pytest.mark.parametrize("descriptor_is_new", [False, True])
def test_a_reused_inode_number_belongs_to_another_file(workshop: Path, descriptor_is_new: bool) -> None:
    """The new file would have the age of the deleted one."""
    with disks.on_loop(workshop) as storage:
        path, files = storage.directory / "file", OpenFiles(Scope(pid=os.getpid()))

        def write_and_scan() -> OpenFile:
            with path.open("wb", buffering=0) as file:
                file.write(b"data")
                files.scan()
                status = os.fstat(file.fileno())
                return files.files[status.st_dev, status.st_ino]

        old = write_and_scan()
        path.unlink()
        with open(os.devnull) if descriptor_is_new else nullcontext():
            new = write_and_scan()
        assert (new.key, new.path) == (old.key, old.path) and new is not old
        files.close()


def test_direct_writes_to_a_block_device_are_counted(workshop: Path) -> None:
    with disks.loop(workshop / "disk.img") as device, writing(Path("/dev") / device) as writer:
        with watch("--pid", str(writer.pid)) as watching:
            writer.do("write 2")
            state = watching.until(lambda state: bytes_of(state, writer.path)[0] > 0)
        assert bytes_of(state, writer.path) == (2 * MIB, 0)


@pytest.mark.parametrize(
    ("journal", "synchronous", "is_at_risk"),
    [("wal", "FULL", False), ("wal", "NORMAL", True), ("delete", "FULL", False), ("delete", "OFF", True)],
)
def test_sqlite_shows_what_its_setting_promises(
    workshop: Path, journal: str, synchronous: str, is_at_risk: bool
) -> None:
    with disks.on_loop(workshop, options=NO_COMMIT) as storage, watch("--mount", storage.directory) as watching:
        database = sqlite3.connect(storage.directory / "db", isolation_level=None)
        database.execute(f"pragma journal_mode = {journal}")
        database.execute(f"pragma synchronous = {synchronous}")
        database.execute("create table rows (value blob)")
        for _ in range(100):
            database.execute("insert into rows values (randomblob(1000))")
        log = storage.directory / ("db-wal" if journal == "wal" else "db")
        state = watching.until(lambda state: (bytes_of(state, log)[0] > 0) == is_at_risk)
        assert bytes_of(state, storage.directory / "db-shm") == (0, 0), "SQLite rebuilds it after a crash"
        written = log.stat().st_size if is_at_risk else 0
        assert bytes_of(state, log)[0] == pytest.approx(written, abs=4096)
        database.close()


def log_of(state: AtRisk) -> FileAtRisk:
    """Return the row of Redis's append-only file."""
    (row,) = (row for row in state.files if row.path.endswith("incr.aof"))
    return row


@pytest.mark.parametrize(("how", "is_at_risk"), [("always", False), ("everysec", True), ("no", True)])
def test_redis_shows_what_appendfsync_promises(workshop: Path, how: str, is_at_risk: bool) -> None:
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is missing: apt-get install redis-server")
    with disks.on_loop(workshop, options=NO_COMMIT) as storage:
        place = storage.directory
        words = ("--port", "0", "--unixsocket", f"{place}/socket", "--dir", str(place), "--save", "")
        server = subprocess.Popen(
            ["redis-server", *words, "--appendonly", "yes", "--appendfsync", how], stdout=subprocess.DEVNULL
        )
        try:
            with watch("--pid", str(server.pid)) as watching:
                with redis_writes(place / "socket") as sent:
                    for _ in range(3):
                        state = watching.second()
                    if is_at_risk:  # seconds in succession may each begin just after the sync of "everysec"
                        state = watching.until(lambda state: log_of(state).most_bytes > 0)
                row = log_of(state)
                assert (row.most_bytes > 0) == is_at_risk
                assert row.most_bytes <= 1100 * len(sent) + 4096
                assert (row.syncs == 0) == (how == "no")
        finally:
            server.terminate()
            server.wait()


@contextmanager
def redis_writes(path: Path) -> Iterator[list[bytes]]:
    """Set keys to 1 000 bytes each in a thread. Yield the answers so far; each is less than 1 100 bytes in the log."""
    answers: list[bytes] = []
    stopping = threading.Event()

    def write() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            while connection.connect_ex(str(path)):
                os.sched_yield()
            while not stopping.wait(0.005):
                connection.sendall(b"SET %d %s\r\n" % (len(answers) % 1000, b"x" * 1000))
                answers.append(connection.recv(100))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield answers
    finally:
        stopping.set()
        writer.join()


def test_without_root_only_own_processes_are_examined(workshop: Path) -> None:
    become = processes.nobody("dac_override")
    with (
        disks.on_loop(workshop) as storage,
        writing(storage.directory / "file") as writer,
        writing(own := storage.directory / "own", become) as own_writer,
        watch("--mount", storage.directory, within=become) as watching,
    ):
        writer.do("write 1")
        own_writer.do("write 2")
        state = watching.until(lambda state: bytes_of(state, own)[0] > 0)
        assert state.unreadable > 0
        assert [(row.path, row.dirty_bytes, row.syncs) for row in state.files] == [(str(own), 2 * MIB, None)]
        report = watching.ended()
    assert report.untraced == "only root may trace the kernel"
    assert any("run fstui as root" in limit for limit in report.limits)


def test_a_missing_process_is_refused() -> None:
    done = headless.call("watch", "--at-risk", "--pid", "0")
    assert (done.returncode, done.stderr.decode()) == (2, "fstui: There is no process 0.\n")


def test_the_text_ends_with_a_sentence_for_each_program(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, writing(storage.directory / "file") as writer:
        writer.do("write 2")
        done = headless.call("watch", "--at-risk", "--seconds", "1", "--pid", str(writer.pid))
    text = done.stdout.decode()
    assert text.startswith(f"data at risk in a power cut: process {writer.pid}"), done.stderr.decode()
    assert f"({writer.pid}): up to 2.0 MiB not durable, in 1 file; oldest ≥" in " ".join(text.split())


@pytest.mark.parametrize("options", ["", "barrier=0"])
def test_storage_that_drops_syncs_puts_everything_at_risk(workshop: Path, options: str) -> None:
    with disks.on_loop(workshop, options=options) as storage:
        done = headless.call("watch", "--at-risk", "--seconds", "1", "--mount", storage.directory)
        document = headless.call(
            "watch", "--at-risk", "--seconds", "1", "--mount", storage.directory, "--format", "json"
        )
    text, limits = " ".join(done.stdout.decode().split()), json.loads(document.stdout)["limits"]
    assert (f"even synced data on {storage.directory} is at risk" in text) == bool(options)
    for said in (text, " ".join(limits)):
        assert (f"Not counted: synced bytes on {storage.directory}." in said) == bool(options)
