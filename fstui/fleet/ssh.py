"""Run ssh to many hosts at once through ClusterShell, and parse their output."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ClusterShell.Event import EventHandler
from ClusterShell.NodeSet import NodeSet
from ClusterShell.Task import Task, task_self
from ClusterShell.Worker.Exec import ExecClient, ExecWorker

from fstui import ssh
from fstui.fleet.remote import Request
from fstui.fleet.results import MAX_BYTES
from fstui.model.quantities import seconds, size

MAX_ERROR_BYTES = 1 << 16
_SHORT = 300

LOOK_S = 0.25
ENDING_S = 20.0
"""Time for the hosts to clean up after a stop."""
_IGNORING_SIGNALS = "trap '' INT HUP; exec"
"""Let ssh ignore Ctrl-C, which the terminal sends to every process. fstui handles it."""

OnAnswer = Callable[[str, "SshResult"], None]


class SshResult(NamedTuple):
    out: bytes
    err: bytes
    code: int | None
    """ssh's exit status; None: it did not end in time."""
    elapsed_s: float
    flooded: bool = False
    """Whether it returned too much, so that the connection was closed."""

    def lines(self, mark: str) -> list[str]:
        lead = f"{mark} ".encode()
        return [line[len(lead) :].decode(errors="replace") for line in self.out.split(b"\n") if line.startswith(lead)]

    def word(self, mark: str, word: str) -> str | None:
        """Return what follows that word in the last marked line that begins with it."""
        lines = (line.partition(" ") for line in reversed(self.lines(mark)))
        return next((rest for head, _, rest in lines if head == word), None)

    def document(self, mark: str) -> bytes | None:
        """Return the text between ``begin`` and ``end``; None if either is missing."""
        _, begun, rest = self.out.partition(f"\n{mark} begin\n".encode())
        document, ended, _ = rest.rpartition(f"\n{mark} end ".encode())
        return document.strip() if begun and ended else None


def line_of(request: Request, script: str, stdin: Path | None = None) -> str:
    """Return the line for the local shell that runs the script on the host ``%h``."""
    redirection = f" <{shlex.quote(str(stdin))}" if stdin else ""
    # ClusterShell replaces %h, and %% by %
    after = f"{shlex.quote(script)}{redirection}".replace("%", "%%")
    ssh_words = shlex.join(ssh.command_line(request.ssh, request.connect_s)).replace("%", "%%")
    return f"{_IGNORING_SIGNALS} {ssh_words} -- %h {after}"


class Fanout:
    """Runs a command line for each host, a limited number at a time."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._stopped_at: float | None = None
        self.stopped = False

    def stop(self) -> None:
        """Let running connections end soon and start no others. Safe in a signal handler."""
        self.stopped = True

    def each(self, lines: Mapping[str, str], on_answer: OnAnswer, *, timeout_s: float) -> None:
        """Run the line of each host in the local shell. Call ``on_answer`` with the host and its answer."""
        if self.stopped or not lines:
            return
        task: Task = task_self()
        task.set_info("fanout", self._request.fanout)
        by_line: dict[str, list[str]] = {}
        for node, line in lines.items():
            by_line.setdefault(line, []).append(node)
        workers = []
        for line, nodes in by_line.items():
            worker = _Worker(NodeSet.fromlist(nodes), None, timeout_s, command=line, stderr=True)
            worker.on_answer = on_answer
            workers.append(worker)
            task.schedule(worker)
        timer = task.timer(LOOK_S, handler=_Ticking(self, workers), interval=LOOK_S, autoclose=True)
        try:
            task.resume()
        finally:
            timer.invalidate()

    def end_if_stopped(self, workers: list[_Worker]) -> None:
        """After ``stop``, close the stdin of every ssh, and end ssh after ENDING_S."""
        if self.stopped and self._stopped_at is None:
            self._stopped_at = time.monotonic()
            for worker in workers:
                worker.let_end()
        elif self._stopped_at is not None and time.monotonic() - self._stopped_at > ENDING_S:
            for worker in workers:
                worker.abort()


class _Client(ExecClient):  # type: ignore[misc]
    """Collects output in pieces, not in lines, because one line may be a whole document, or never end."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.began: float | None = None
        self._out, self._err = bytearray(), bytearray()
        self._flooded = False

    def _start(self) -> Any:
        self.began = time.monotonic()
        return super()._start()

    def _handle_read(self, sname: str) -> None:
        data = self._read(sname)
        if sname == self.worker.SNAME_STDERR:
            self._err += data
            del self._err[:-MAX_ERROR_BYTES]
            return
        self._out += data
        if len(self._out) > MAX_BYTES and not self._flooded:
            self._flooded = True
            self.abort()

    def _close(self, abort: bool, timeout: bool) -> None:
        super()._close(abort, timeout)
        code = self.popen.returncode
        ended = None if timeout or (abort and not self._flooded) else code
        answer = SshResult(
            bytes(self._out), bytes(self._err), ended, time.monotonic() - (self.began or 0.0), self._flooded
        )
        self._out, self._err = bytearray(), bytearray()
        self.worker.on_answer(self.key, answer)


class _Worker(ExecWorker):  # type: ignore[misc]
    """One ssh for each host. It calls ``on_answer`` itself, because ClusterShell's event handlers are slow."""

    SHELL_CLASS = _Client
    on_answer: OnAnswer

    def let_end(self) -> None:
        """Close the stdin of running connections, and drop those that have not started."""
        for client in list(self._clients):
            if client.began is None:
                client.abort()
            else:
                client._set_write_eof(self.SNAME_STDIN)


class _Ticking(EventHandler):  # type: ignore[misc]
    def __init__(self, fanout: Fanout, workers: list[_Worker]) -> None:
        self._fanout = fanout
        self._workers = workers

    def ev_timer(self, timer: Any) -> None:
        self._fanout.end_if_stopped(self._workers)


def trouble(answer: SshResult, mark: str) -> str:
    """Return in one sentence why the host did not answer completely, or nothing if it did."""
    if answer.flooded:
        return f"it returned more than {size(MAX_BYTES)}, so the connection was closed"
    if answer.code is None and answer.word(mark, "begin") is None:
        return f"no answer within {seconds(answer.elapsed_s)}"
    if answer.code is None:
        return f"not finished within {seconds(answer.elapsed_s)} (--timeout): the run there was stopped"
    if (trouble := answer.word(mark, "trouble")) is not None:
        return _plain(trouble)
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
    """Return the last message of an fstui that ended on the host without a document."""
    code = answer.word(mark, "end") or "?"
    words = _last(answer.err).removeprefix("fstui: ")
    return f"{words or 'it printed nothing'} (exit {code})"


def _last(text: bytes) -> str:
    lines = [line for line in text[-MAX_ERROR_BYTES:].decode(errors="replace").splitlines() if line.strip()]
    from_fstui = [line for line in lines if line.startswith("fstui: ")]
    return _plain((from_fstui or lines or [""])[-1])


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:_SHORT]
