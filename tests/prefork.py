"""Start fstui by fork(2) from a process that has already imported it, which takes a fifth of the time.

Run as a program it is that process: it reads requests from the socket on its stdin.
"""

import atexit
import gc
import json
import os
import pkgutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import fstui.cli

ROOT = Path(__file__).parents[1]
MOST_BYTES = 1 << 20


class Prefork:
    """The process that has imported fstui. Each call is answered by a new child of it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_BYTES)
        with theirs:  # it ends when this process does, and closes the other end
            self._process = subprocess.Popen([sys.executable, "-m", __name__], stdin=theirs.fileno(), cwd=ROOT)

    def run(
        self, *arguments: str | bytes | Path, stdin: int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[bytes]:
        """Run fstui in the current directory and environment, as subprocess.run does."""
        words = [os.fsdecode(argument) for argument in arguments]
        request = {"arguments": words, "directory": os.getcwd(), "environment": dict(os.environ)}
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        with open(os.devnull, "rb") as nothing:
            given = nothing.fileno() if stdin == subprocess.DEVNULL else stdin
            socket.send_fds(self._socket, [json.dumps(request).encode()], [given, to_out, to_err])
        os.close(to_out)
        os.close(to_err)
        with ThreadPoolExecutor(2) as readers:
            stdout, stderr = readers.map(_read, (out, err))
        return subprocess.CompletedProcess(words, int(self._socket.recv(99)), stdout, stderr)


@cache
def prefork() -> Prefork:
    """Return the process of this test run."""
    return Prefork()


def _read(end: int) -> bytes:
    with open(end, "rb") as file:
        return file.read()


def serve() -> None:
    """Fork a child for each request. Return in the child, where fstui has to run."""
    asking = socket.socket(fileno=os.dup(0))
    while True:
        data, descriptors, _, _ = socket.recv_fds(asking, MOST_BYTES, 3)
        if not data:
            os._exit(0)
        if not (child := os.fork()):
            asking.close()
            return _become(json.loads(data), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        asking.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["fstui", *request["arguments"]]


def main() -> None:
    for module in pkgutil.walk_packages(fstui.__path__, "fstui."):
        if not module.name.startswith(("fstui.tui", "fstui.__main__")):
            import_module(module.name)
    gc.freeze()
    serve()
    try:
        fstui.cli.main()
    except SystemExit as ended:  # without the end of the interpreter, which would copy most of its memory
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        assert isinstance(ended.code, int)
        os._exit(ended.code)


if __name__ == "__main__":
    main()
