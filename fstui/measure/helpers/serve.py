"""Program: keeps one throwaway database server, and ends it when stdin closes, so that even kill -9 of fstui ends it.

stdin: one line of JSON, and another with a new ``argv`` for each restart on the same data, until it closes.
stdout: JSON lines: ``started`` with the server's pid and its name for its ``data``, or ``error``; later ``ended``, if
it ends by itself. What it is told:
``directory``, ``identity``  the run's own directory, which it enters
``name``       of the data directory to make there (0700, the server's user's own) and to remove at the end; with
               ``.log`` behind it, of the server's error log
``data``       the path of that directory in the server's words below: of a descriptor with the number ``data_fd``
``socket``     the name of the server's unix socket among its data
``user``       whom to run as, where we are root
``prepare``    commands to run first: ``argv``, and what they read on stdin: ``text`` and then ``files``
``argv``       the server's own command line; ``program``, its first word
``ready``      a file among its data whose last line begins with this word (PostgreSQL), else: its socket takes
               connections
``signal``     what ends it; SIGKILL follows after five seconds
``restart_signal``  what ends it before a restart: it comes back to all that was committed
The server runs under ``setpriv`` (util-linux), so that it dies with us, as its own user where we are root, without a
capability and with little of our environment: whoever gets into it gets nothing that is not the server's.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
from typing import Any

from fstui.measure.helpers.confinement import PLACE, is_confined, mounted_apart, privileges
from fstui.measure.wire.held import OWN, enter

GRACE_S = 5.0
POLL_S = 0.01
"""Between two looks whether it is ready."""
LOOK_S = 0.25
"""Between two looks at the free space."""
FULL = "no space left on the filesystem of the run's directory"
FULL_BYTES = 1 << 20
LOG_BYTES = PIPE_BYTES = 65536
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
LOADER = ("LD_PRELOAD", "LD_LIBRARY_PATH")
"""What it shares with the other steps of the run: a library that leaves syncs out is part of what is measured."""
NO_SPACE = ("no space left", "errcode: 28", "disk is full", "out of disk space", "with error 28")
"""What a full disk leads to later in the log says less."""
COMPLAINTS = ("[ERROR]", "ERROR:", "FATAL:", "PANIC:", "error:", "Error:", "[FATAL]")


class Trouble(Exception):  # noqa: N818  becomes the ``error`` line
    """What went wrong, in a sentence."""


class HungUp(Exception):  # noqa: N818  not an error
    """fstui closed our stdin before the server was ready."""


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


def read_line() -> bytes:
    """From stdin, byte by byte: what follows stays to be seen by select. Raises HungUp at its end."""
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    if not line:
        raise HungUp
    return line


def children_that_end() -> int:
    """A descriptor that can be read once one has ended (signal(7), SIGCHLD)."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def is_full() -> bool:
    """Whether less space is left than a log grows by. Some filesystems report no sizes."""
    found = os.statvfs(".")
    return bool(found.f_blocks) and found.f_bavail * found.f_frsize < FULL_BYTES


class Keeper:
    """One server and what was made for it."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.user: str | None = told["user"] if os.geteuid() == 0 else None
        self.server: subprocess.Popen[bytes] | None = None
        self.name: str = told["name"]
        self.log = f"{self.name}.log"
        self.data: str = told["data"]
        self.made = False
        self.woken = children_that_end()

    def make_data_directory(self) -> None:
        """In the run's own, which nobody else may enter."""
        enter(self.told["directory"], self.told["identity"])
        os.mkdir(self.name, 0o700)
        self.made = True
        data = os.open(self.name, OWN)
        os.dup2(data, self.told["data_fd"])
        if self.user is not None:
            found = pwd.getpwnam(self.user)
            os.fchown(data, found.pw_uid, found.pw_gid)
            if mounted_apart(self.name):
                self.data = PLACE
            else:
                os.chmod(".", 0o711)
                self.see_that_it_is_reached()

    def see_that_it_is_reached(self) -> None:
        """Servers ask for the real path of what they open, and so must be able to walk down it. Raises Trouble."""
        real = os.path.realpath(self.name)
        if subprocess.run([*privileges(self.user), "test", "-d", real], check=False).returncode:
            raise Trouble(
                f"it runs as {self.user}, who cannot come to {real}: name a directory that this user can reach"
            )

    def start(self, argv: list[str], stdin: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """In a process group of its own; what it prints goes to the log. Raises Trouble."""
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(self.log, flags, 0o600), "ab") as log:
                return subprocess.Popen(
                    [*privileges(self.user), *(word.replace(self.told["data"], self.data) for word in argv)],
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    cwd="/",  # one that its user may come back to: PostgreSQL goes elsewhere to find itself
                    env={**ENVIRONMENT, **{name: os.environ[name] for name in LOADER if name in os.environ}},
                    pass_fds=(self.told["data_fd"],),
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
            self.hear(LOOK_S)
            self.see_that_there_is_room()
        if process.returncode:
            raise Trouble(self.reason(f"{step['argv'][0]} ended with status {process.returncode}"))

    def serve(self) -> None:
        """Start the server and wait until it answers, as long as fstui does. Raises Trouble."""
        self.server = self.start(self.told["argv"])
        while not self.answers():
            self.hear(POLL_S)
            self.see_that_there_is_room()
            if self.server.poll() is not None:
                raise Trouble(self.reason(f"it ended with status {self.server.returncode} at once"))
        say(started=self.server.pid, data=self.data)

    def see_that_there_is_room(self) -> None:
        """Raise Trouble on a full disk: MariaDB then waits in its start until a user frees space."""
        if is_full():
            raise Trouble(self.reason("the server waits for space"))

    def reason(self, otherwise: str) -> str:
        """The server's last error; where the disk is full, that first."""
        complaint = self.complaint() or otherwise
        full = is_full() or any(word in complaint.lower() for word in NO_SPACE)
        return f"{FULL}: {complaint}" if full else complaint

    def answers(self) -> bool:
        if self.told["ready"]:
            name, word = self.told["ready"]
            try:
                with open(f"{self.name}/{name}", encoding="utf-8", errors="replace") as file:
                    return file.read().rstrip().rpartition("\n")[2].startswith(word)
            except OSError:
                return False
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(f"{self.name}/{self.told['socket']}") == 0

    def hear(self, most_s: float | None = None) -> bytes:
        """A line of fstui's; nothing after a while, or once a process of ours has ended. Raises HungUp."""
        ready = select.select([0, self.woken], [], [], most_s)[0]
        if self.woken in ready:
            os.read(self.woken, PIPE_BYTES)
        return read_line() if 0 in ready else b""

    def watch(self) -> None:
        """Until stdin closes; says so once if the server ends before, and starts it again when it is told to."""
        assert self.server is not None
        told = False
        while True:
            if line := self.hear():
                self.restart(json.loads(line))
                told = False
            if not told and self.server.poll() is not None:
                say(ended=self.server.returncode, complaint=self.complaint())
                told = True

    def restart(self, news: dict[str, Any]) -> None:
        """On the same data with other words, once it has ended in peace, however long that takes. Raises Trouble."""
        assert self.server is not None
        self.signal(self.told["restart_signal"])
        while self.server.poll() is None:
            self.hear(LOOK_S)
            self.see_that_there_is_room()
        self.told |= news
        self.serve()

    def complaint(self) -> str:
        """The last error in its log, without the time before it."""
        try:
            with open(self.log, "rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - LOG_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        lines = ["".join(letter for letter in line if letter.isprintable()) for line in lines]
        # "Aborting" only says that what stands above it was fatal
        lines = [line for line in lines if not line.endswith("[ERROR] Aborting")]
        full = [line for line in lines if any(word in line.lower() for word in NO_SPACE)]
        for line in reversed(full or lines):
            for mark in COMPLAINTS:
                if mark in line:
                    return self.with_hint(line.partition(mark)[2].strip()[:600])
        return self.with_hint(lines[-1][:600]) if lines else ""

    def with_hint(self, complaint: str) -> str:
        """With the name of what may be in the way: nothing but a profile can be, as the directory is its own."""
        name = os.path.basename(self.told["program"])
        if "ermission denied" not in complaint or not is_confined(name):
            return complaint
        return f"{complaint}. Its AppArmor profile may forbid this directory (aa-complain {name})"

    def end(self) -> None:
        """Stop the server with all its processes, and remove what was made for it."""
        if self.server is not None:
            self.signal("SIGKILL" if is_full() else self.told["signal"])  # one that waits for space ignores others
            try:
                self.server.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.signal("SIGKILL")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.server.wait(GRACE_S)
        if self.made:
            shutil.rmtree(self.name, ignore_errors=True)

    def signal(self, name: str) -> None:
        """SIGKILL for the whole group, any other for the server, which passes it on."""
        assert self.server is not None
        number = signal.Signals[name]
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if name == "SIGKILL" else os.kill)(self.server.pid, number)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # fstui closes our stdin; an ignored one the server would inherit
    with contextlib.suppress(HungUp):
        keep(Keeper(json.loads(read_line())))
    sys.exit(0)


def keep(keeper: Keeper) -> None:
    """From making to removing."""
    with contextlib.suppress(BrokenPipeError, HungUp):
        try:
            keeper.make_data_directory()
            for step in keeper.told["prepare"]:
                keeper.prepare(step)
            keeper.serve()
            keeper.watch()
        except Trouble as trouble:
            say(error=str(trouble))
        except (OSError, KeyError) as error:
            say(error=str(error))
    keeper.end()


if __name__ == "__main__":
    main()
