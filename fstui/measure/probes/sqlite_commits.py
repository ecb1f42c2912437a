"""Probe: commits of an embedded database, through the standard library's SQLite.

Each operation is a transaction that rewrites one row of a prefilled table. Settings: the settings of the step,
``directory`` and its ``identity`` (the run's directory, which the probe enters), ``path`` (the database to create in
the directory) and ``facts``.
"""

import errno
import os
import random
import sqlite3
from contextlib import suppress
from typing import Any

from fstui.measure.probes.sync_path import read_text
from fstui.measure.probes.writers import ENDED, STARTED, Batch, Shared, WriteLoop, main
from fstui.measure.wire.stdio import CallError, clock, exit_if_stopped, send

ERRNO_BY_NAME = {"SQLITE_FULL": errno.ENOSPC, "SQLITE_CANTOPEN": errno.EACCES, "SQLITE_READONLY": errno.EROFS}
CREATE_CALL = "create the database"
FILES = ("", "-journal", "-wal", "-shm")


class SqliteError(CallError):
    """An error of SQLite. Its code shows the failed call and the errno (https://sqlite.org/rescode.html)."""

    def __init__(self, call: str, error: sqlite3.Error) -> None:
        name = getattr(error, "sqlite_errorname", "")
        # not CallError.__init__, which requires an OSError
        Exception.__init__(self, f"{error} ({name})" if name else str(error))
        self.call = "fsync" if name.endswith(("_FSYNC", "_DIR_FSYNC")) else call
        self.errno = errno.EIO if name.startswith("SQLITE_IOERR") else ERRNO_BY_NAME.get(name)


class Committer(WriteLoop):
    parts = 1
    prepare_call = CREATE_CALL

    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        try:
            self.connection = connect(settings)
        except sqlite3.Error as error:
            raise SqliteError(CREATE_CALL, error) from error
        self.rows: int = settings["rows"]
        self.row_bytes: int = settings["row_bytes"]
        self.max_bytes = int(settings["max_bytes_per_s"] * settings["seconds"])
        self.bytes_before = process_written_bytes()

    @staticmethod
    def prepare(settings: dict[str, Any]) -> None:
        # SQLite makes its paths absolute and may open a journal at any time. After a chroot, all its files are in the
        # run's directory, even if a user replaces the path. Only root may chroot, but only root is at risk.
        with suppress(PermissionError):
            os.chroot(".")
        try:
            create_database(settings)
        except BaseException as error:
            Committer.clean_up(settings)
            if isinstance(error, sqlite3.Error):
                raise SqliteError(CREATE_CALL, error) from error
            raise

    @staticmethod
    def clean_up(settings: dict[str, Any]) -> None:
        for suffix in FILES:
            with suppress(OSError):  # remaining files are removed with the run's directory
                os.unlink(settings["path"] + suffix)

    def run(self) -> None:
        self.bytes_before = process_written_bytes()
        super().run()

    def is_over(self, elapsed_ns: int) -> bool:
        return super().is_over(elapsed_ns) or self.written_bytes() > self.max_bytes

    def batch_function(self) -> Batch:
        return self.batch_of_commits

    def batch_of_commits(self, until_ns: int, remaining_ops: int) -> int:
        execute, read_clock, randrange, shared = self.connection.execute, clock, random.randrange, self.shared
        part_ends_ns: list[int] = []
        start = now = read_clock()
        try:
            while now < until_ns and not shared.stop_requested:
                value = random.randbytes(self.row_bytes)
                execute("UPDATE rows SET value = ? WHERE id = ?", (value, randrange(self.rows) + 1))
                now = read_clock()
                part_ends_ns.append(now)
        except sqlite3.Error as error:
            raise SqliteError("commit", error) from error
        finally:
            self.record(start, part_ends_ns)
        return now

    def written_bytes(self) -> int:
        return process_written_bytes() - self.bytes_before

    def send_figures(self) -> None:
        elapsed_s = (self.state[ENDED] - self.state[STARTED]) / 1e9
        send(
            "figures",
            commits=self.ops,
            commits_per_s=round(self.ops / elapsed_s, 2) if elapsed_s > 0 else 0.0,
            written_bytes=self.written_bytes(),
            sqlite=sqlite3.sqlite_version,
        )


def process_written_bytes() -> int:
    """Return the bytes that this process has passed to write(2) and similar calls (proc_pid_io(5), wchar)."""
    for line in read_text("self/io").splitlines():
        name, _, value = line.partition(": ")
        if name == "wchar":
            return int(value)
    return 0


def connect(settings: dict[str, Any]) -> sqlite3.Connection:
    """Open the database and set its two pragmas. Raises sqlite3.Error."""
    connection = sqlite3.connect(settings["path"], isolation_level=None)
    mode = connection.execute(f"PRAGMA journal_mode = {settings['journal_mode']}").fetchone()[0]
    if mode.upper() != settings["journal_mode"]:  # WAL requires shared memory, which some filesystems do not support
        raise sqlite3.OperationalError(
            f"journal_mode {settings['journal_mode']} is not available here: SQLite uses {mode} instead"
        )
    connection.execute(f"PRAGMA synchronous = {settings['synchronous']}")
    return connection


def create_database(settings: dict[str, Any]) -> None:
    path, rows, row_bytes = settings["path"], settings["rows"], settings["row_bytes"]
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB NOT NULL)")
    connection.execute("BEGIN")
    for first in range(1, rows + 1, 1000):
        exit_if_stopped()
        last = min(first + 1000, rows + 1)
        new_rows = ((number, random.randbytes(row_bytes)) for number in range(first, last))
        connection.executemany("INSERT INTO rows VALUES (?, ?)", new_rows)
        send("preparing", done=(last - 1) * row_bytes, total=rows * row_bytes)
    connection.execute("COMMIT")
    connection.close()
    for file, flags in ((path, os.O_RDONLY), (".", os.O_RDONLY | os.O_DIRECTORY)):
        fd = os.open(file, flags)
        os.fsync(fd)
        os.close(fd)


if __name__ == "__main__":
    main(Committer, writers=1)
