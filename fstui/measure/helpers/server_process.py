"""A database server as a child process: initialise its data directory, start it, read its log, stop it.

The server runs under ``setpriv`` (util-linux), and the kernel kills it when the program that started it exits. If that
program runs as root, the server runs as a different user and without capabilities. The server inherits only
LOADER_VARIABLES from the environment.
"""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fstui.measure.wire.own_directory import OPEN_FLAGS
from fstui.measure.wire.stdio import ProgramError

START_POLL_S = 0.01
EXIT_POLL_S = 0.25
FULL_REASON = "no space left on the filesystem of the run's directory"
MIN_FREE_BYTES = 1 << 20
LOG_BYTES = 65536
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
LOADER_VARIABLES = ("LD_PRELOAD", "LD_LIBRARY_PATH")
"""Variables that the server inherits, because a library that stubs syncs is part of what is measured."""
NO_SPACE_WORDS = ("no space left", "errcode: 28", "disk is full", "out of disk space", "with error 28")
ERROR_MARKS = ("[ERROR]", "ERROR:", "FATAL:", "PANIC:", "error:", "Error:", "[FATAL]")
MOUNT_POINT = "/media"
"""Where ``mount_privately`` mounts the data directory. Servers use nothing in /media."""
SHARED_MEMORY = "/dev/shm"
"""Where shm_open(3) creates its files."""
CLONE_NEWNS, CLONE_NEWIPC, MS_BIND, MS_REC, MS_SLAVE = 0x20000, 0x8000000, 1 << 12, 1 << 14, 1 << 19
DATA_FD = 64
"""The descriptor of the data directory in the server and its children, higher than all descriptors that they open."""


def is_full() -> bool:
    """Return whether the filesystem has too little space left for the growth of a log."""
    sizes = os.statvfs(".")  # some filesystems report no sizes
    return bool(sizes.f_blocks) and sizes.f_bavail * sizes.f_frsize < MIN_FREE_BYTES


class ServerProcess:
    def __init__(self, name: str, log: str, user: str | None, wait: Callable[[float], object]) -> None:
        """``name``: the name of the data directory. ``wait``: is called with a time in seconds while the server starts.
        It waits for this time, or raises an exception to give up."""
        self.name = name
        self.log = log
        self.user = user
        self.wait = wait
        self.data_path = name
        """The path by which the server reaches the data directory; it replaces ``{data}`` in command lines."""
        self.process: subprocess.Popen[bytes] | None = None
        self._fds: tuple[int, ...] = ()

    def give_data_to_server(self) -> None:
        """Pass the data directory to the server as DATA_FD, and let the server's user reach it. Raises ProgramError.

        The path of a descriptor is short enough for a socket (107 bytes, unix(7)), and no user can put a link there.
        """
        data = os.open(self.name, OPEN_FLAGS)
        os.dup2(data, DATA_FD)
        os.close(data)
        self.data_path, self._fds = f"/proc/self/fd/{DATA_FD}", (DATA_FD,)
        if self.user is None:
            return
        account = pwd.getpwnam(self.user)
        os.fchown(DATA_FD, account.pw_uid, account.pw_gid)
        if mount_privately(self.name):
            self.data_path = MOUNT_POINT
            return
        os.chmod(".", 0o711)
        # servers resolve the real paths of their files, so they must be able to enter each directory of the path
        real_path = os.path.realpath(self.name)
        if subprocess.run([*setpriv(self.user), "test", "-d", real_path], check=False).returncode:
            raise ProgramError(
                f"it runs as {self.user}, which cannot reach {real_path}: choose a directory that this user can reach"
            )

    def run(self, argv: Iterable[str], stdin: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a command in its own process group, with its output in the log. Raises ProgramError."""
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(self.log, flags, 0o600), "ab") as log:
                self.process = subprocess.Popen(
                    [*setpriv(self.user), *(word.replace("{data}", self.data_path) for word in argv)],
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    cwd="/",  # PostgreSQL leaves this directory and must be able to return
                    env={**ENVIRONMENT, **{name: os.environ[name] for name in LOADER_VARIABLES if name in os.environ}},
                    pass_fds=self._fds,
                    process_group=0,
                )
        except FileNotFoundError as error:
            raise ProgramError(f"{error.filename} is missing (setpriv: apt-get install util-linux)") from error
        return self.process

    def prepare(self, command: dict[str, Any]) -> None:
        """Run a command that initialises the data directory: ``argv``, with ``text`` and then ``files`` on its stdin.
        Raises ProgramError with the error of the command."""
        process = self.run(command["argv"], subprocess.PIPE)
        assert process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
                stdin.write(command.get("text", "").encode())
                for path in command.get("files", ()):
                    with open(path, "rb") as file:
                        shutil.copyfileobj(file, stdin)
        except OSError as error:
            raise ProgramError(str(error)) from error
        while process.poll() is None:
            self.pause(EXIT_POLL_S)
        if process.returncode:
            raise ProgramError(self.failure_reason(f"{command['argv'][0]} ended with status {process.returncode}"))

    def start(self, argv: Iterable[str], is_ready: Callable[[], bool]) -> None:
        """Start the server and wait until it is ready. Raises ProgramError."""
        process = self.run(argv)
        while not is_ready():
            self.pause(START_POLL_S)
            if process.poll() is not None:
                raise ProgramError(self.failure_reason(f"it exited immediately with status {process.returncode}"))

    def pause(self, seconds: float) -> None:
        """Wait. Raises ProgramError if the disk is full, because MariaDB would wait until there is space."""
        self.wait(seconds)
        if is_full():
            raise ProgramError(self.failure_reason("the server waits for space"))

    def is_ready(self, socket_name: str, ready: Sequence[str] | None) -> bool:
        """Return whether the server is ready. ``ready``: a file in the data directory and the word with which its last
        line begins when the server is ready. None: the server is ready when its socket accepts connections."""
        if not ready:
            return self.accepts_connections(socket_name)
        name, word = ready
        try:
            with open(f"{self.name}/{name}", encoding="utf-8", errors="replace") as file:
                return file.read().rstrip().rpartition("\n")[2].startswith(word)
        except OSError:
            return False

    def accepts_connections(self, name: str) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(f"{self.name}/{name}") == 0

    def signal(self, name: str) -> None:
        """Send SIGKILL to the whole process group. Send any other signal only to the server, which passes it on."""
        # send none to a server that was reaped, because its pid may belong to another process now
        if self.process is not None and self.process.poll() is None:
            send = os.killpg if name == "SIGKILL" else os.kill
            with contextlib.suppress(ProcessLookupError):
                send(self.process.pid, signal.Signals[name])

    def failure_reason(self, default: str) -> str:
        """Return the server's last error, or ``default`` if there is none. If the disk is full, add FULL_REASON."""
        error_line = self.last_error() or default
        full = is_full() or any(word in error_line.lower() for word in NO_SPACE_WORDS)
        return f"{FULL_REASON}: {error_line}" if full else error_line

    def last_error(self) -> str:
        """Return the last error in the log without its timestamp. An error about a full disk takes precedence, because
        it explains later errors."""
        try:
            with open(self.log, "rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - LOG_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        lines = ["".join(letter for letter in line if letter.isprintable()) for line in lines]
        # "Aborting" adds nothing: the error is in the line before it
        lines = [line for line in lines if not line.endswith("[ERROR] Aborting")]
        no_space_lines = [line for line in lines if any(word in line.lower() for word in NO_SPACE_WORDS)]
        for line in reversed(no_space_lines or lines):
            for mark in ERROR_MARKS:
                if mark in line:
                    return line.partition(mark)[2].strip()[:600]
        return lines[-1][:600] if lines else ""


def setpriv(user: str | None) -> list[str]:
    """Return a command prefix: the command runs as ``user`` (if given), and is killed when this process exits."""
    argv = ["setpriv", "--pdeathsig", "KILL"]
    if user is not None:
        account = pwd.getpwnam(user)
        argv += [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", "--inh-caps=-all"]
    return argv


def mount_privately(directory: str) -> bool:
    """Mount the directory at MOUNT_POINT, visible only to this process and its children (mount_namespaces(7)).

    At MOUNT_POINT, the server's user reaches the directory without access to root's directories, and no user can rename
    it. Later mounts and unmounts on the host are visible here as well. The server also gets its own shared memory,
    which is freed when this process ends. Returns False if root is not allowed to mount, as in a container.
    """
    libc = ctypes.CDLL(None)
    libc.unshare(CLONE_NEWIPC)
    follow_host, bind = ctypes.c_ulong(MS_REC | MS_SLAVE), ctypes.c_ulong(MS_BIND)
    return (
        os.path.isdir(MOUNT_POINT)
        and libc.unshare(CLONE_NEWNS) == 0
        and libc.mount(None, b"/", None, follow_host, None) == 0
        and libc.mount(directory.encode(), MOUNT_POINT.encode(), None, bind, None) == 0
        and (not os.path.isdir(SHARED_MEMORY) or libc.mount(None, SHARED_MEMORY.encode(), b"tmpfs", 0, None) == 0)
    )


def is_confined(name: str) -> bool:
    """Return whether an AppArmor profile for a program is loaded and enforced (apparmor(7))."""
    try:
        with open("/sys/kernel/security/apparmor/profiles", encoding="utf-8", errors="replace") as file:
            profiles = [line.rstrip().rpartition(" ") for line in file]
    except OSError:
        return False
    return any(os.path.basename(profile) == name and mode == "(enforce)" for profile, _, mode in profiles)
