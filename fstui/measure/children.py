"""Child processes: start, read, stop, reap, abandon.

Everything that can block on storage runs in one, because a thread stuck in the kernel keeps a whole process from
ending and a child can be left behind. A child ends by itself when its stdin closes, so even kill -9 of fstui ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

from fstui import proc
from fstui.measure.wire import frames
from fstui.model.errors import Refused
from fstui.model.quantities import seconds

_ROOT = str(Path(__file__).resolve().parents[2])
_START = "import sys,runpy; sys.path.insert(0,sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1),run_name='__main__')"
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18
CALL_S, REAP_S, LOOK_S, MOST_S = 2.0, 0.5, 0.1, 60.0
HOME = "the state directory"
HURRIED_S, AGAIN_S = 0.5, 0.2
"""So long a child may do nothing at all where a stop was asked; and where one was given up at that place already."""
Result = TypeVar("Result")
Place = Literal["home", "target"]


class NoAnswer(Refused):
    """A child that reads or writes a disk did nothing for too long."""

    def __init__(self, where: str, waited_s: float) -> None:
        self.reason = f"did not answer within {seconds(waited_s)}: its disk or server may hang"
        super().__init__(f"{where} {self.reason}")


class ShutdownDeadline(NamedTuple):
    """Whether somebody waits for the end of all this, what changes while the disk of a place still works, and where
    a child was given up because it did not."""

    asked: Callable[[], bool]
    moved: Callable[[Place], object]
    given_up: set[Place]

    def limit_s(self, of: Place) -> float:
        """So long nothing may change."""
        return AGAIN_S if of in self.given_up else HURRIED_S


SHUTDOWN_DEADLINE: ContextVar[ShutdownDeadline | None] = ContextVar("shutdown_deadline", default=None)
"""Of the task that waits for a child, and of those that it has started."""
# an abandoned child may end after our loop has: no news for the user's terminal
logging.getLogger("asyncio").addFilter(lambda record: "that handles pid" not in str(record.msg))
_excepthook = threading.excepthook


def _say_of_a_thread(failed: threading.ExceptHookArgs) -> None:
    """What asyncio's thread that waits for a child meets where our loop closes just after it has looked is no news."""
    waits = failed.thread is not None and failed.thread.name.startswith("waitpid-")
    if not (waits and failed.exc_type is RuntimeError):
        _excepthook(failed)


threading.excepthook = _say_of_a_thread


def command(module: str, *arguments: str) -> list[str]:
    """How a program of ours is started: isolated, and from a checkout, a user install or a zip alike."""
    return [sys.executable, "-I", "-S", "-c", _START, _ROOT, f"fstui.{module}", *arguments]


class Child:
    """A running program with pipes on stdin and stdout, in a session of its own: Ctrl-C passes it by.

    Or in a process group of its own alone, which Ctrl-C passes by as well: the kernel shares out processors among
    sessions (sched(7), autogroup).
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin
        self._stdout = process.stdout

    @classmethod
    async def start(cls, module: str, *arguments: str, own_session: bool = True) -> Child:
        """Start ``measure.probes.sync_writes`` from fstui/measure/probes/sync_writes.py. Raises OSError."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command(module, *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=own_session,
                process_group=None if own_session else 0,
                limit=_READ_BYTES,
            )
        )
        if await _outlasting_cancellation(starting):
            if not starting.cancelled() and starting.exception() is None:
                cls(starting.result()).abandon()
            raise asyncio.CancelledError
        child = cls(starting.result())
        child._widen()
        return child

    def _widen(self) -> None:
        """A wider pipe, so that a busy reader does not hold the probe up. fcntl(2) F_SETPIPE_SZ; may be refused."""
        pipe = self._stdout._transport.get_extra_info("pipe")  # type: ignore[attr-defined]
        with contextlib.suppress(OSError, ValueError):  # closed already: the child may be gone
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, line: str) -> None:
        """One line to its stdin; nothing happens where it has ended."""
        self.send_bytes(line.encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Bytes to its stdin, as they are."""
        if not self._stdin.is_closing():
            self._stdin.write(data)

    def hang_up(self) -> None:
        """Close its stdin: the sign for it to clean up and end."""
        if not self._stdin.is_closing():
            self._stdin.close()

    async def read_line(self) -> bytes:
        """The next line, empty at the end."""
        return await self._stdout.readline()

    async def read_all(self) -> bytes:
        """All that it says until its end."""
        return await self._stdout.read()

    async def read_frames(self) -> AsyncIterator[frames.Frame | frames.Samples]:
        """Its frames as they come. Raises ValueError when it prints anything else."""
        decoder = frames.Decoder()
        while data := await self._stdout.read(_READ_BYTES):
            for frame in decoder.feed(data):
                yield frame

    async def reap(self, timeout_s: float) -> int | None:
        """Hang up and wait for the end: the exit status (negative: a signal), or None where it did not come in time."""
        self.hang_up()
        try:
            return await asyncio.wait_for(self._process.wait(), timeout_s)
        except TimeoutError:
            return None

    async def answer(self, patience_s: float, where: str, of: Place) -> bytes:
        """Return its next line. Raises NoAnswer where it did nothing for ``patience_s``, or for less after a stop."""
        return await _patiently(self, self.read_line(), patience_s, where, of)

    async def end(self, patience_s: float, of: Place) -> int | None:
        """Hang up, and wait for its end as patiently; None where it did not come."""
        self.hang_up()
        try:
            return await _patiently(self, self._process.wait(), patience_s, "", of)
        except NoAnswer:
            return None

    def abandon(self) -> None:
        """SIGKILL, and do not wait: a process stuck in the kernel dies when the kernel lets it."""
        # closing the transport kills, and lets go of the pipes: the loop's end would find them open and say so
        self._process._transport.close()  # type: ignore[attr-defined]


async def _outlasting_cancellation(starting: asyncio.Task[asyncio.subprocess.Process]) -> bool:
    """Wait until it has started or cannot; whether we were cancelled meanwhile.

    Cancelled itself, as every task is when a loop ends, it waits for pipes that it never connected, unless it is
    cancelled once more: asyncio's base_subprocess.py wakes who waits for the process when all pipes are gone.
    """
    cancelled = False
    while not starting.done():
        try:
            await asyncio.wait({starting}, timeout=LOOK_S if starting.cancelling() else None)
        except asyncio.CancelledError:
            cancelled = True
        if starting.cancelling():
            starting.cancel()
    return cancelled


async def in_child(
    function: Callable[..., Result], *arguments: object, timeout_s: float = CALL_S, where: str = HOME
) -> Result:
    """Call a function of a module in a child process, because the disk that it reads or writes may hang.

    Raises what it raises, and NoAnswer where it did nothing for ``timeout_s``. ``where``: what it reads or writes.
    """
    async with _asked("measure.helpers.call") as child:
        child.send_bytes(pickle.dumps(sys.path) + pickle.dumps((function, arguments)))
        child.hang_up()
        answer = await _patiently(child, child.read_all(), timeout_s, where)
    try:
        worked, result = pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError):  # killed before it had said all
        raise ChildProcessError(errno.ECHILD, "the child process was killed") from None
    if not worked:
        raise result
    return cast(Result, result)


async def ask_program(module: str, action: str, question: str, timeout_s: float, where: str) -> dict[str, Any]:
    """Send one question to a program that no process of fstui imports, and return its answer, a line of JSON.

    Raises NoAnswer where it did nothing for ``timeout_s``, OSError where it cannot be started.
    """
    async with _asked(module, action) as child:
        child.send(json.dumps(question))
        line = await _patiently(child, child.read_line(), timeout_s, where)
        answer: dict[str, Any] = json.loads(line or b'{"errno": null, "error": "the helper process ended"}')
        return answer


async def _patiently(
    child: Child, answer: Coroutine[Any, Any, Result], quiet_s: float, where: str, of: Place = "home"
) -> Result:
    """Return the answer of a child. Raises NoAnswer where it neither computed nor called the kernel for ``quiet_s``: a
    slow host, or much to read, takes none of that time. After a stop it is waited for while its disk works."""
    waiting = asyncio.ensure_future(answer)
    began = since = time.monotonic()
    seen: object = ()
    deadline = SHUTDOWN_DEADLINE.get()
    try:
        while not (await asyncio.wait({waiting}, timeout=min(LOOK_S, quiet_s)))[0]:
            passed = deadline if deadline and deadline.asked() else None
            newest, before = time.monotonic(), seen
            seen = _work_of(child.pid), passed and passed.moved(of)
            since = since if seen == before else newest
            limit_s = min(quiet_s, passed.limit_s(of)) if passed else quiet_s
            if newest - since >= limit_s or newest - began > MOST_S + quiet_s:
                if passed:
                    passed.given_up.add(of)
                raise NoAnswer(where, newest - since)
        return waiting.result()
    finally:
        waiting.cancel()


def _work_of(pid: int) -> tuple[str, ...]:
    """What changes while a process, or one that it has started, gets on: its times, its turn on a CPU
    (proc_pid_stat(5)), its calls (proc_pid_io(5))."""
    found = proc.stat(pid)
    if found is None:
        return ()
    try:
        calls = Path(f"/proc/{pid}/io").read_text() if os.access(f"/proc/{pid}/io", os.R_OK) else ""
    except OSError:
        return ()
    turn = str(time.monotonic_ns()) if found.state == "R" else ""
    return turn, str(found.cpu_ticks), calls, *(word for child in _children_of(pid) for word in _work_of(child))


def _children_of(pid: int) -> list[int]:
    """Of its first thread (proc_pid_task_tid_children(5)); none where the kernel does not tell."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@contextlib.asynccontextmanager
async def _asked(module: str, *arguments: str) -> AsyncIterator[Child]:
    """A child that answers once. One that does not is abandoned at once: who asked may be gone already."""
    child = await Child.start(module, *arguments)
    try:
        yield child
        await child.reap(REAP_S)
    finally:
        child.abandon()
