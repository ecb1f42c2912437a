"""Start fstui by fork(2) from a process that has already imported it, which takes a fifth of the time.

As a program, this module is that process. It reads requests from the socket on its stdin. Its fstui also forks where it
only calls a function in a child, as an interpreter that imports the function's module takes ten times as long.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, AnyStr

import fstui.cli
from fstui.judge import judge
from fstui.measure import children
from fstui.measure.helpers import call
from tests.factories.samples import RUN

ROOT = Path(__file__).parents[1]
MAX_REQUEST_BYTES = 1 << 20
CLONE = 56 if os.uname().machine == "x86_64" else 220  # syscall(2): 220 on aarch64 and all newer architectures
CLONE_PARENT = 0x8000


class Forked(subprocess.Popen[AnyStr]):
    """``fstui ARGUMENTS`` as a child of this process. The streams, ``cwd`` and ``env`` of Popen have an effect."""

    def _execute_child(self, args: Any, *options: Any) -> None:
        cwd, env, (stdin, _, _, stdout, _, stderr) = options[4], options[5], options[9:15]
        request = {
            "arguments": [os.fsdecode(argument) for argument in args],
            "directory": os.fspath(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
        }
        streams = [own if end == -1 else end for own, end in enumerate((stdin, stdout, stderr))]
        self.pid = _server().start(json.dumps(request).encode(), streams)
        self._child_created = True
        self._close_pipe_fds(*options[9:15])  # type: ignore[attr-defined]


class Server:
    """The process that has imported fstui. It starts a new process for each request."""

    def __init__(self) -> None:
        self._socket, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST_BYTES)
        self._one_at_a_time = threading.Lock()
        with other_end:  # it ends when this process does, and closes the other end
            self._process = subprocess.Popen([sys.executable, "-m", __name__], stdin=other_end.fileno(), cwd=ROOT)

    def start(self, request: bytes, streams: list[int]) -> int:
        """Return the process id of a new child of this process."""
        with self._one_at_a_time:
            socket.send_fds(self._socket, [request], streams)
            return int(self._socket.recv(99))


@cache
def _server() -> Server:
    return Server()


def run(
    *arguments: str | bytes | Path,
    stdin: int = subprocess.DEVNULL,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run fstui in the current directory, as subprocess.run does. ``data``: its whole input."""
    stdin_stream = stdin if data is None else subprocess.PIPE
    process: Forked[bytes] = Forked(
        arguments, stdin=stdin_stream, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    stdout, stderr = process.communicate(data)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def serve() -> None:
    """Fork a process for each request. Return only in a forked process, which then runs fstui."""
    requests = socket.socket(fileno=os.dup(0))
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
        if not data:
            os._exit(0)
        if not (child := _fork_sibling()):
            requests.close()
            return _become(json.loads(data), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(child).encode())


def _fork_sibling() -> int:
    """Fork a child of this process's parent, which can wait for it (clone(2))."""
    python = ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    child: int = python.syscall(*map(ctypes.c_long, (CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)))
    (python.PyOS_AfterFork_Parent if child else python.PyOS_AfterFork_Child)()
    return child


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["fstui", *request["arguments"]]


class _Calling(subprocess.Popen[bytes]):
    """A child program. That which calls one function is a fork of this process."""

    def _execute_child(self, args: Any, *options: Any) -> None:
        if args != children.command("measure.helpers.call"):
            super()._execute_child(args, *options)  # type: ignore[misc]
            return
        # Python ignores an exception of a signal handler that runs in a hook of os.fork
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.pid = os.fork()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if not self.pid:
            _call_function(options[9], options[12], options[14])
        self._child_created = True
        self._close_pipe_fds(*options[9:15])  # type: ignore[attr-defined]


def _call_function(*streams: int) -> None:
    """Continue as that child program, and end this process."""
    status = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for number, stream in enumerate([fcntl.fcntl(stream, fcntl.F_DUPFD, 3) for stream in streams]):
            os.dup2(stream, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        sys.stdin = os.fdopen(0)
        call.main()
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    for module in pkgutil.walk_packages(fstui.__path__, "fstui."):
        if not module.name.startswith(("fstui.tui", "fstui.__main__")):
            import_module(module.name)
    judge(RUN)  # reads the tables
    gc.freeze()
    serve()
    warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # of Python 3.12, about _Calling's fork
    subprocess.Popen = _Calling  # type: ignore[misc,assignment]
    try:
        fstui.cli.main()
    except SystemExit as error:  # skip the shutdown of the interpreter: it copies most of the memory
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        assert isinstance(error.code, int)
        os._exit(error.code)


if __name__ == "__main__":
    main()
