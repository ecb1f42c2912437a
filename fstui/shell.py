"""Run a command, such as ssh or a command of the user, with limits for its time and its output.

Each command runs in a session of its own, so that Ctrl-C on the terminal ends no power command and no connection.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, NamedTuple

POLL_INTERVAL_S = 0.02
"""Interval between two checks of a running command."""
MAX_BYTES = 32 << 20
"""Limit for the output. The longest run document has a few MiB."""
_ERROR_BYTES, _PRINTED_BYTES = 1 << 16, 2000


class CommandResult(NamedTuple):
    code: int | None
    """The exit status; None if the command was killed because it took too long or printed too much."""
    out: bytes
    err: bytes
    """The end of stderr."""
    elapsed_s: float
    ended_s: float
    """When the command ended (time.monotonic)."""
    is_too_long: bool
    """Whether the command printed too much, so that ``out`` is incomplete."""

    @property
    def printed(self) -> str:
        """The end of stderr, or else of stdout, in one line."""
        return " ".join((self.err or self.out)[-_PRINTED_BYTES:].decode(errors="backslashreplace").split())

    @property
    def message(self) -> str:
        return self.printed or "it printed nothing"


class ShellCommand:
    """A running command. Its output goes to unnamed files, because a process that it leaves behind would keep a pipe
    open."""

    def __init__(
        self,
        argv: Sequence[str],
        timeout_s: float,
        stdin: Path | int = subprocess.DEVNULL,
        *,
        is_piped: bool = False,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
    ) -> None:
        """``stdin``: a file, its descriptor, ``DEVNULL`` or ``PIPE``. ``is_piped``: stdout is a pipe, which the caller
        reads. ``environment``: further variables. ``directory``: the working directory. Raises OSError."""
        self._began_s = time.monotonic()
        self._deadline_s = self._began_s + timeout_s
        self._ended: CommandResult | None = None
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  read at the end of the command
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        with stdin.open("rb") if isinstance(stdin, Path) else nullcontext(stdin) as source:
            self._process = subprocess.Popen(
                argv,
                stdin=source,
                stdout=subprocess.PIPE if is_piped else self._out,
                stderr=self._err,
                env={**os.environ, **(environment or {})},
                cwd=directory,
                start_new_session=True,
            )

    @property
    def stdout(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def poll(self) -> CommandResult | None:
        """Return the result if the command has ended. Kill the command if it exceeds a limit."""
        if self._ended is None:
            code = self._process.poll()
            if code is not None:
                self._ended = self._result(code)
            elif time.monotonic() > self._deadline_s or self._printed_bytes > MAX_BYTES:
                self.kill()
                self._ended = self._result(None)
        return self._ended

    async def finish(self, interval_s: float = POLL_INTERVAL_S) -> CommandResult:
        """Wait for the end, and check it at this interval. Kill the command if the task is cancelled."""
        try:
            while (result := self.poll()) is None:  # noqa: ASYNC110  the kernel sets no event
                await asyncio.sleep(interval_s)
        except asyncio.CancelledError:
            self.kill()
            raise
        return result

    def wait(self) -> CommandResult:
        while (result := self.poll()) is None:
            time.sleep(POLL_INTERVAL_S)
        return result

    def hang_up(self, timeout_s: float) -> None:
        """Close the command's stdin. ``poll`` kills the command if it does not end within this time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._deadline_s = min(self._deadline_s, time.monotonic() + timeout_s)

    def kill(self, after_s: float = 0.0) -> CommandResult:
        """Kill the command with its children, unless it ends within this time."""
        deadline_s = time.monotonic() + after_s
        while self._process.poll() is None and time.monotonic() < deadline_s:
            time.sleep(POLL_INTERVAL_S)
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return self._result(code)

    @property
    def _printed_bytes(self) -> int:
        return sum(os.fstat(file.fileno()).st_size for file in (self._out, self._err))

    def _result(self, code: int | None) -> CommandResult:
        size = os.fstat(self._err.fileno()).st_size
        out = os.pread(self._out.fileno(), MAX_BYTES, 0)
        err = os.pread(self._err.fileno(), _ERROR_BYTES, max(0, size - _ERROR_BYTES))
        now_s = time.monotonic()
        return CommandResult(code, out, err, now_s - self._began_s, now_s, self._printed_bytes > MAX_BYTES)
