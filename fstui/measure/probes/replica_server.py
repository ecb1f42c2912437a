"""One of the two servers of ``replica_cut``: made once, started on its own filesystem, asked by sysbench, ended."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from fstui.measure.probes.sysbench_program import Trouble, die_with_us, reason

POLL_S = 0.05
START_S = 180.0
"""From an empty directory, or after a cut: a disk of ten syncs a second takes its time."""
ANSWER_S = 60.0
LOG_BYTES = 65536
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
LOADER = ("LD_PRELOAD", "LD_LIBRARY_PATH")
"""A library that leaves syncs out is part of what is measured."""
SOCKET = "socket"


class Server:
    """``told``: what ``fstui.databases.replicas`` says of both of them. ``check``: raises where the engine hangs up."""

    def __init__(self, told: dict[str, Any], role: str, mounted: str, check: Callable[[], None]) -> None:
        self.told = told
        self.role = role
        self.mounted = mounted
        self.data = os.path.join(mounted, "data")
        self.check = check
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def connection(self) -> list[str]:
        """Options of sysbench."""
        return ["--db-driver=mysql", f"--mysql-socket={self.data}/{SOCKET}", "--mysql-user=root"]

    def prepare(self) -> None:
        """Make an empty directory a server's. Raises Trouble."""
        os.mkdir(self.data, 0o700)
        found = pwd.getpwnam(self.told["user"])
        os.chown(self.data, found.pw_uid, found.pw_gid)
        for step in self.told["prepare"]:
            process = self._run(step["argv"], subprocess.PIPE)
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
                stdin.write(step.get("text", "").encode())
                for path in step.get("files", ()):
                    with open(path, "rb") as file:
                        stdin.write(file.read())
            self._wait_until(lambda process=process: process.poll() is not None, START_S, "was not made")  # type: ignore[misc]
            if process.returncode:
                raise Trouble(f"{self.told['title']}: {self.complaint() or f'status {process.returncode}'}")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.data, "auto.cnf"))  # MySQL's name for itself: its copy is to be another one

    def start(self, argv: Sequence[str]) -> None:
        """Until it answers. Raises Trouble."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.data, SOCKET))  # of the one that was killed
        self.process = self._run(argv)
        self._wait_until(self._answers, START_S, "did not start")

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise Trouble(f"{self.told['title']}, the {self.role}: {self.complaint() or 'it ended at once'}")
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(os.path.join(self.data, SOCKET)) == 0

    def _wait_until(self, done: Callable[[], bool], limit_s: float, otherwise: str) -> None:
        began = time.monotonic()
        while not done():
            self.check()
            if time.monotonic() - began > limit_s:
                raise Trouble(f"{self.told['title']}, the {self.role}: {otherwise} within {limit_s:.0f} s")
            time.sleep(POLL_S)

    def _run(self, argv: Sequence[str], stdin: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """As its own user, without a capability; it dies with us (setpriv(1))."""
        found = pwd.getpwnam(self.told["user"])
        words = ["setpriv", "--pdeathsig", "KILL", f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}"]
        try:
            with open(f"{self.role}.log", "ab") as log:
                return subprocess.Popen(
                    [
                        *words,
                        "--clear-groups",
                        "--inh-caps=-all",
                        *(word.replace("{data}", self.data) for word in argv),
                    ],
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env={**ENVIRONMENT, **{name: os.environ[name] for name in LOADER if name in os.environ}},
                    process_group=0,
                )
        except FileNotFoundError as error:
            raise Trouble(f"{error.filename} is missing (setpriv: apt-get install util-linux)") from error

    def kill(self) -> None:
        """SIGKILL, and no word to anybody."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Until it is gone."""
        if self.process is not None:
            self.process.wait()
            self.process = None

    def ask(self, *statements: str) -> list[tuple[str, ...]]:
        """The rows of all of them. Raises Trouble with what the server said."""
        try:
            done = subprocess.run(
                [self.told["sysbench"], "./sql.lua", *self.connection, "--mysql-db=information_schema", "ask"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "FSTUI_SQL": "\n".join(statements), "LC_ALL": "C"},
                preexec_fn=die_with_us,
                timeout=ANSWER_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Trouble(f"{self.told['title']}, the {self.role}: no answer for {ANSWER_S:.0f} s") from None
        text = done.stdout.decode(errors="replace")
        if done.returncode:
            raise Trouble(f"{self.told['title']}, the {self.role}: {reason(text.splitlines())}")
        return [tuple(line.split("\t")[1:]) for line in text.splitlines() if line.startswith("row\t")]

    def ask_until(self, statement: str, wanted: str, otherwise: str) -> None:
        """Ask again until the last field of its first row is that. Raises Trouble."""

        def is_so() -> bool:
            rows = self.ask(statement)
            return bool(rows) and rows[0][-1] == wanted

        self._wait_until(is_so, ANSWER_S, otherwise)

    def transactions(self) -> set[tuple[int, int]]:
        """Client and number of all that it has."""
        rows = self.ask(f"SELECT client, number FROM {self.told['database']}.commits")
        return {(int(client), int(number)) for client, number in rows}

    def settings(self) -> list[str]:
        """What decides its durability, as it has it. Raises Trouble where it is not what was asked for."""
        names = self.told["settings"]
        (found,) = self.ask(f"SELECT {', '.join(f'@@{name}' for name in names)}")
        if list(found) != self.told["asked"][self.role]:
            raise Trouble(f"the {self.role} was asked for {self.told['asked'][self.role]} and has {list(found)}")
        return [f"{name} = {value}" for name, value in zip(names, found, strict=True)]

    def gtid(self) -> str:
        """Its position, or its set."""
        return "".join(self.ask(self.told["gtid"][self.role])[0]).replace("\n", "")

    def complaint(self) -> str:
        """The last error in its log."""
        try:
            with open(f"{self.role}.log", "rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - LOG_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        found = [line for line in lines if "[ERROR]" in line and not line.endswith("Aborting")] or lines[-1:]
        return "".join(letter for line in found[-1:] for letter in line if letter.isprintable())[:600]
