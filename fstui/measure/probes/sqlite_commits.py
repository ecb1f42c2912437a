"""Probe: commits of an embedded database, through the standard library's SQLite.

Each operation rewrites one row of a prefilled table in a transaction of its own. The commits run in a thread, while the
first one listens to the engine and names the call that a silent commit sits in (SQLite runs without the interpreter's
lock). Settings: those of its kind of step, plus ``directory`` and its ``identity`` (the run's own, which it enters),
``path`` (the database to make there) and ``facts``.
"""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn

from fstui.measure.probes import sync_path
from fstui.measure.wire import frames
from fstui.measure.wire.held import enter
from fstui.measure.wire.talk import CommandLines, clock, interrupted, probe_settings, reporting, send, write_frame

HAND_OVER_NS = 50_000_000
SLOW_STEP_OPS = 50
SLOW_STEP_EXTRA_NS = 5_000_000_000
SILENT_NS = 500_000_000

ERRNO = {"SQLITE_FULL": errno.ENOSPC, "SQLITE_CANTOPEN": errno.EACCES, "SQLITE_READONLY": errno.EROFS}
MAKING = "make the database"
FILES = ("", "-journal", "-wal", "-shm")


class Committer:
    """The measured loop, in a thread of its own."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.connection = connect(settings)
        self.rows: int = settings["rows"]
        self.row_bytes: int = settings["row_bytes"]
        self.length_ns = int(settings["seconds"] * 1e9)
        self.most_bytes = int(settings["max_bytes_per_s"] * settings["seconds"])
        self.stopping = False
        self.started_ns = self.ended_ns = self.last_ns = self.held_ns = 0
        self.ops = 0
        self.bytes_before = bytes_written()
        self.failure: sqlite3.Error | None = None
        self.thread_id = 0

    def run(self, finished: int) -> None:
        """Commit until the time is over, the bytes are used up or the engine says stop; then close ``finished``."""
        self.thread_id = threading.get_native_id()
        self.bytes_before = bytes_written()
        self.started_ns = self.ended_ns = self.last_ns = clock()
        try:
            while not self.over():
                self.batch()
        except sqlite3.Error as error:
            self.failure = error
        finally:
            os.close(finished)

    def over(self) -> bool:
        if self.stopping or self.written_bytes() > self.most_bytes:
            return True
        elapsed_ns = clock() - self.started_ns
        enough = self.ops >= SLOW_STEP_OPS or elapsed_ns >= self.length_ns + SLOW_STEP_EXTRA_NS
        return elapsed_ns >= self.length_ns and enough

    def batch(self) -> None:
        """Commits for 50 ms, handed over outside of the timed operations."""
        execute, tick, choose = self.connection.execute, clock, random.randrange
        marks: list[int] = []
        start = now = tick()
        until = start + HAND_OVER_NS
        if self.ops >= SLOW_STEP_OPS:
            until = min(until, self.started_ns + self.length_ns)
        try:
            while now < until and not self.stopping:
                self.last_ns = now
                value = random.randbytes(self.row_bytes)
                execute("UPDATE rows SET value = ? WHERE id = ?", (value, choose(self.rows) + 1))
                now = tick()
                marks.append(now)
        finally:
            self.ended_ns = now
            self.ops += len(marks)
            for frame in frames.encode_samples(0, 1, start, marks):
                self.held_ns += write_frame(frame)
            self.send_figures()

    def written_bytes(self) -> int:
        return bytes_written() - self.bytes_before

    def send_figures(self) -> None:
        elapsed_s = (self.ended_ns - self.started_ns) / 1e9
        send(
            "figures",
            commits=self.ops,
            commits_per_s=round(self.ops / elapsed_s, 2) if elapsed_s else 0.0,
            written_bytes=self.written_bytes(),
            sqlite=sqlite3.sqlite_version,
        )


def bytes_written() -> int:
    """What this process has given to write(2) and its kind so far (proc_pid_io(5), wchar)."""
    for line in sync_path.read_text("self/io").splitlines():
        name, _, value = line.partition(": ")
        if name == "wchar":
            return int(value)
    return 0


def connect(settings: dict[str, Any]) -> sqlite3.Connection:
    """The database with its durability as asked. Raises sqlite3.Error."""
    connection = sqlite3.connect(settings["path"], isolation_level=None, check_same_thread=False)
    mode = connection.execute(f"PRAGMA journal_mode = {settings['journal_mode']}").fetchone()[0]
    if mode.upper() != settings["journal_mode"]:  # WAL needs shared memory, which some filesystems do not have
        raise sqlite3.OperationalError(f"journal_mode {settings['journal_mode']} is not possible here, {mode} is")
    connection.execute(f"PRAGMA synchronous = {settings['synchronous']}")
    return connection


def make_database(settings: dict[str, Any]) -> None:
    """Make the table, fill it and sync it. Raises sqlite3.Error, OSError."""
    path, rows, row_bytes = settings["path"], settings["rows"], settings["row_bytes"]
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB NOT NULL)")
    connection.execute("BEGIN")
    for first in range(1, rows + 1, 1000):
        if interrupted():
            raise SystemExit(1)
        last = min(first + 1000, rows + 1)
        fresh = ((number, random.randbytes(row_bytes)) for number in range(first, last))
        connection.executemany("INSERT INTO rows VALUES (?, ?)", fresh)
        send("preparing", done=(last - 1) * row_bytes, total=rows * row_bytes)
    connection.execute("COMMIT")
    connection.close()
    for place, flags in ((path, os.O_RDONLY), (".", os.O_RDONLY | os.O_DIRECTORY)):
        fd = os.open(place, flags)
        os.fsync(fd)
        os.close(fd)


def measure(settings: dict[str, Any]) -> None:
    """Commit in a thread between ``go`` and the end or ``stop``. Raises sqlite3.Error."""
    committer = Committer(settings)
    commands = CommandLines()
    send("ready")
    if not commands.wait_for("go"):
        return
    watched, finished = os.pipe()
    thread = threading.Thread(target=committer.run, args=(finished,), daemon=True)
    thread.start()
    while not commands.wait_until_closed(watched, timeout_s=0.25):
        committer.stopping = commands.stop_wanted
        silent = committer.last_ns and clock() - committer.last_ns > SILENT_NS
        if silent and (call := sync_path.call_of(committer.thread_id)):
            send("inflight", since_ns=committer.last_ns, call=call, writer=0)
    thread.join()
    if committer.failure:
        send_failure("commit", committer.failure)
    send("done", start_ns=committer.started_ns, end_ns=committer.ended_ns, held_ns=committer.held_ns)
    commands.wait_for_end()
    committer.connection.close()


def send_failure(call: str, error: sqlite3.Error) -> None:
    """The failed call in the kernel's terms, as far as SQLite tells: https://sqlite.org/rescode.html"""
    name = getattr(error, "sqlite_errorname", "")
    if name.endswith(("_FSYNC", "_DIR_FSYNC")):
        call = "fsync"
    number = errno.EIO if name.startswith("SQLITE_IOERR") else ERRNO.get(name)
    send("error", call=call, errno=number, message=f"{error} ({name})" if name else str(error), writer=0)


def shut_in() -> None:
    """Make the run's directory the root of all names: SQLite makes absolute ones of those that it is given, and opens
    its journals by these whenever it likes. Root alone can, and root alone is worth the trouble of swapping one."""
    with suppress(PermissionError):
        os.chroot(".")


def remove(path: str) -> None:
    """Remove the database and the files that SQLite keeps beside it."""
    for suffix in FILES:
        with suppress(OSError):  # the keeper of the directory removes the rest, or says that it could not
            os.unlink(path + suffix)


def main() -> NoReturn:
    settings = probe_settings()
    with reporting(MAKING):
        enter(settings["directory"], settings["identity"])
        if stubs := settings.get("facts"):
            send("facts", **sync_path.facts(".", stubs))
        shut_in()
        try:
            make_database(settings)
            measure(settings)
        except sqlite3.Error as error:
            send_failure(MAKING, error)
        finally:
            remove(settings["path"])
    sys.exit(0)


if __name__ == "__main__":
    main()
