"""Child processes: start, read, stop, reap, abandon.

Everything that can block on storage runs in one, because a thread stuck in the kernel keeps a whole process from
ending and a child can be left behind. A child ends by itself when its stdin closes, so even kill -9 of fstui ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fstui.probes import frames

_ROOT = str(Path(__file__).resolve().parent.parent)
_START = "import sys,runpy; sys.path.insert(0,sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1),run_name='__main__')"
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18


def command(module: str, *arguments: str) -> list[str]:
    """How a program of ours is started: isolated, and from a checkout, a user install or a zip alike."""
    return [sys.executable, "-I", "-S", "-c", _START, _ROOT, f"fstui.{module}", *arguments]


class Child:
    """A running program with pipes on stdin and stdout, in a session of its own: Ctrl-C passes it by."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin
        self._stdout = process.stdout

    @classmethod
    async def start(cls, module: str, *arguments: str) -> Child:
        """Start a program: ``probes.sync_writes`` is fstui/probes/sync_writes.py. Raises OSError where it cannot."""
        process = await asyncio.create_subprocess_exec(
            *command(module, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            limit=_READ_BYTES,
        )
        child = cls(process)
        child._widen()
        return child

    def _widen(self) -> None:
        """A wider pipe, so that a busy reader does not hold the probe up. fcntl(2) F_SETPIPE_SZ; may be refused."""
        pipe = self._stdout._transport.get_extra_info("pipe")  # type: ignore[attr-defined]
        with contextlib.suppress(OSError):
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

    def abandon(self) -> None:
        """SIGKILL, and do not wait: a process stuck in the kernel dies when the kernel lets it."""
        # closing the transport kills, and lets go of the pipes: the loop's end would find them open and say so
        self._process._transport.close()  # type: ignore[attr-defined]


async def ask(module: str, action: str, question: str, timeout_s: float, data: bytes = b"") -> dict[str, Any]:
    """One question, and bytes with it; one JSON line as the answer.

    Raises TimeoutError where storage hangs, OSError where the program cannot be started.
    """
    child = await Child.start(module, action)
    try:
        child.send(json.dumps(question))
        if data:
            child.send_bytes(data)
            child.hang_up()
        line = await asyncio.wait_for(child.read_line(), timeout_s)
        answer: dict[str, Any] = json.loads(line or b'{"errno": null, "error": "the helper process ended"}')
        return answer
    finally:
        if await child.reap(0.5) is None:
            child.abandon()
