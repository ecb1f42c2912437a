"""Run ssh to many hosts at once, and read what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from fstui import ssh
from fstui.fleet.remote import Request
from fstui.fleet.results import MAX_BYTES
from fstui.model.quantities import seconds, size

MAX_ERROR_BYTES = 1 << 16
_SHORT = 300

_PIECE_BYTES = 1 << 16
ENDING_S = 20.0
"""Seconds for the hosts to clean up after a signal."""

OnAnswer = Callable[[str, "SshResult"], None]


class SshResult(NamedTuple):
    """Everything that one connection to a host returned."""

    out: bytes
    err: bytes
    code: int | None
    """ssh's exit status; None: it did not end in time."""
    elapsed_s: float
    flooded: bool = False
    """It returned too much, and the connection was closed."""

    def lines(self, mark: str) -> list[str]:
        lead = f"{mark} ".encode()
        return [line[len(lead) :].decode(errors="replace") for line in self.out.split(b"\n") if line.startswith(lead)]

    def word(self, mark: str, word: str) -> str | None:
        """Return what follows that word in the last marked line that begins with it."""
        found = (line.partition(" ") for line in reversed(self.lines(mark)))
        return next((rest for first, _, rest in found if first == word), None)

    def document(self, mark: str) -> bytes | None:
        """Return the text between ``begin`` and ``end``; None if either is missing."""
        _, begun, rest = self.out.partition(f"\n{mark} begin\n".encode())
        document, ended, _ = rest.rpartition(f"\n{mark} end ".encode())
        return document.strip() if begun and ended else None


class Fanout:
    """Runs a script on each host, a limited number at a time."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._free = asyncio.Semaphore(request.fanout)
        self._stop = asyncio.Event()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """End running connections soon and start no others."""
        self._stop.set()

    async def each(
        self, scripts: Mapping[str, str], on_answer: OnAnswer, *, timeout_s: float, file: Path | None = None
    ) -> None:
        """Run the script of each host there, with the file as its stdin, and call ``on_answer`` with its answer."""

        async def one(node: str, script: str) -> None:
            async with self._free:
                if not self.stopped:
                    on_answer(node, await self._answer(node, script, file, timeout_s))

        await asyncio.gather(*(one(node, script) for node, script in scripts.items()))

    async def _answer(self, node: str, script: str, file: Path | None, timeout_s: float) -> SshResult:
        began = time.monotonic()
        words = ssh.words(self._request.ssh, self._request.connect_s)
        try:
            with file.open("rb") if file else contextlib.nullcontext(asyncio.subprocess.PIPE) as stdin:
                process = await asyncio.create_subprocess_exec(
                    *(*words, "--", node, script),
                    stdin=stdin,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C does not reach it
                )
        except OSError as error:
            reason = f"{error.filename or words[0]}: {error.strerror}"
            return SshResult(b"", reason.encode(), ssh.NO_CONNECTION, time.monotonic() - began)
        assert process.stdout and process.stderr
        out, err, code = bytearray(), bytearray(), None
        ending = asyncio.ensure_future(self._end_after_stop(process))
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(_read(process.stdout, out, process.kill), _read_tail(process.stderr, err))
                code = await process.wait()
        except TimeoutError:
            pass
        finally:
            ending.cancel()
            # ends ssh, and closes the pipes that its ProxyCommand may still hold
            process._transport.close()  # type: ignore[attr-defined]
            await process.wait()
        killed = self.stopped and code == -signal.SIGKILL
        return SshResult(
            bytes(out), bytes(err), None if killed else code, time.monotonic() - began, flooded=len(out) > MAX_BYTES
        )

    async def _end_after_stop(self, process: asyncio.subprocess.Process) -> None:
        """After ``stop``, close the stdin of ssh first, and end ssh later."""
        await self._stop.wait()
        if process.stdin:
            process.stdin.close()
        await asyncio.sleep(ENDING_S)
        process.kill()


async def _read(stream: asyncio.StreamReader, into: bytearray, stop: Callable[[], None]) -> None:
    while data := await stream.read(_PIECE_BYTES):
        into += data
        if len(into) > MAX_BYTES:
            stop()
            return


async def _read_tail(stream: asyncio.StreamReader, into: bytearray) -> None:
    while data := await stream.read(_PIECE_BYTES):
        into += data
        del into[:-MAX_ERROR_BYTES]


def trouble(answer: SshResult, mark: str) -> str:
    """Return in one sentence why there is no document; empty if nothing is wrong."""
    if answer.flooded:
        return f"it returned more than {size(MAX_BYTES)}, so the connection was closed"
    if answer.code is None and answer.word(mark, "begin") is None:
        return f"no answer within {seconds(answer.elapsed_s)}"
    if answer.code is None:
        return f"not finished within {seconds(answer.elapsed_s)} (--timeout): the run there was stopped"
    if (found := answer.word(mark, "trouble")) is not None:
        return _plain(found)
    return _broken(answer, mark) if answer.word(mark, "begin") is not None else _never_begun(answer, mark)


def _broken(answer: SshResult, mark: str) -> str:
    if answer.code == ssh.NO_CONNECTION:
        return "the connection broke while it ran"
    return "" if answer.word(mark, "end") is not None else "the connection ended in the middle of its answer"


def _never_begun(answer: SshResult, mark: str) -> str:
    message = ssh.message(answer.err)
    if answer.code == ssh.NO_CONNECTION or message:
        return message or f"no connection: {_last(answer.err) or 'ssh printed nothing'}"
    if answer.lines(mark):
        return ""
    return f"it answers, but not as a shell does: {_last(answer.out + answer.err) or 'nothing'}"


def refusal(answer: SshResult, mark: str) -> str:
    """Return the reason that fstui gave on the host when it ended without a document."""
    code = answer.word(mark, "end") or "?"
    words = _last(answer.err).removeprefix("fstui: ")
    return f"{words or 'it printed nothing'} (exit {code})"


def _last(text: bytes) -> str:
    lines = [line for line in text[-MAX_ERROR_BYTES:].decode(errors="replace").splitlines() if line.strip()]
    from_fstui = [line for line in lines if line.startswith("fstui: ")]
    return _plain((from_fstui or lines or [""])[-1])


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:_SHORT]
