"""Child processes: start, read, stop, reap, abandon.

Everything that can block on storage runs in a child process, because a process with a thread that is stuck in the
kernel cannot end. A stuck child is left behind. A child ends by itself when its stdin closes, so it also ends after
kill -9 of fstui.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

from fstui import proc
from fstui.measure.wire import frames
from fstui.model.errors import LIMIT_REACHED, Refused, sentence_of
from fstui.model.quantities import seconds

_ROOT = str(Path(__file__).resolve().parents[2])
_RUNNER = "import sys,runpy; sys.path.insert(0,sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1),run_name='__main__')"
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_EXIT_POLL_S, _EXIT_TIMEOUT_S = 0.005, 0.5
_PROGRESS_POLL_S = 0.1
CALL_TIMEOUT_S, _PROGRESS_EXTENSION_S = 2.0, 60.0
"""Time limit for a call that makes no progress, and how much longer a call may take that makes progress."""
STOPPING_TIMEOUT_S, ABANDONED_TIMEOUT_S = 0.5, 0.2
"""Time limits for a child without progress after the user has stopped fstui. The second applies if another child was
abandoned on the same disk."""
_STATE_DIR = "the state directory"
_LIMITS: dict[int | None, str] = {
    errno.EAGAIN: LIMIT_REACHED,
    errno.EMFILE: "too many files are open. See 'ulimit -n'",
}
Result = TypeVar("Result")
DiskRole = Literal["home", "target"]
"""The disk that a child uses: the disk of the state directory (home) or of the measured directory (target)."""


class NotStarted(Refused):
    """A child program cannot be started: there are too many processes or open files, or /dev/null does not exist."""

    def __init__(self, module: str, error: OSError) -> None:
        reason = _LIMITS.get(error.errno, sentence_of(error))
        super().__init__(f"cannot start a helper process (fstui.{module}): {reason}")


class NoReply(Refused):
    """A child made no progress for too long, or took too long: the disk that it reads or writes may hang."""

    def __init__(self, where: str, waited_s: float) -> None:
        self.reason = f"did not answer within {seconds(waited_s)}: its disk or server may hang"
        super().__init__(f"{where} {self.reason}")


class ShutdownDeadline(NamedTuple):
    """How long to wait for children after the user has stopped fstui."""

    stop_requested: Callable[[], bool]
    disk_progress: Callable[[DiskRole], object]
    """Returns a value that changes whenever the disk completes a request."""
    hung_disks: set[DiskRole]
    """The disks on which a child was abandoned."""

    def timeout_s(self, disk: DiskRole) -> float:
        """Return the time limit for a child that makes no progress."""
        return ABANDONED_TIMEOUT_S if disk in self.hung_disks else STOPPING_TIMEOUT_S


SHUTDOWN_DEADLINE: ContextVar[ShutdownDeadline | None] = ContextVar("shutdown_deadline", default=None)
"""The deadline of the current task. Tasks inherit it from the task that starts them."""


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line of a child program. It ignores the user's Python settings, and works in a zip file."""
    return [sys.executable, "-I", "-S", "-c", _RUNNER, _ROOT, f"fstui.{module}", *arguments]


class Child:
    """A running program with pipes on stdin and stdout. It has its own process group, so Ctrl-C does not reach it.

    By default it also has its own session, and so its own share of CPU time: fstui's other work does not slow it down
    (sched(7), autogroup). asyncio.subprocess is not used, because an event loop that closes would wait for the process
    or print a warning.
    """

    _stdin: asyncio.WriteTransport
    _stdout_transport: asyncio.ReadTransport

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._stdout = asyncio.StreamReader(_READ_BYTES)

    @classmethod
    async def start(
        cls, module: str, *arguments: str, own_session: bool = True, read_from: Literal["stdout", "stderr"] = "stdout"
    ) -> Child:
        """Start the program in a module. If ``read_from`` is stderr, the child inherits stdout. Raises NotStarted."""
        try:
            process = subprocess.Popen(  # noqa: ASYNC220  asyncio starts a process with this blocking call, too
                command(module, *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if read_from == "stdout" else None,
                stderr=subprocess.PIPE if read_from == "stderr" else subprocess.DEVNULL,
                start_new_session=own_session,
                process_group=None if own_session else 0,
            )
        except OSError as error:
            raise NotStarted(module, error) from error
        child, loop, pipe = cls(process), asyncio.get_running_loop(), process.stdout or process.stderr
        assert pipe is not None
        with contextlib.suppress(OSError):  # enlarge the pipe, so that a busy reader does not delay the probe
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            protocol = asyncio.StreamReaderProtocol(child._stdout)
            child._stdout_transport, _ = await loop.connect_read_pipe(lambda: protocol, pipe)
            child._stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        except BaseException:
            process.kill()
            raise
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: str) -> None:
        """Send a line to the child's stdin. Nothing happens if the child has ended."""
        self.send_bytes(line.encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        if not self._stdin.is_closing():
            self._stdin.write(data)

    def hang_up(self) -> None:
        """Close the child's stdin, so that it cleans up and ends."""
        self._stdin.close()

    async def read_line(self) -> bytes:
        return await self._stdout.readline()

    async def read_all(self) -> bytes:
        return await self._stdout.read()

    async def read_frames(self) -> AsyncIterator[frames.Frame | frames.Samples]:
        """Yield the frames of the child as they arrive. Raises ValueError if it prints anything else."""
        decoder = frames.Decoder()
        while data := await self._stdout.read(_READ_BYTES):
            for frame in decoder.feed(data):
                yield frame

    async def reap(self, timeout_s: float) -> int | None:
        """Close the child's stdin and wait at most ``timeout_s`` for its end. Return the exit status (negative if a
        signal killed it), or None if the child had to be abandoned."""
        self.hang_up()
        # not wait_for: before Python 3.12, it ignores a cancellation that arrives together with the exit
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                return await self._wait_for_exit()
        self.abandon()
        return None

    async def _wait_for_exit(self) -> int:
        while (status := self._process.poll()) is None:  # noqa: ASYNC110  the kernel sets no event
            await asyncio.sleep(_EXIT_POLL_S)
        return status

    async def read_reply(self, timeout_s: float, where: str, disk: DiskRole) -> bytes:
        """Return the next line of the child's output. Raises NoReply as ``_wait_for`` does."""
        return await _wait_for(self, self.read_line(), timeout_s, where, disk)

    async def read_replies(self, timeout_s: float, where: str, disk: DiskRole) -> AsyncIterator[bytes]:
        """Yield the lines of the child as they arrive, until it ends. Raises NoReply as ``_wait_for`` does."""
        incomplete = b""
        while data := await _wait_for(self, self._stdout.read(_READ_BYTES), timeout_s, where, disk):
            *lines, incomplete = (incomplete + data).split(b"\n")
            for line in lines:
                yield line

    async def end(self, timeout_s: float, disk: DiskRole) -> int | None:
        """Close the child's stdin and wait for its end as long as it makes progress. Return what ``reap`` returns."""
        self.hang_up()
        try:
            return await _wait_for(self, self._wait_for_exit(), timeout_s, "", disk)
        except NoReply:
            self.abandon()
            return None

    def kill_group(self) -> None:
        """Kill the child and the programs that it started. Call this before ``reap``, which frees the process id."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def abandon(self) -> None:
        """Send SIGKILL and do not wait: a process that is stuck in the kernel ends later."""
        self._process.kill()
        self._stdin.close()
        self._stdout_transport.close()


async def call_in_child(
    function: Callable[..., Result], *arguments: object, timeout_s: float = CALL_TIMEOUT_S, where: str = _STATE_DIR
) -> Result:
    """Call a function of a module in a child process, because the disk that the function uses may hang.

    The programs that the function started are killed when it returns. ``where``: what the function reads or writes.
    Raises what the function raises, NotStarted, NoReply as ``_wait_for`` does, and ChildProcessError if the child was
    killed.
    """
    return cast(Result, await _call(sys.path, function, arguments, timeout_s, where))


async def call_helper(name: str, *arguments: object, timeout_s: float = CALL_TIMEOUT_S, where: str = _STATE_DIR) -> Any:
    """Call a function by name (``module.function``) without importing its module. Raises as ``call_in_child``."""
    return await _call([], f"fstui.{name}", arguments, timeout_s, where)


async def _call(search_path: list[str], function: object, arguments: object, timeout_s: float, where: str) -> Any:
    child = await Child.start("measure.helpers.call")
    try:
        # two pickles, because the function can be unpickled only after the search path is set
        child.send_bytes(pickle.dumps(search_path) + pickle.dumps((function, arguments)))
        child.hang_up()
        output = await _wait_for(child, child.read_all(), timeout_s, where)
    finally:
        child.kill_group()
        child.abandon()
    await child.reap(_EXIT_TIMEOUT_S)
    try:
        succeeded, result = pickle.loads(output)
    except (EOFError, pickle.UnpicklingError):
        raise ChildProcessError(errno.ECHILD, "the child process was killed") from None
    if not succeeded:
        raise result
    return result


async def _wait_for(
    child: Child, operation: Coroutine[Any, Any, Result], timeout_s: float, where: str, disk: DiskRole = "home"
) -> Result:
    """Return the result of an operation that waits for a child: a read of its output, or the wait for its end.

    Raises NoReply if the child made no progress for ``timeout_s``, or if the operation takes longer than
    ``timeout_s`` + _PROGRESS_EXTENSION_S. A child makes progress if it can run or makes system calls. After the user
    has stopped fstui, ShutdownDeadline.timeout_s is the limit, and each request that the disk completes is progress.
    """
    task = asyncio.ensure_future(operation)
    start_s = last_progress_s = time.monotonic()
    progress: object = ()
    deadline = SHUTDOWN_DEADLINE.get()
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=min(_PROGRESS_POLL_S, timeout_s))
            if done:
                return task.result()
            shutdown = deadline if deadline and deadline.stop_requested() else None
            now_s, previous = time.monotonic(), progress
            progress = _progress(child.pid), shutdown and shutdown.disk_progress(disk)
            if progress != previous:
                last_progress_s = now_s
            limit_s = min(timeout_s, shutdown.timeout_s(disk)) if shutdown else timeout_s
            idle_s, total_s = now_s - last_progress_s, now_s - start_s
            if idle_s >= limit_s or total_s > timeout_s + _PROGRESS_EXTENSION_S:
                if shutdown:
                    shutdown.hung_disks.add(disk)
                raise NoReply(where, idle_s if idle_s >= limit_s else total_s)
    finally:
        task.cancel()


def _progress(pid: int) -> tuple[str, ...]:
    """Return texts that change while a process or one of its children makes progress: the time now if it can run, its
    CPU time (proc_pid_stat(5)), and the number of its system calls (proc_pid_io(5))."""
    process = proc.stat(pid)
    if process is None:
        return ()
    system_calls = proc.read_text(f"/proc/{pid}/io")
    runnable_at = str(time.monotonic_ns()) if process.state == "R" else ""
    child_texts = (text for child in proc.children(pid) for text in _progress(child))
    return runnable_at, str(process.cpu_ticks), system_calls, *child_texts
