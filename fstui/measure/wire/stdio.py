"""A probe's side of the communication with the engine: settings and commands on stdin, frames on stdout."""

import errno
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from fstui.measure.wire import frames
from fstui.measure.wire.own_directory import enter

clock = time.monotonic_ns
PR_SET_PDEATHSIG = 1
_STOPPED_ERRNOS = (errno.EIO, errno.EUCLEAN, errno.EROFS, errno.ESHUTDOWN)
"""EFSCORRUPTED is EUCLEAN."""
_GONE_ERRNOS = (errno.ENODEV, errno.ENXIO, errno.ENOLINK, errno.ENOTCONN)
SHUTDOWN_ERRNOS = frozenset((*_STOPPED_ERRNOS, *_GONE_ERRNOS))
"""The errors of a filesystem that has shut itself down, become read-only or found its data corrupted, and of one whose
device or server is gone. A retry does not help."""


class CallError(Exception):
    """A failed system call: its name and errno."""

    def __init__(self, call: str, error: OSError) -> None:
        super().__init__(str(error))
        self.call = call
        self.errno = error.errno


class ProgramError(Exception):
    """An error of a program that a child program started, as a sentence for the user."""


def checked_call(call: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function and turn an OSError into a CallError that names ``call``."""
    try:
        return function(*arguments)
    except OSError as error:
        raise CallError(call, error) from error


def write_whole(fd: int, block: Any, offset: int) -> None:
    """Write the block in one call. Raises OSError, also if the kernel writes only a part of the block."""
    written = os.pwrite(fd, block, offset)
    if written < len(block):
        raise short_write_error(fd, block, offset, written)


def short_write_error(fd: int, block: Any, offset: int, written: int) -> OSError:
    """Return why the kernel wrote only a part of the block. Write the rest, because only the next write reports it."""
    try:
        os.pwrite(fd, block[written:], offset + written)
    except OSError as error:
        return error
    return OSError(f"the kernel wrote only {written} of {len(block)} bytes, and reported no error")


def write_frame(frame: bytes) -> int:
    """Write a frame to stdout, which is non-blocking. Return how long (ns) the pipe was full."""
    waited_ns = 0
    while True:
        try:
            os.write(1, frame)
            return waited_ns
        except BlockingIOError:
            start_ns = clock()
            select.select([], [1], [], 1)
            waited_ns += clock() - start_ns


def ignore_signals() -> None:
    """Ignore signals from the terminal, because fstui ends this program by closing its stdin."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def say(**fields: Any) -> None:
    """Write a line of JSON to stdout, as child programs other than probes do."""
    write_line(json.dumps(fields).encode() + b"\n")


def write_line(line: bytes) -> None:
    """Write a line, in several calls if the pipe is nearly full."""
    while line:
        line = line[os.write(1, line) :]


def send(kind: str, **fields: Any) -> None:
    write_frame(frames.encode(kind, **fields))


def send_failure(failure: CallError, writer: int = 0) -> None:
    send("error", call=failure.call, errno=failure.errno, message=str(failure), writer=writer)


def is_stopped() -> bool:
    """Return whether the engine has sent ``stop`` or closed stdin. Do not call this while ``go`` may arrive."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    return bool(poll.poll(0))


def exit_if_stopped() -> None:
    """Raise SystemExit if the engine has closed stdin or sent ``stop``."""
    if is_stopped():
        raise SystemExit(1)


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends, even by kill -9 (prctl(2))."""
    import ctypes  # noqa: PLC0415  few programs need it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def read_line() -> bytes:
    """Read a line from stdin byte by byte, so that later lines stay in the pipe. At the end, return an empty line."""
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    return line


def read_settings() -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(read_line())
    return settings


def enter_run_directory(settings: dict[str, Any]) -> None:
    """Change to the run's directory. All paths in the settings are relative to it. Raises CallError."""
    checked_call("chdir", enter, settings["directory"], settings["identity"])


def run_probe(
    measure: Callable[[dict[str, Any]], object],
    call: str,
    program: str = "",
    errno_of: Callable[[str], int | None] = lambda message: None,
) -> NoReturn:
    """Read the settings, enter the run's directory, call ``measure`` and exit. Send the error if there is one.

    A CallError names the system call that failed. Any other OSError is reported as a failure of ``call``, and a
    ProgramError as a failure of ``program``. ``errno_of`` returns the errno that the text of a ProgramError mentions.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the app
    settings = read_settings()
    os.set_blocking(1, False)
    try:
        enter_run_directory(settings)
        measure(settings)
    except BrokenPipeError:
        pass  # the engine has ended
    except CallError as failure:
        send_failure(failure)
    except OSError as error:
        send("error", call=call, errno=error.errno, message=str(error), writer=0)
    except ProgramError as error:
        message = str(error)
        send("error", call=program, errno=errno_of(message), message=message[:1000], writer=0)
    sys.exit(0)


class CommandLines:
    """The engine's commands on stdin: ``go`` and ``stop``. A closed stdin also means stop."""

    def __init__(self) -> None:
        self._commands: list[str] = []
        self._is_closed = False

    @property
    def stop_requested(self) -> bool:
        return self._is_closed or "stop" in self._commands

    def wait_for(self, command: str) -> bool:
        """Wait for the command. Return False if ``stop`` or the end of stdin arrives instead."""
        while command not in self._commands and not self.stop_requested:
            self._read()
        return command in self._commands and not self.stop_requested

    def wait_for_end(self) -> None:
        """Wait until the engine closes stdin. It has then read the devices' counters, so files may be removed."""
        while not self._is_closed:
            self._read()

    def wait_until_closed(self, fd: int, timeout_s: float) -> bool:
        """Wait until the other end of the pipe ``fd`` is closed, or a command arrives. Return whether it was closed."""
        return self.wait_until_readable(fd, timeout_s) and not os.read(fd, 1)

    def wait_until_readable(self, fd: int, timeout_s: float) -> bool:
        """Wait until ``fd`` has data or was closed, or until a command arrives. Return whether ``fd`` can be read."""
        readable, _, _ = select.select([fd] if self._is_closed else [fd, 0], [], [], timeout_s)
        if 0 in readable:
            self._read()
        return fd in readable

    def poll(self) -> None:
        if not self._is_closed and is_stopped():
            self._read()

    def _read(self) -> None:
        data = os.read(0, 4096)
        self._is_closed = not data
        self._commands += data.decode().split()
