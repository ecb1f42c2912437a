"""Program: keeps one throwaway database server, and ends it when stdin closes, so that even kill -9 of fstui ends it.

stdin: one line of JSON, then nothing until it closes. stdout: JSON lines: ``started`` with the server's pid, or
``error``; later ``ended``, if the server ends by itself. What it is told:
``directory``  to make (0700) and to remove at the end; the server's own, on the target; ``data``, a directory in it
``socket``     the server's unix socket; ``socket_directory`` is made for it and removed, where its path is too long
``user``       whom to run as, where we are root
``log``        the server's error log
``prepare``    commands to run first: ``argv``, and what they read on stdin: ``text`` and then ``files``
``argv``       the server's own command line; ``program``, its first word
``ready``      a file whose last line begins with this word (PostgreSQL), else: its socket takes connections
``signal``     what ends it; SIGKILL follows after five seconds
The server runs under ``setpriv`` (util-linux), so that it dies with us, as its own user where we are root, and then
with the one capability to walk through directories of root's above its own.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

START_S = 60.0
GRACE_S = 5.0
POLL_S = 0.05
LOG_BYTES = 65536
CAP_DAC_READ_SEARCH = 2
COMPLAINTS = ("[ERROR]", "ERROR:", "FATAL:", "PANIC:", "error:", "Error:", "[FATAL]")


class Trouble(Exception):  # noqa: N818  becomes the ``error`` line
    """What went wrong, in a sentence."""


class HungUp(Exception):  # noqa: N818  not an error
    """fstui closed our stdin before the server was ready."""


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


def privileges(user: str | None) -> list[str]:
    """The words before a command that make it die with us and, where we are root, run as that user."""
    words = ["setpriv", "--pdeathsig", "KILL"]
    if user is not None:
        found = pwd.getpwnam(user)
        words += [f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups"]
        if may_search():
            words += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return words


def may_search() -> bool:
    """Containers may lack the capability; then the target must be open to the server's user."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("CapPrm:"):
                return bool(int(line.split()[1], 16) >> CAP_DAC_READ_SEARCH & 1)
    return False


class Keeper:
    """One server and what was made for it."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.user: str | None = told["user"] if os.geteuid() == 0 else None
        self.server: subprocess.Popen[bytes] | None = None

    def make_directories(self) -> None:
        wanted = [self.told["directory"], self.told["data"]]
        if self.told["socket_directory"]:
            os.mkdir(self.told["socket_directory"], 0o711)  # ours: the ledger lets remove only what is
            wanted.append(os.path.dirname(self.told["socket"]))
        if self.user is not None and not may_search():
            os.chmod(os.path.dirname(self.told["directory"]), 0o711)
        for directory in wanted:
            os.mkdir(directory, 0o700)
            if self.user is not None:
                found = pwd.getpwnam(self.user)
                os.chown(directory, found.pw_uid, found.pw_gid)

    def start(self, argv: list[str], stdin: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """In a process group of its own; what it prints goes to the log. Raises Trouble."""
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        for name in ("MYSQL_UNIX_PORT", "PGDATA", "PGOPTIONS"):
            environment.pop(name, None)
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(self.told["log"], flags, 0o600), "ab") as log:
                return subprocess.Popen(
                    [*privileges(self.user), *argv],
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    cwd=self.told["directory"],
                    env=environment,
                    process_group=0,
                )
        except FileNotFoundError as error:
            raise Trouble(f"{error.filename} is missing (setpriv: apt-get install util-linux)") from error

    def prepare(self, step: dict[str, Any]) -> None:
        """Run one command to its end. Raises Trouble with what it said."""
        process = self.start(step["argv"], subprocess.PIPE)
        self.server = process  # ended with the rest on a hang-up
        assert process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
                stdin.write(step.get("text", "").encode())
                for path in step.get("files", ()):
                    with open(path, "rb") as file:
                        shutil.copyfileobj(file, stdin)
        except OSError as error:
            raise Trouble(str(error)) from error
        while process.poll() is None:
            self.check_hang_up()
        if process.returncode:
            raise Trouble(self.complaint() or f"{step['argv'][0]} ended with status {process.returncode}")

    def serve(self) -> None:
        """Start the server and wait until it answers. Raises Trouble."""
        self.server = self.start(self.told["argv"])
        until = time.monotonic() + START_S
        while not self.answers():
            self.check_hang_up()
            if self.server.poll() is not None:
                raise Trouble(self.complaint() or f"it ended with status {self.server.returncode} at once")
            if time.monotonic() > until:
                raise Trouble(f"it took no connection within {START_S:.0f} s")
        say(started=self.server.pid)

    def answers(self) -> bool:
        if self.told["ready"]:
            path, word = self.told["ready"]
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read().rstrip().rpartition("\n")[2].startswith(word)
            except OSError:
                return False
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(self.told["socket"]) == 0

    def check_hang_up(self) -> None:
        if select.select([0], [], [], POLL_S)[0] and not os.read(0, 4096):
            raise HungUp

    def watch(self) -> None:
        """Until stdin closes; says so once if the server ends before."""
        assert self.server is not None
        told = False
        while True:
            self.check_hang_up()
            if not told and self.server.poll() is not None:
                say(ended=self.server.returncode, complaint=self.complaint())
                told = True

    def complaint(self) -> str:
        """The last error in its log, without the time before it."""
        try:
            with open(self.told["log"], "rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - LOG_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        lines = ["".join(letter for letter in line if letter.isprintable()) for line in lines]
        # "Aborting" only says that what stands above it was fatal
        lines = [line for line in lines if not line.endswith("[ERROR] Aborting")]
        for line in reversed(lines):
            for mark in COMPLAINTS:
                if mark in line:
                    return self.with_hint(line.partition(mark)[2].strip()[:600])
        return self.with_hint(lines[-1][:600]) if lines else ""

    def with_hint(self, complaint: str) -> str:
        """Who may be in the way: the profile of a distribution, or directories that are closed to the server's user."""
        if "ermission denied" not in complaint:
            return complaint
        name = os.path.basename(self.told["program"])
        profiles = [path for path in glob.glob("/etc/apparmor.d/*") if os.path.basename(path).endswith(f".{name}")]
        if profiles:
            return f"{complaint}. Its AppArmor profile {profiles[0]} may forbid this directory (aa-complain {name})"
        if self.user is not None:
            return f"{complaint}. It runs as {self.user}: name a directory that this user can reach"
        return complaint

    def end(self) -> None:
        """Stop the server with all its processes, and remove what was made for it."""
        if self.server is not None:
            self.signal(self.told["signal"])
            try:
                self.server.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.signal("SIGKILL")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.server.wait(GRACE_S)
        for directory in (self.told["directory"], self.told["socket_directory"]):
            if directory:
                shutil.rmtree(directory, ignore_errors=True)

    def signal(self, name: str) -> None:
        """SIGKILL for the whole group, any other for the server, which passes it on."""
        assert self.server is not None
        number = signal.Signals[name]
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if name == "SIGKILL" else os.kill)(self.server.pid, number)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # fstui closes our stdin; an ignored one the server would inherit
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    keeper = Keeper(json.loads(line))
    with contextlib.suppress(BrokenPipeError, HungUp):
        try:
            keeper.make_directories()
            for step in keeper.told["prepare"]:
                keeper.prepare(step)
            keeper.serve()
            keeper.watch()
        except Trouble as trouble:
            say(error=str(trouble))
        except (OSError, KeyError) as error:
            say(error=str(error))
    keeper.end()
    sys.exit(0)


if __name__ == "__main__":
    main()
