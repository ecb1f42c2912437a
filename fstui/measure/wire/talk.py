"""How a probe talks with the engine: settings and words on stdin, frames on stdout, failures by call and errno."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fstui.measure.wire import frames
from fstui.measure.wire.held import enter

clock = time.monotonic_ns


class CallError(Exception):
    """A system call failed: its name and errno."""

    def __init__(self, call: str, error: OSError) -> None:
        super().__init__(str(error))
        self.call = call
        self.errno = error.errno


def calling(call: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call; an OSError becomes a CallError that names the call."""
    try:
        return function(*arguments)
    except OSError as error:
        raise CallError(call, error) from error


def write_whole(fd: int, block: Any, offset: int) -> None:
    """One write of all of it. Raises OSError, also where less was written."""
    done = os.pwrite(fd, block, offset)
    if done < len(block):
        raise cut_short(fd, block, offset, done)


def cut_short(fd: int, block: Any, offset: int, done: int) -> OSError:
    """Why a write wrote so little: what made it short comes as the error of the next, if anything comes."""
    try:
        os.pwrite(fd, block[done:], offset + done)
    except OSError as error:
        return error
    return OSError(f"only {done} of {len(block)} bytes at once, and no error")


def write_frame(frame: bytes) -> int:
    """Write a frame to the non-blocking stdout; returns the ns it had to wait for room there."""
    held = 0
    while True:
        try:
            os.write(1, frame)
            return held
        except BlockingIOError:
            since = clock()
            select.select([], [1], [], 1)
            held += clock() - since


def send(kind: str, **fields: Any) -> None:
    write_frame(frames.encode(kind, **fields))


def send_failure(failure: CallError, writer: int = 0) -> None:
    send("error", call=failure.call, errno=failure.errno, message=str(failure), writer=writer)


@contextmanager
def telling(call: str) -> Iterator[None]:
    """What ends a probe becomes its ``error`` frame: a CallError by its own call, any other OSError by this one. An
    engine that is gone is told nothing."""
    try:
        yield
    except BrokenPipeError:
        pass
    except CallError as failure:
        send_failure(failure)
    except OSError as error:
        send("error", call=call, errno=error.errno, message=str(error), writer=0)


def interrupted() -> bool:
    """The engine hung up or said stop: before ``ready`` it says nothing else."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    return bool(poll.poll(0))


def read_settings() -> dict[str, Any]:
    """The first line of stdin. Read byte by byte: what follows belongs to CommandLines."""
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    settings: dict[str, Any] = json.loads(line)
    return settings


def probe_settings() -> dict[str, Any]:
    """Those of a probe: a Ctrl-C is for the app, and its stdout never makes it wait."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = read_settings()
    os.set_blocking(1, False)
    return settings


def come_in(settings: dict[str, Any]) -> None:
    """Enter the run's directory: ``path`` and every other name is relative to it. Raises CallError."""
    calling("chdir", enter, settings["directory"], settings["identity"])


class CommandLines:
    """The engine's words on stdin. A closed stdin means stop."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._closed = False

    @property
    def stop_wanted(self) -> bool:
        """``stop`` came, or the engine is gone."""
        return self._closed or "stop" in self._words

    def wait_for(self, word: str) -> bool:
        """True when the word came; False when ``stop`` or the end came first."""
        while word not in self._words and not self.stop_wanted:
            self._read()
        return word in self._words and not self.stop_wanted

    def wait_for_end(self) -> None:
        """Until the engine closes stdin: it has read its counters."""
        while not self._closed:
            self._read()

    def ended_meanwhile(self, watched: int, timeout_s: float) -> bool:
        """Listen for that long; True as soon as the other end of ``watched`` has closed."""
        return self.readable_meanwhile(watched, timeout_s) and not os.read(watched, 1)

    def readable_meanwhile(self, watched: int, timeout_s: float) -> bool:
        """Listen for that long; True as soon as ``watched`` has something to read, or its end."""
        readable, _, _ = select.select([watched] if self._closed else [watched, 0], [], [], timeout_s)
        if 0 in readable:
            self._read()
        return watched in readable

    def _read(self) -> None:
        data = os.read(0, 4096)
        self._closed = not data
        self._words += data.decode().split()
