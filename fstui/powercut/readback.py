"""Child: reads the records of a power-cut test back, and changes nothing. It is abandoned if the storage hangs.

stdin: one JSON line: ``directory``, ``run``, ``streams``, ``last`` (the newest acknowledged sequence by writer).
stdout: JSON lines: ``error`` if the directory cannot be read; ``found`` with ``ended`` (why the writer stopped by
itself) and ``others`` (records of other tests); then for each writer ``lost`` ([sequence, kind] each) and its sums.

An acknowledged record must exist, or, in an overwritten file, a newer one in its place. One write per writer may have
been in flight: the place after the newest record may be torn or unreadable, and counts as ``in_flight``.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from fstui.powercut.records import ENDED, PREFIX, Record, Stream, unpack

SQLITE_DAMAGED = (1, 11, 26)
"""SQLITE_ERROR (it has no such table), SQLITE_CORRUPT, SQLITE_NOTADB: errors of the content of a database."""
LOST_PER_LINE = 500
MAX_ENDED_BYTES = 1000


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def open_to_read(path: str) -> int:
    """Open the file, bypassing the page cache if possible, because the question is what the disk contains."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_DIRECT)
    except OSError:
        fd = os.open(path, flags)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return fd


class Files:
    """Reads the files of one writer block by block."""

    def __init__(self, home: str, run: str, stream: Stream) -> None:
        self.home = home
        self.run = run
        self.stream = stream
        self.buffer = mmap.mmap(-1, stream.block_bytes)
        self._blocks: dict[int, dict[int, Record]] = {}

    def numbers(self) -> list[int]:
        try:
            return sorted(int(name) for name in os.listdir(self.home) if name.isdecimal())
        except OSError:
            return []

    def at(self, number: int, offset: int) -> Record:
        if number not in self._blocks:
            self._blocks[number] = dict(self.read(number))
        everywhere = self._blocks[number].get(-1)
        return everywhere or self._blocks[number].get(offset, Record("missing"))

    def intact(self) -> Iterator[int]:
        """Yield the sequence numbers of the writer's intact records that are in the right place."""
        for number in self.numbers():
            self.at(number, 0)
            for offset, found in self._blocks[number].items():
                if found.kind == "intact" and self.own(found, number, offset):
                    yield found.sequence

    def own(self, found: Record, number: int, offset: int) -> bool:
        """Return whether the record belongs to this writer and to this place."""
        here = self.stream.position(found.sequence) == (number, offset)
        return here and (found.run, found.writer) == (self.run, self.stream.writer)

    def read(self, number: int) -> Iterator[tuple[int, Record]]:
        """Yield (offset, record); offset -1 applies to the whole file."""
        try:
            fd = open_to_read(f"{self.home}/{number}")
        except FileNotFoundError:
            yield -1, Record("no file")
            return
        except OSError:
            yield -1, Record("unreadable")
            return
        try:
            size = os.fstat(fd).st_size if stat.S_ISREG(os.fstat(fd).st_mode) else 0
            for offset in range(0, min(size, self.stream.per_file * self.stream.block_bytes), self.stream.block_bytes):
                yield offset, self.block(fd, offset)
        finally:
            os.close(fd)

    def block(self, fd: int, offset: int) -> Record:
        try:
            try:
                got = os.preadv(fd, [self.buffer], offset)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                fcntl.fcntl(fd, fcntl.F_SETFL, 0)  # this filesystem accepts O_DIRECT only in open(2)
                got = os.preadv(fd, [self.buffer], offset)
        except OSError:
            return Record("unreadable")
        return unpack(memoryview(self.buffer)[:got])


class RecoveredDatabase(Files):
    """Reads the rows of a SQLite database in a copy, because SQLite writes to a database that it recovers."""

    def read(self, number: int) -> Iterator[tuple[int, Record]]:
        try:
            content = {name: data for name in (f"{number}", f"{number}-wal") if (data := self.whole(name)) is not None}
        except OSError:
            yield -1, Record("unreadable")
            return
        if f"{number}" not in content:
            yield -1, Record("no file")
            return
        rows = recovered(content, f"{number}")
        if rows is None:
            yield -1, Record("unreadable")
            return
        for place, block in rows:
            if isinstance(place, int) and isinstance(block, bytes):
                yield place, unpack(block[: self.stream.block_bytes])

    def whole(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is none. Raises OSError."""
        try:
            fd = os.open(f"{self.home}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        with os.fdopen(fd, "rb") as file:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            if os.fstat(fd).st_size > self.stream.most_bytes or not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EFBIG, "it is not the database of a writer")
            return file.read()


def recovered(content: dict[str, bytes], name: str) -> list[tuple[Any, Any]] | None:
    """Return the rows of a database after its recovery; None if it is damaged.

    If the copy fails, an exception ends this program, because that says nothing about the disk.
    """
    import sqlite3  # noqa: PLC0415  some Pythons lack it

    with tempfile.TemporaryDirectory(prefix="fstui-") as private:
        for file, data in content.items():
            with open(f"{private}/{file}", "wb") as copy:
                copy.write(data)
        with closing(sqlite3.connect(f"{private}/{name}")) as database:
            try:
                return database.execute("SELECT place, block FROM records").fetchall()
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in SQLITE_DAMAGED:
                    raise
                return None


class WriterComparison:
    """Compares the acknowledgements of one writer with its files."""

    def __init__(self, directory: str, run: str, stream: Stream, last: int) -> None:
        self.run = run
        self.stream = stream
        self.last = last
        files = RecoveredDatabase if stream.writes == "sqlite" else Files
        self.files = files(f"{directory}/w{stream.writer}", run, stream)
        self.newest = max(self.files.intact(), default=-1)
        self.present: set[int] = set()
        self.lost: dict[int, str] = {}
        self.newer = self.in_flight = self.unpromised = 0

    def compare(self) -> None:
        for sequence in self.expected():
            number, offset = self.stream.position(sequence)
            found = self.files.at(number, offset)
            kind = self.kind(found, sequence)
            if kind == "present":
                self.present.add(sequence)
                self.newer += found.sequence > sequence
            elif kind in ("torn", "unreadable") and self.was_in_flight(sequence):
                self.in_flight += 1
            elif kind == "no file" and not self.stream.syncs_directory:
                self.unpromised += 1
            else:
                self.lost[sequence] = "missing" if kind == "no file" else kind

    def expected(self) -> range:
        """Return the acknowledged sequence numbers that no newer record has overwritten or removed."""
        stream = self.stream
        if stream.overwrites:
            return range(max(stream.first, self.last - stream.per_file + 1), self.last + 1)
        newest_file = max(self.last, self.newest) // stream.per_file
        oldest = max(0, newest_file - stream.kept_files + 1) * stream.per_file
        return range(oldest, self.last + 1)

    def kind(self, found: Record, sequence: int) -> str:
        if found.kind != "intact":
            return "missing" if found.kind == "empty" else found.kind
        if found.run != self.run or found.writer != self.stream.writer:
            return "misplaced"
        if self.stream.overwrites and found.sequence % self.stream.per_file == sequence % self.stream.per_file:
            return "present" if found.sequence >= sequence else "stale"
        return "present" if found.sequence == sequence else "misplaced"

    def was_in_flight(self, sequence: int) -> bool:
        next_one = max(self.last, self.newest) + 1
        return self.stream.overwrites and next_one % self.stream.per_file == sequence % self.stream.per_file

    def say(self) -> None:
        lost = sorted(self.lost.items())
        newest_present = max(self.present, default=-1)
        for first in range(0, len(lost), LOST_PER_LINE):
            say(writer=self.stream.writer, lost=lost[first : first + LOST_PER_LINE])
        say(
            writer=self.stream.writer,
            checked=len(self.present) + len(lost),
            present=len(self.present),
            newer=self.newer,
            in_flight=self.in_flight,
            unpromised=self.unpromised,
            reordered=sum(sequence < newest_present for sequence in self.lost),
        )


def reason_of_end(directory: str) -> str | None:
    """Return why the writer stopped by itself; None if it did not."""
    try:
        fd = os.open(f"{directory}/{ENDED}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(fd, MAX_ENDED_BYTES).decode(errors="backslashreplace") or "unknown"
    except OSError:
        return None
    finally:
        os.close(fd)


def main() -> None:
    request = json.loads(sys.stdin.readline())
    directory: str = request["directory"]
    home, own_name = os.path.split(directory)
    try:
        names = os.listdir(home)
        found = own_name in names
        if found:
            os.listdir(directory)
    except OSError as error:
        say(error=error.strerror)
        return
    others = sorted(name for name in names if name.startswith(PREFIX) and name != own_name)
    say(found=found, ended=reason_of_end(directory) if found else None, others=others[:10])
    for fields in request["streams"] if found else ():
        stream = Stream(*fields)
        last = request["last"].get(str(stream.writer))
        if last is not None:
            comparison = WriterComparison(directory, request["run"], stream, last)
            comparison.compare()
            comparison.say()


if __name__ == "__main__":
    main()
