"""The database server of one writer, with its data in the writer's directory. Each record is a row and a transaction.

The settings come from ``databases.record_server``: ``user``, ``prepare``, ``argv``, ``socket``, ``ready`` and
``signal`` as in ``measure.helpers.serve``; ``client``, the command line of sysbench with ``{home}`` for the data
directory; ``script``, the Lua program for sysbench; ``create``, the statements that create the table; ``begin``, the
first statements of each connection.
"""

import ctypes
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

from fstui.measure.helpers.server_process import DATA_FD, FULL_REASON, MOUNT_POINT, ServerProcess, is_full, setpriv
from fstui.measure.wire.stdio import ProgramError
from fstui.powercut.records import Stream

SERVER_TIMEOUT_S = 180.0
"""Time limit for the start, the end and each preparation command of a server, long enough for slow disks."""
MNT_DETACH = 2
POLL_S = 0.01
MAX_LOG_LINES, MAX_LOG_CHARS = 6, 800


class ServerTimeoutError(ProgramError):
    """The server did not respond in time, or waits for space. Nothing is known about its data."""


class RecordServer:
    """A server, and sysbench as its client. All methods raise ProgramError."""

    def __init__(self, settings: dict[str, Any], home: str, run_id: str, stream: Stream) -> None:
        """``home``: the data directory, a name in the working directory."""
        self.settings = settings
        self.home = home
        self.run_id = run_id
        self.stream = stream
        self.deadline = 0.0
        self.client: subprocess.Popen[str] | None = None
        self.server = ServerProcess(home, f"{home}.log", settings["user"], self.wait)
        self.server.give_data_to_server()

    def wait(self, _seconds: float) -> None:
        if time.monotonic() > self.deadline:
            raise ServerTimeoutError(f"no answer within {SERVER_TIMEOUT_S:.0f} s")
        if is_full():
            raise ServerTimeoutError(FULL_REASON)
        time.sleep(POLL_S)

    def create_data(self) -> None:
        """Create the database with the rows that will be overwritten, stop the server, and sync the filesystem."""
        for step in self.settings["prepare"]:
            self.deadline = time.monotonic() + SERVER_TIMEOUT_S
            self.server.prepare(step)
        self.start(*self.settings["create"])
        self.execute("BEGIN")
        for sequence in range(self.stream.records_per_file):
            self.execute("INSERT INTO records VALUES ({}, '{}')".format(*self.row(sequence)))
        self.execute("COMMIT")
        self.end()
        if ctypes.CDLL(None, use_errno=True).syncfs(DATA_FD):
            raise ProgramError(f"syncfs: {os.strerror(ctypes.get_errno())}")

    def start(self, *statements: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{self.home}/{self.settings['socket']}")
        self.deadline = time.monotonic() + SERVER_TIMEOUT_S
        self.server.start(
            self.settings["argv"], lambda: self.server.is_ready(self.settings["socket"], self.settings["ready"])
        )
        script = f"{self.home}.lua"
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.settings["script"])
        argv = [word.format(home=self.home, script=script) for word in self.settings["client"]]
        self.client = subprocess.Popen(
            [*setpriv(None), *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for statement in (*statements, *self.settings["begin"]):
            self.execute(statement)

    def row(self, sequence: int) -> tuple[int, str]:
        """Return the record's row number, and the record in hexadecimal digits."""
        place, record = self.stream.row(self.run_id, sequence)
        return place, record.hex()

    def put(self, sequence: int) -> None:
        self.execute("UPDATE records SET block = '{1}' WHERE place = {0}".format(*self.row(sequence)))

    def rows(self) -> list[tuple[int, bytes]]:
        return [(int(place), decode_block(block)) for place, block in self.execute("SELECT place, block FROM records")]

    def execute(self, statement: str) -> list[list[str]]:
        """Execute a statement, and commit it unless a transaction was begun. Return its rows."""
        assert self.client is not None and self.client.stdin is not None and self.client.stdout is not None
        with suppress(BrokenPipeError):
            self.client.stdin.write(f"{statement}\n")
            self.client.stdin.flush()
        rows: list[list[str]] = []
        fatal = ""
        for line in self.client.stdout:
            word, *fields = line.rstrip("\n").split("\t")
            if word == "done":
                return rows
            if word == "row":
                rows.append(fields)
            elif word.startswith(("FATAL:", "ALERT:")):  # the first of these lines has the server's error
                fatal = fatal or word.partition(" ")[2].partition(" for query '")[0]
        raise ProgramError(fatal or "its client ended")

    def end(self) -> None:
        """Shut the server down, so that the data in its directory contains everything that was committed."""
        self.disconnect()
        assert self.server.process is not None
        self.server.signal(self.settings["signal"])
        self.deadline = time.monotonic() + SERVER_TIMEOUT_S
        while self.server.process.poll() is None:
            self.wait(POLL_S)

    def kill(self) -> None:
        self.disconnect()
        self.server.signal("SIGKILL")
        if self.server.process is not None:
            self.server.process.wait()
        if self.server.data_path == MOUNT_POINT:
            ctypes.CDLL(None).umount2(MOUNT_POINT.encode(), MNT_DETACH)

    def disconnect(self) -> None:
        if self.client is not None:
            self.client.kill()
            self.client.communicate()
            self.client = None

    @property
    def was_killed(self) -> bool:
        """Whether a server process was killed, for example for lack of memory. That proves nothing about its data."""
        process = self.server.process
        return (process is not None and process.poll() == -signal.SIGKILL) or "by signal 9" in self.last_lines()

    def last_lines(self) -> str:
        try:
            with open(self.server.log, "rb") as log:
                lines = log.read().decode(errors="backslashreplace").splitlines()[-MAX_LOG_LINES:]
        except OSError:
            return ""
        return " | ".join(" ".join(line.split()) for line in lines)[-MAX_LOG_CHARS:]


def decode_block(block: str) -> bytes:
    """Return the bytes of a row. Text that is not hexadecimal is not decoded, and so counts as torn."""
    try:
        return bytes.fromhex(block)
    except ValueError:
        return block.encode()
