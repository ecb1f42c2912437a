"""Run ssh to many hosts at once through ClusterShell, and parse their output."""

from __future__ import annotations

import re
import resource
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

_MAX_ERROR_BYTES = 1 << 16
_MAX_MESSAGE = 300
_POLL_INTERVAL_S = 0.25
"""Time between two checks whether ``Fanout`` was stopped."""
_CLEANUP_TIMEOUT_S = 20.0
"""Time for the hosts to clean up after a stop."""
_IGNORING_SIGNALS = "trap '' INT HUP; exec"
"""Let ssh ignore Ctrl-C, which the terminal sends to every process. fstui handles it."""

OnAnswer = Callable[[str, "SshResult"], None]


class SshResult(NamedTuple):
    """The output and the exit status of one ssh process. Lines from fstui's scripts begin with ``mark``."""

    out: bytes
    err: bytes
    code: int | None
    """ssh's exit status; None: ssh did not end in time."""
    elapsed_s: float
    is_too_long: bool = False
    """The output was too long, so the connection was closed."""

    def lines(self, mark: str) -> list[str]:
        prefix = f"{mark} ".encode()
        lines = (line for line in self.out.split(b"\n") if line.startswith(prefix))
        return [line.removeprefix(prefix).decode(errors="replace") for line in lines]

    def value_of(self, mark: str, key: str) -> str | None:
        """Return the rest of the last marked line whose first word is ``key``; None if there is none."""
        lines = (line.partition(" ") for line in reversed(self.lines(mark)))
        return next((value for first, _, value in lines if first == key), None)

    def document(self, mark: str) -> bytes | None:
        """Return the text between ``begin`` and ``end``; None if either is missing."""
        _, begin, after_begin = self.out.partition(f"\n{mark} begin\n".encode())
        document, end, _ = after_begin.rpartition(f"\n{mark} end ".encode())
        return document.strip() if begin and end else None


def local_command(request: Request, script: str, stdin: Path | None = None) -> str:
    """Return the command for the local shell that runs the script on the host ``%h``, with the file ``stdin``."""
    redirection = f" <{shlex.quote(str(stdin))}" if stdin else ""
    # ClusterShell replaces %h, and %% by %
    script_argument = f"{shlex.quote(script)}{redirection}".replace("%", "%%")
    ssh_command = shlex.join(ssh.command_line(request.ssh, request.connect_s)).replace("%", "%%")
    return f"{_IGNORING_SIGNALS} {ssh_command} -- %h {script_argument}"


class Fanout(EventHandler):  # type: ignore[misc]
    def __init__(self, request: Request) -> None:
        self._request = request
        self._workers: list[_Worker] = []
        self._stopped_at: float | None = None
        self.stopped = False
        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))  # ssh to one host takes three files

    def stop(self) -> None:
        """Make ``run`` end running connections and start no others. Safe in a signal handler."""
        self.stopped = True

    def run(self, command_of_node: Mapping[str, str], on_answer: OnAnswer, *, timeout_s: float) -> None:
        """Run the command of each host in the local shell. Call ``on_answer`` with each host and its answer."""
        if self.stopped or not command_of_node:
            return
        task: Task = task_self()
        task.set_info("fanout", self._request.fanout)
        nodes_of_command: dict[str, list[str]] = {}
        for node, command in command_of_node.items():
            nodes_of_command.setdefault(command, []).append(node)
        self._workers = []
        for command, nodes in nodes_of_command.items():
            worker = _Worker(NodeSet.fromlist(nodes), None, timeout_s, command=command, stderr=True)
            worker.on_answer = on_answer
            self._workers.append(worker)
            task.schedule(worker)
        timer = task.timer(_POLL_INTERVAL_S, self, interval=_POLL_INTERVAL_S, autoclose=True)
        try:
            task.resume()
        finally:
            timer.invalidate()

    def ev_timer(self, timer: Any) -> None:
        """After ``stop``, close the stdin of every ssh. End every ssh that still runs after _CLEANUP_TIMEOUT_S."""
        if self.stopped and self._stopped_at is None:
            self._stopped_at = time.monotonic()
            for worker in self._workers:
                worker.end_gently()
        elif self._stopped_at is not None and time.monotonic() - self._stopped_at > _CLEANUP_TIMEOUT_S:
            for worker in self._workers:
                worker.abort()


class _Client(ExecClient):  # type: ignore[misc]
    """One ssh process. Its output is collected in pieces, because a line may be a whole document, or never end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.began_s: float | None = None
        self._out, self._err = bytearray(), bytearray()
        self._is_too_long = False

    def _start(self) -> Any:
        self.began_s = time.monotonic()
        return super()._start()

    def _handle_read(self, sname: str) -> None:
        data = self._read(sname)
        if sname == self.worker.SNAME_STDERR:
            self._err += data
            del self._err[:-_MAX_ERROR_BYTES]
            return
        self._out += data
        if len(self._out) > MAX_BYTES and not self._is_too_long:
            self._is_too_long = True
            self.abort()

    def _close(self, abort: bool, timeout: bool) -> None:
        super()._close(abort, timeout)
        has_ended = not timeout and (not abort or self._is_too_long)
        exit_code = self.popen.returncode if has_ended else None
        elapsed_s = time.monotonic() - (self.began_s or 0.0)
        answer = SshResult(bytes(self._out), bytes(self._err), exit_code, elapsed_s, self._is_too_long)
        self._out, self._err = bytearray(), bytearray()
        self.worker.on_answer(self.key, answer)


class _Worker(ExecWorker):  # type: ignore[misc]
    """One ssh process per host. The clients call ``on_answer`` directly, because ClusterShell's handlers are slow."""

    SHELL_CLASS = _Client
    on_answer: OnAnswer

    def end_gently(self) -> None:
        """Close the stdin of running connections, and cancel connections that have not started."""
        for client in list(self._clients):
            if client.began_s is None:
                client.abort()
            else:
                client._set_write_eof(self.SNAME_STDIN)


def trouble(answer: SshResult, mark: str) -> str:
    """Return why the host did not answer completely, as a sentence; empty if it did."""
    if answer.is_too_long:
        return f"it returned more than {size(MAX_BYTES)}, so the connection was closed"
    has_begun = answer.value_of(mark, "begin") is not None
    if answer.code is None and not has_begun:
        return f"no answer within {seconds(answer.elapsed_s)}"
    if answer.code is None:
        return f"not finished within {seconds(answer.elapsed_s)} (--timeout): the run there was stopped"
    if (trouble := answer.value_of(mark, "trouble")) is not None:
        return _one_line(trouble)
    return _why_incomplete(answer, mark) if has_begun else _why_not_started(answer, mark)


def _why_incomplete(answer: SshResult, mark: str) -> str:
    if answer.code == ssh.NO_CONNECTION:
        return "the connection broke while it ran"
    return "" if answer.value_of(mark, "end") is not None else "the connection ended in the middle of its output"


def _why_not_started(answer: SshResult, mark: str) -> str:
    message = ssh.message(answer.err)
    if answer.code == ssh.NO_CONNECTION or message:
        return message or f"no connection: {_last_message(answer.err) or 'ssh printed nothing'}"
    if answer.lines(mark):
        return ""
    return f"the script did not run there, ssh printed: {_last_message(answer.out + answer.err) or 'nothing'}"


def refusal(answer: SshResult, mark: str) -> str:
    """Return the last message of an fstui that ended on the host without a document."""
    code = answer.value_of(mark, "end") or "?"
    message = _last_message(answer.err).removeprefix("fstui: ")
    return f"{message or 'it printed nothing'} (exit {code})"


def _last_message(text: bytes) -> str:
    lines = [line for line in text[-_MAX_ERROR_BYTES:].decode(errors="replace").splitlines() if line.strip()]
    from_fstui = [line for line in lines if line.startswith("fstui: ")]
    return _one_line((from_fstui or lines or [""])[-1])


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:_MAX_MESSAGE]
