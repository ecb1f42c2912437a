"""The files of one writer: prepared before the first acknowledgement, then written and synced record by record."""

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fstui.measure.wire.own_directory import create
from fstui.measure.wire.stdio import CallError, checked_call, write_whole
from fstui.powercut.records import Stream, Sync
from fstui.powercut.server import RecordServer

FLAGS: dict[Sync, int] = {
    "fsync": 0,
    "fdatasync": 0,
    "O_DSYNC": os.O_DSYNC,
    "O_DIRECT+O_DSYNC": os.O_DIRECT | os.O_DSYNC,
}
SYNCS: dict[Sync, Callable[[int], None]] = {"fsync": os.fsync, "fdatasync": os.fdatasync}
PUT_STATEMENT = "INSERT OR REPLACE INTO records VALUES (?, ?)"
_BASE_FLAGS = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


def sync_directory(path: str) -> None:
    fd = checked_call("open", os.open, path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        checked_call("fsync", os.fsync, fd)
    finally:
        os.close(fd)


def prepare(directory: str, run_id: str, streams: list[Stream], servers: dict[str, Any]) -> tuple[int, int]:
    """Create and sync the directory and its files. Return its device and inode. Raises CallError, ProgramError."""
    directory_fd = checked_call("mkdir", create, directory)
    os.fchdir(directory_fd)
    for stream in streams:
        writer_directory = f"w{stream.writer}"
        checked_call("mkdir", os.mkdir, writer_directory, 0o700)
        if stream.uses_server:
            RecordServer(servers[stream.write_method], writer_directory, run_id, stream).create_data()
        else:
            (fill_database if stream.write_method == "sqlite" else fill_file)(stream, writer_directory, run_id)
        sync_directory(writer_directory)
    sync_directory(".")
    sync_directory("..")
    status = os.fstat(directory_fd)
    return status.st_dev, status.st_ino


def fill_file(stream: Stream, directory: str, run_id: str) -> None:
    """Write the records that will be overwritten. For other write methods, check that a file can be opened."""
    fd = checked_call("open", os.open, f"{directory}/0", _BASE_FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if stream.overwrites:
            for sequence in range(stream.records_per_file):
                checked_call("pwrite", write_whole, fd, stream.pack(run_id, sequence), stream.position(sequence)[1])
            checked_call("fsync", os.fsync, fd)
        os.close(checked_call("open", os.open, f"{directory}/0", _BASE_FLAGS | FLAGS[stream.sync]))
        if not stream.overwrites:
            checked_call("unlink", os.unlink, f"{directory}/0")
    finally:
        os.close(fd)


class WriterFiles:
    """The files of one writer, unless a database stores its records."""

    def __init__(self, run_id: str, stream: Stream) -> None:
        self.run_id = run_id
        self.stream = stream
        self.directory = f"w{stream.writer}"
        self.directory_fd = checked_call("open", os.open, self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.flags = _BASE_FLAGS | FLAGS[stream.sync]
        if stream.write_method == "append":
            self.flags |= os.O_APPEND
        self.suffix = ".new" if stream.write_method == "rename" else ""
        self.sync = SYNCS.get(stream.sync)
        self.buffer = mmap.mmap(-1, stream.block_bytes)  # page-aligned, as O_DIRECT requires
        self.file_number = -1
        self.fd = -1

    def put(self, sequence: int) -> None:
        """Write and sync a record. The previous record must have been acknowledged. Raises CallError."""
        self.remove_old(sequence - 1)
        number, offset = self.stream.position(sequence)
        starts_file = number != self.file_number
        if starts_file:
            self.open(number)
        self.buffer[:] = self.stream.pack(self.run_id, sequence)
        checked_call("pwrite", write_whole, self.fd, self.buffer, offset)
        if self.sync:
            checked_call(self.stream.sync, self.sync, self.fd)
        if self.suffix:
            checked_call("rename", os.rename, f"{self.directory}/{number}{self.suffix}", f"{self.directory}/{number}")
        if starts_file and not self.stream.overwrites and self.stream.syncs_directory:
            checked_call("fsync of the directory", os.fsync, self.directory_fd)

    def open(self, number: int) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        creation = 0 if self.stream.overwrites else os.O_CREAT | os.O_EXCL
        self.fd = checked_call("open", os.open, f"{self.directory}/{number}{self.suffix}", self.flags | creation, 0o600)
        self.file_number = number

    def remove_old(self, sequence: int) -> None:
        """Remove the file that is no longer needed now that this record was acknowledged."""
        number, offset = self.stream.position(sequence)
        old = number - self.stream.kept_files
        is_first_of_file = offset == 0
        if is_first_of_file and old >= 0 and not self.stream.overwrites:
            checked_call("unlink", os.unlink, f"{self.directory}/{old}")


def fill_database(stream: Stream, directory: str, run_id: str) -> None:
    os.close(checked_call("open", os.open, f"{directory}/0", _BASE_FLAGS | os.O_CREAT | os.O_EXCL, 0o600))
    with sqlite_module() as sqlite3:
        database = sqlite3.connect(f"{directory}/0", isolation_level=None)
        database.execute("CREATE TABLE records (place INTEGER PRIMARY KEY, block BLOB)")
        database.execute("BEGIN")
        rows = (stream.row(run_id, sequence) for sequence in range(stream.records_per_file))
        database.executemany(PUT_STATEMENT, rows)
        database.execute("COMMIT")
        database.close()


class RecordDatabase:
    """The SQLite database of one writer. Each record is a transaction, which synchronous=FULL makes durable
    (https://www.sqlite.org/pragma.html)."""

    def __init__(self, run_id: str, stream: Stream) -> None:
        self.run_id = run_id
        self.stream = stream
        with sqlite_module() as sqlite3:
            self.connection = sqlite3.connect(f"file:w{stream.writer}/0?mode=rw", uri=True, isolation_level=None)
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
                self.connection.execute(f"PRAGMA {pragma}")

    def put(self, sequence: int) -> None:
        with sqlite_module():
            self.connection.execute(PUT_STATEMENT, self.stream.row(self.run_id, sequence))


Output = WriterFiles | RecordDatabase | RecordServer


@contextmanager
def sqlite_module() -> Iterator[Any]:
    """Yield the module sqlite3, which some Pythons lack. Turn its errors into CallError."""
    try:
        import sqlite3  # noqa: PLC0415
    except ImportError as error:
        raise CallError("sqlite", OSError("this Python has no module sqlite3")) from error
    try:
        yield sqlite3
    except sqlite3.Error as error:
        raise CallError("sqlite", OSError(str(error))) from error
