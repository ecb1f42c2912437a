"""Program: run one throwaway database server, and end it when stdin closes, so that kill -9 of fstui also ends it.

stdout: a line of JSON with ``started`` (the server's pid) and ``data`` (the path that the server uses for its data
directory), or with ``error``. If the server ends by itself, a line with ``ended`` (its exit status) and ``last_error``.
stdin: a line of JSON, and later a line with a new ``argv`` for each restart on the same data. The first line contains:
``directory``, ``identity``  the run's directory, which this program enters
``name``       the data directory to create there (mode 0700) and to remove at the end; ``name`` + ``.log`` is the log
``socket``     the name of the server's unix socket in the data directory
``user``       the user to run as, if this program is root
``prepare``    commands to run first: each has ``argv``, and reads ``text`` and then ``files`` on stdin
``argv``       the server's command line; here and in ``prepare``, ``{data}`` is replaced by the data directory's path
``program``    the first word of ``argv``
``ready``      a file in the data directory, and a word: the server is ready when the last line of the file begins with
               the word (PostgreSQL); null: the server is ready when its socket accepts connections
``signal``     the signal that ends the server; SIGKILL follows after five seconds
``restart_signal``  the signal that ends the server before a restart, without losing commits
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from typing import Any

from fstui.measure.helpers.server_process import EXIT_POLL_S, ServerProcess, is_confined, is_full
from fstui.measure.wire.own_directory import enter
from fstui.measure.wire.stdio import ProgramError, read_line, say

EXIT_TIMEOUT_S = 5.0
PIPE_BYTES = 65536


class HungUp(Exception):  # noqa: N818  not an error
    """fstui closed stdin."""


def next_line() -> bytes:
    """Read a line from stdin. Raises HungUp at the end of stdin."""
    if line := read_line():
        return line
    raise HungUp


def make_child_ended_fd() -> int:
    """Return a descriptor that becomes readable when a child ends (signal(7), SIGCHLD)."""
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read_fd


class ServerKeeper:
    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.name: str = request["name"]
        self.has_data_directory = False
        self.child_ended_fd = make_child_ended_fd()
        user = request["user"] if os.geteuid() == 0 else None
        self.server = ServerProcess(self.name, f"{self.name}.log", user, self.read_request)

    def create_data_directory(self) -> None:
        enter(self.request["directory"], self.request["identity"])
        os.mkdir(self.name, 0o700)
        self.has_data_directory = True
        self.server.give_data_to_server()

    def serve(self) -> None:
        """Start the server and wait until it is ready; fstui enforces the time limit. Raises ProgramError."""
        self.server.start(
            self.request["argv"], lambda: self.server.is_ready(self.request["socket"], self.request["ready"])
        )
        assert self.server.process is not None
        say(started=self.server.process.pid, data=self.server.data_path)

    def read_request(self, timeout_s: float | None = None) -> bytes:
        """Return the next line from fstui, or an empty line after ``timeout_s`` or a child's end. Raises HungUp."""
        ready = select.select([0, self.child_ended_fd], [], [], timeout_s)[0]
        if self.child_ended_fd in ready:
            os.read(self.child_ended_fd, PIPE_BYTES)
        return next_line() if 0 in ready else b""

    def watch(self) -> None:
        """Wait until stdin closes. Restart the server on request, and report once if it ends by itself."""
        reported = False
        while True:
            if line := self.read_request():
                self.restart(json.loads(line))
                reported = False
            assert self.server.process is not None
            if not reported and self.server.process.poll() is not None:
                say(ended=self.server.process.returncode, last_error=self.with_hint(self.server.last_error()))
                reported = True

    def restart(self, request: dict[str, Any]) -> None:
        """End the server, however long that takes, and start it again with another ``argv``. Raises ProgramError."""
        self.server.signal(self.request["restart_signal"])
        assert self.server.process is not None
        while self.server.process.poll() is None:
            self.server.pause(EXIT_POLL_S)
        self.request |= request
        self.serve()

    def with_hint(self, message: str) -> str:
        """Return the error message. If the server was refused access, add that AppArmor is the likely cause: the data
        directory belongs to the server's user, so its permissions cannot be the cause."""
        name = os.path.basename(self.request["program"])
        if "ermission denied" not in message or not is_confined(name):
            return message
        return f"{message}. Its AppArmor profile may forbid this directory (aa-complain {name})"

    def end(self) -> None:
        if self.server.process is not None:
            # on a full disk a server may wait for space and ignore every other signal
            self.server.signal("SIGKILL" if is_full() else self.request["signal"])
            try:
                self.server.process.wait(EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.server.signal("SIGKILL")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.server.process.wait(EXIT_TIMEOUT_S)
        if self.has_data_directory:
            shutil.rmtree(self.name, ignore_errors=True)


def main() -> None:
    # do nothing at a signal: fstui ends this program by closing stdin. SIG_IGN would be inherited by the server
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    with contextlib.suppress(HungUp):
        keep_server(ServerKeeper(json.loads(next_line())))
    sys.exit(0)


def keep_server(keeper: ServerKeeper) -> None:
    with contextlib.suppress(BrokenPipeError, HungUp):
        try:
            keeper.create_data_directory()
            for step in keeper.request["prepare"]:
                keeper.server.prepare(step)
            keeper.serve()
            keeper.watch()
        except ProgramError as error:
            say(error=keeper.with_hint(str(error)))
        except (OSError, KeyError) as error:
            say(error=str(error))
    keeper.end()


if __name__ == "__main__":
    main()
