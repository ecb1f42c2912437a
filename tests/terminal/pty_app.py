"""Run the app in a pseudo-terminal and record every byte that it sends, with its time."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from fstui.cli import main; main()")
_TERMINAL_REPLIES = ((b"\x1b[c", b"\x1b[?62;22c"), (b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[?2026$p", b"\x1b[?2026;2$y"))


_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "", "LC_ALL": "C.UTF-8"}


class PtyApp:
    """Start ``fstui ARGUMENTS`` on a terminal of this size with 256 colours. The end of the block ends the app."""

    def __init__(
        self,
        *arguments: str,
        state: str | Path,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        directories = {name: str(state) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, **_TERMINAL, **directories, **(environment or {})},
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
        )
        os.close(slave)
        self.chunks: list[tuple[float, bytes]] = []

    @property
    def output(self) -> bytes:
        return b"".join(chunk for _, chunk in self.chunks)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read_until(self, words: str, timeout_s: float) -> float:
        """Read until these words arrive. Return the time of their arrival. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        seen = len(self.chunks)
        while time.monotonic() < deadline:
            if self._read(0.1) and words.encode() in b"".join(chunk for _, chunk in self.chunks[seen:]):
                return self.chunks[-1][0]
        raise TimeoutError(f"{words!r} did not appear within {timeout_s} s")

    def begin_odirect_truth(self) -> None:
        """Start the scenario odirect-truth from the plan screen."""
        self.read_until("$ fstui run check", 30)
        self.press("jjj")
        self.read_until("$ fstui run odirect-truth", 10)
        self.press("\r")

    def read_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left_s := deadline - time.monotonic()) > 0:
            self._read(left_s)

    def _read(self, timeout_s: float) -> bool:
        if not select.select([self._master], [], [], timeout_s)[0]:
            return False
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # the other end of the terminal is closed
            raise EOFError("the app has ended") from None
        self.chunks.append((time.monotonic(), chunk))
        for question, answer in _TERMINAL_REPLIES:
            if question in chunk:
                os.write(self._master, answer)
        return True

    def __enter__(self) -> PtyApp:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            while self.process.poll() is None:
                self._read(0.1)
        except EOFError:
            self.process.wait(30)
        os.close(self._master)
