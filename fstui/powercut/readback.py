"""Child: reads the records of a power-cut test back, and changes nothing. The parent abandons it if the storage hangs.

stdin: one JSON line: ``directory``, ``run``, ``streams``, ``last`` (the newest acknowledged sequence number by writer),
``servers`` (see ``fstui.powercut.server``), and ``copies``: the directory for copies of databases with its identity, or
null without databases.
stdout: JSON lines: ``error`` if the records cannot be read; ``found`` (whether the directory exists) with ``ended``
(why the writer stopped by itself); then for each writer its counts, ``oldest`` (its oldest lost record) and
``not_recovered`` (why its database server did not start again).

An acknowledged record must exist, or, in an overwritten file, a newer record in its place. One write per writer may
have been in flight, so the record in the place after the newest record may be torn or unreadable. It counts as
``in_flight``. The missing file of a writer that does not sync the directory counts as ``unpromised``.
"""

import errno
import fcntl
import mmap
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from fstui.measure.wire.stdio import (
    CallError,
    ProgramError,
    checked_call,
    die_with_parent,
    enter_run_directory,
    read_settings,
    say,
)
from fstui.powercut.records import END_REASON_FILE, LOSS_KINDS, Record, Stream, unpack
from fstui.powercut.server import RecordServer, ServerTimeoutError

SQLITE_DAMAGED = (1, 11, 26)
"""SQLITE_ERROR (no such table), SQLITE_CORRUPT, SQLITE_NOTADB: errors that the content of a database causes."""
SERVER_LOCKS = frozenset({"postmaster.pid", "socket.lock"})
"""Files with the process id of the server that the cut ended. Another process may have this id now."""
WHOLE_FILE = -1
"""The offset that ``StoredRecords.read_file`` yields if the file could not be read."""
COPY_BYTES = 1 << 20
MAX_REASON_BYTES = 1000


def open_to_read(path: str) -> int:
    """Open the file, if possible with O_DIRECT, because the test is about the content of the disk."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_DIRECT)
    except OSError:
        fd = os.open(path, flags)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return fd


class StoredRecords:
    """Reads the files of one writer block by block."""

    def __init__(self, directory: str, run_id: str, stream: Stream) -> None:
        self.directory = directory
        self.run_id = run_id
        self.stream = stream
        self.buffer = mmap.mmap(-1, stream.block_bytes)
        self.not_recovered = ""
        """Why a database server did not start again."""
        self._records: dict[int, dict[int, Record]] = {}
        """The records that were read: number of the file → offset → record."""

    def file_numbers(self) -> list[int]:
        try:
            return sorted(int(name) for name in os.listdir(self.directory) if name.isdecimal())
        except OSError:
            return []

    def file_records(self, number: int) -> dict[int, Record]:
        """Return the records of a file by their offsets. Each file is read once."""
        if number not in self._records:
            self._records[number] = dict(self.read_file(number))
        return self._records[number]

    def record_at(self, number: int, offset: int) -> Record:
        records = self.file_records(number)
        return records.get(WHOLE_FILE) or records.get(offset, Record("missing"))

    def intact_sequences(self) -> Iterator[int]:
        """Yield the sequence numbers of the writer's intact records that are in their own places."""
        for number in self.file_numbers():
            for offset, record in self.file_records(number).items():
                is_own = (record.kind, record.run_id, record.writer) == ("intact", self.run_id, self.stream.writer)
                if is_own and self.stream.position(record.sequence) == (number, offset):
                    yield record.sequence

    def read_file(self, number: int) -> Iterator[tuple[int, Record]]:
        """Yield the offset and the record of each block, or only one record with the offset WHOLE_FILE."""
        try:
            fd = open_to_read(f"{self.directory}/{number}")
        except FileNotFoundError:
            yield WHOLE_FILE, Record("no file")
            return
        except OSError:
            yield WHOLE_FILE, Record("unreadable")
            return
        try:
            size = os.fstat(fd).st_size if stat.S_ISREG(os.fstat(fd).st_mode) else 0
            block_bytes = self.stream.block_bytes
            for offset in range(0, min(size, self.stream.records_per_file * block_bytes), block_bytes):
                yield offset, self.read_block(fd, offset)
        finally:
            os.close(fd)

    def read_block(self, fd: int, offset: int) -> Record:
        try:
            try:
                length = os.preadv(fd, [self.buffer], offset)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                fcntl.fcntl(fd, fcntl.F_SETFL, 0)  # this filesystem accepts O_DIRECT only in open(2)
                length = os.preadv(fd, [self.buffer], offset)
        except OSError:
            return Record("unreadable")
        return unpack(memoryview(self.buffer)[:length])


class RecoveredRows(StoredRecords):
    """Reads the rows of a database in a copy, because a database that recovers writes to its files. All rows count as
    one file."""

    def file_numbers(self) -> list[int]:
        return [0]

    def read_file(self, number: int) -> Iterator[tuple[int, Record]]:
        try:
            rows = self.read_rows()
        except CallError as error:
            yield WHOLE_FILE, Record("no file" if error.errno == errno.ENOENT else "unreadable")
            return
        finally:
            remove_copies()
        for place, block in rows:
            if isinstance(place, int) and isinstance(block, bytes):
                yield place, unpack(block[: self.stream.block_bytes])

    def read_rows(self) -> list[tuple[Any, Any]]:
        """Return the rows. Raises CallError if the files of the database cannot be read, or if it is damaged.

        Any other error is a fault of this host, and proves nothing about the disk.
        """
        raise NotImplementedError


class RecoveredDatabase(RecoveredRows):
    def read_rows(self) -> list[tuple[Any, Any]]:
        import sqlite3  # noqa: PLC0415  some Pythons lack it

        copy_file(f"{self.directory}/0", "copy", self.stream.max_stored_bytes)
        if os.path.exists(f"{self.directory}/0-wal"):
            copy_file(f"{self.directory}/0-wal", "copy-wal", self.stream.max_stored_bytes)
        with closing(sqlite3.connect("copy")) as database:
            try:
                return database.execute("SELECT place, block FROM records").fetchall()
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF in SQLITE_DAMAGED:
                    raise CallError("sqlite", OSError(str(error))) from error
                raise


class RecoveredServer(RecoveredRows):
    def __init__(self, directory: str, run_id: str, stream: Stream, settings: dict[str, Any]) -> None:
        super().__init__(directory, run_id, stream)
        self.settings = settings

    def read_rows(self) -> list[tuple[Any, Any]]:
        copy_tree(self.directory, "copy")
        server = RecordServer(self.settings, "copy", self.run_id, self.stream)
        try:
            server.start()
            return list(server.rows())
        except ProgramError as trouble:
            if isinstance(trouble, ServerTimeoutError) or server.was_killed:
                raise
            self.not_recovered = f"{trouble}. The end of its log: {server.last_lines()}"
        finally:
            server.kill()
        self.check_server()
        raise CallError("recover", OSError(self.not_recovered))

    def check_server(self) -> None:
        """Raise ProgramError if a server with new data does not work either: the old data may then be intact."""
        os.mkdir("new", 0o700)
        server = RecordServer(self.settings, "new", self.run_id, self.stream)
        try:
            server.create_data()
            server.start()
            server.rows()
        except ProgramError as trouble:
            raise ProgramError(f"the server does not start with new data either: {trouble}") from None
        finally:
            server.kill()


def remove_copies() -> None:
    """Remove the copy of a database and the files of its server from the working directory."""
    for path in [name for name in os.listdir() if name.startswith(("copy", "new"))]:
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def copy_tree(source: str, target: str) -> None:
    """Copy the data of a server: directories and regular files, with their owners. Raises the errors of copy_file."""
    checked_call("stat", os.stat, source)
    for path, _, names in os.walk(source, onerror=_raise):
        copy = target + path[len(source) :]
        os.mkdir(copy, 0o700)
        copy_owner(path, copy)
        for name in names:
            if name not in SERVER_LOCKS and stat.S_ISREG(os.lstat(f"{path}/{name}").st_mode):
                copy_file(f"{path}/{name}", f"{copy}/{name}")
                copy_owner(f"{path}/{name}", f"{copy}/{name}")


def copy_owner(source: str, copy: str) -> None:
    if os.geteuid() == 0:
        status = os.lstat(source)
        os.chown(copy, status.st_uid, status.st_gid)


def _raise(error: OSError) -> None:
    raise CallError("read", error)


def copy_file(source: str, target: str, max_bytes: int | None = None) -> None:
    """Copy a regular file. Raises CallError if it cannot be read; ProgramError, OSError if it cannot be copied."""
    fd = checked_call("open", os.open, source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (max_bytes is not None and status.st_size > max_bytes):
            raise CallError("open", OSError(errno.EINVAL, "it is not a file of a writer", source))
        space = os.statvfs(".")
        if status.st_size > space.f_bavail * space.f_frsize:
            raise ProgramError(f"{os.getcwd()} has no room for a copy of the database; set TMPDIR to another directory")
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        with open(target, "xb") as copy:
            while data := checked_call("read", os.read, fd, COPY_BYTES):
                copy.write(data)
    finally:
        os.close(fd)


class WriterComparison:
    def __init__(self, directory: str, run_id: str, stream: Stream, last_ack: int, servers: dict[str, Any]) -> None:
        self.run_id = run_id
        self.stream = stream
        self.last_ack = last_ack
        own_directory = f"{directory}/w{stream.writer}"
        self.records = (
            RecoveredServer(own_directory, run_id, stream, servers[stream.write_method])
            if stream.uses_server
            else (RecoveredDatabase if stream.write_method == "sqlite" else StoredRecords)(
                own_directory, run_id, stream
            )
        )
        self.newest_sequence = max(self.records.intact_sequences(), default=-1)
        self.present: set[int] = set()
        self.lost: dict[int, str] = {}
        self.newer = self.in_flight = self.unpromised = 0

    def compare(self) -> None:
        for sequence in self.expected_sequences():
            number, offset = self.stream.position(sequence)
            record = self.records.record_at(number, offset)
            kind = self.classify(record, sequence)
            if kind == "present":
                self.present.add(sequence)
                self.newer += record.sequence > sequence
            elif kind in ("torn", "unreadable") and self.was_in_flight(sequence):
                self.in_flight += 1
            elif kind == "no file" and not self.stream.syncs_directory:
                self.unpromised += 1
            else:
                self.lost[sequence] = "missing" if kind == "no file" else kind

    def expected_sequences(self) -> range:
        """Return the acknowledged sequence numbers that no newer record has overwritten or removed."""
        stream, end = self.stream, self.last_ack + 1
        if stream.overwrites:
            return range(max(stream.first_sequence, end - stream.records_per_file), end)
        newest_file = max(self.last_ack, self.newest_sequence) // stream.records_per_file
        oldest = max(0, newest_file - stream.kept_files + 1) * stream.records_per_file
        return range(oldest, end)

    def classify(self, record: Record, sequence: int) -> str:
        """Return what was found in the place of a record: ``present``, a kind of loss, or ``no file``."""
        if record.kind != "intact":
            return "missing" if record.kind == "empty" else record.kind
        if record.run_id != self.run_id or record.writer != self.stream.writer:
            return "misplaced"
        if self.stream.overwrites and self.stream.position(record.sequence) == self.stream.position(sequence):
            return "present" if record.sequence >= sequence else "stale"
        return "present" if record.sequence == sequence else "misplaced"

    def was_in_flight(self, sequence: int) -> bool:
        next_sequence = max(self.last_ack, self.newest_sequence) + 1
        return self.stream.overwrites and self.stream.position(next_sequence) == self.stream.position(sequence)

    def report(self) -> None:
        newest_present = max(self.present, default=-1)
        kinds = Counter(self.lost.values())
        say(
            writer=self.stream.writer,
            checked=len(self.present) + len(self.lost),
            present=len(self.present),
            newer=self.newer,
            in_flight=self.in_flight,
            unpromised=self.unpromised,
            reordered=sum(sequence < newest_present for sequence in self.lost),
            oldest=min(self.lost, default=None),
            not_recovered=self.records.not_recovered,
            **{kind: kinds[kind] for kind in LOSS_KINDS},
        )


def read_end_reason(directory: str) -> str | None:
    """Return why the writer stopped by itself; None if it did not, or if the reason cannot be read."""
    try:
        fd = os.open(f"{directory}/{END_REASON_FILE}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(fd, MAX_REASON_BYTES).decode(errors="backslashreplace") or "unknown"
    except OSError:
        return None
    finally:
        os.close(fd)


def main() -> None:
    die_with_parent()
    request = read_settings()
    directory: str = request["directory"]
    if request["copies"]:
        enter_run_directory(request["copies"])
    parent, name = os.path.split(directory)
    try:
        exists = name in os.listdir(parent)
        if exists:
            os.listdir(directory)
    except OSError as error:
        say(error=error.strerror)
        return
    say(found=exists, ended=read_end_reason(directory) if exists else None)
    for fields in request["streams"] if exists else ():
        stream = Stream(*fields)
        last_ack = request["last"].get(str(stream.writer))
        if last_ack is not None:
            try:
                comparison = WriterComparison(directory, request["run"], stream, last_ack, request["servers"])
                comparison.compare()
            except (ProgramError, OSError) as error:
                say(error=str(error))
                return
            comparison.report()


if __name__ == "__main__":
    main()
