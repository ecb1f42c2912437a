"""Run a command of the user, or ssh to the tested host, with limits for its time and its output.

Each command runs in a session of its own, so that Ctrl-C on the terminal ends no power command and no connection.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

POLL_INTERVAL_S = 0.02
"""Interval between two checks of a running command."""
MAX_BYTES = 4 << 20
"""Limit for the output. The run document of a verification is far smaller."""
_TAIL_BYTES = 2000


class CommandResult(NamedTuple):
    code: int | None
    """The exit status; None if the command was killed because it took too long or printed too much."""
    out: bytes
    err: bytes
    elapsed_s: float
    ended_at_s: float
    """When the end of the command was noticed (time.monotonic)."""

    @property
    def printed(self) -> str:
        """The end of stderr, or else of stdout, in one line."""
        return " ".join((self.err or self.out)[-_TAIL_BYTES:].decode(errors="backslashreplace").split())

    @property
    def message(self) -> str:
        return self.printed or "it printed nothing"


class ShellCommand:
    """A running command. Its output goes to unnamed files, because a process that it leaves behind would keep a pipe
    open."""

    def __init__(
        self, argv: Sequence[str], timeout_s: float, stdin: Path | None = None, *, is_piped: bool = False
    ) -> None:
        """``is_piped``: stdout is a pipe, which the caller reads. Raises OSError."""
        self._timeout_s = timeout_s
        self._began_s = time.monotonic()
        self._result: CommandResult | None = None
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  read at the end of the command
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        with Path(stdin or os.devnull).open("rb") as input_file:
            self._process = subprocess.Popen(
                argv,
                stdin=input_file,
                stdout=subprocess.PIPE if is_piped else self._out,
                stderr=self._err,
                start_new_session=True,
            )

    @property
    def stdout(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def poll(self) -> CommandResult | None:
        """Return the result if the command has ended. Kill the command if it exceeds a limit."""
        if self._result is None:
            code = self._process.poll()
            printed_bytes = os.fstat(self._out.fileno()).st_size + os.fstat(self._err.fileno()).st_size
            if code is not None:
                self._result = self._read_result(code)
            elif time.monotonic() - self._began_s > self._timeout_s or printed_bytes > MAX_BYTES:
                self.kill()
                self._result = self._read_result(None)
        return self._result

    def wait(self) -> CommandResult:
        while (result := self.poll()) is None:
            time.sleep(POLL_INTERVAL_S)
        return result

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
        return self._read_result(code)

    def _read_result(self, code: int | None) -> CommandResult:
        now_s = time.monotonic()
        size = os.fstat(self._err.fileno()).st_size
        out = os.pread(self._out.fileno(), MAX_BYTES, 0)
        err = os.pread(self._err.fileno(), _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        return CommandResult(code, out, err, now_s - self._began_s, now_s)
