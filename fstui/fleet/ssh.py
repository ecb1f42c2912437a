"""Run scripts on many hosts at once through ssh, and parse their output."""

import asyncio
import re
import resource
import subprocess
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from fstui import ssh
from fstui.fleet.remote import Request
from fstui.model.quantities import seconds, size
from fstui.shell import MAX_BYTES, CommandResult, ShellCommand

_CONNECT_TIMEOUT_S = 10
_MAX_MESSAGE, _SEARCHED_BYTES = 300, 1 << 16
_POLL_INTERVAL_S = 0.05
_CLEANUP_TIMEOUT_S = 20.0
"""Time for the hosts to clean up after a stop."""
_STOPPED = "stopped before fstui connected to it"


class HostTrouble(Exception):  # noqa: N818  its message is printed
    """Why a host did not answer completely."""


class Answer:
    """The output of one ssh process. Lines from fstui's scripts begin with ``mark``, a word and its value."""

    def __init__(self, result: CommandResult, mark: str) -> None:
        self.result = result
        prefix = f"{mark} ".encode()
        lines = (line.removeprefix(prefix) for line in result.out.split(b"\n") if line.startswith(prefix))
        pairs = (line.decode(errors="replace").partition(" ")[::2] for line in lines)
        self.values: dict[str, str] = dict(pairs)
        """The last value of each word."""
        _, begin, after_begin = result.out.partition(f"\n{mark} begin\n".encode())
        document, end, _ = after_begin.rpartition(f"\n{mark} end ".encode())
        self.document = document.strip() if begin and end else None
        """The text between ``begin`` and ``end``; None if either is missing."""

    @property
    def trouble(self) -> str:
        """Why the host did not answer completely; empty if it did."""
        result, has_begun = self.result, "begin" in self.values
        if result.is_too_long:
            return f"it returned more than {size(MAX_BYTES)}, so the connection was closed"
        if result.code is None and not has_begun:
            return f"no answer within {seconds(result.elapsed_s)}"
        if result.code is None:
            return f"not finished within {seconds(result.elapsed_s)} (--timeout): the run there was stopped"
        if "trouble" in self.values:
            return _one_line(self.values["trouble"])
        return self._why_incomplete() if has_begun else self._why_not_started()

    def _why_incomplete(self) -> str:
        if self.result.code == ssh.NO_CONNECTION:
            return "the connection broke while it ran"
        return "" if "end" in self.values else "the connection ended in the middle of its output"

    def _why_not_started(self) -> str:
        result, message = self.result, ssh.message(self.result.err)
        if result.code == ssh.NO_CONNECTION or message:
            return message or f"no connection: {_last_message(result.err) or 'ssh printed nothing'}"
        if self.values:
            return ""
        return f"the script did not run there, ssh printed: {_last_message(result.out + result.err) or 'nothing'}"

    @property
    def refusal(self) -> str:
        """The last message of an fstui that ended on the host without a document."""
        message = _last_message(self.result.err).removeprefix("fstui: ")
        return f"{message or 'it printed nothing'} (exit {self.values.get('end') or '?'})"


class Fanout:
    """Runs ssh to at most ``request.fanout`` hosts at the same time."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._slots = asyncio.Semaphore(request.fanout)
        self._running: set[ShellCommand] = set()
        self._is_stopped = False
        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))  # ssh to one host takes three files

    def stop(self) -> None:
        """Let the running commands clean up and end, and start no others."""
        self._is_stopped = True
        for command in self._running:
            command.hang_up(_CLEANUP_TIMEOUT_S)

    async def visit(
        self, nodes: Iterable[str], work: Callable[[str], Awaitable[str]], on_answer: Callable[[str, str], object]
    ) -> dict[str, str]:
        """Do the work on each host, and call ``on_answer`` with the text that it returns. Return why it failed, by
        host."""
        troubles: dict[str, str] = {}

        async def visit_host(node: str) -> None:
            async with self._slots:
                if self._is_stopped:
                    troubles[node] = _STOPPED
                    return
                try:
                    on_answer(node, await work(node))
                except HostTrouble as trouble:
                    troubles[node] = str(trouble)
                    on_answer(node, str(trouble))

        await asyncio.gather(*map(visit_host, nodes))
        return troubles

    async def run(self, node: str, script: str, stdin: Path | int = subprocess.PIPE) -> Answer:
        """Run a script on a host. Raises HostTrouble."""
        if self._is_stopped:
            raise HostTrouble(_STOPPED)
        argv = [*ssh.command_line(self._request.ssh, _CONNECT_TIMEOUT_S), "--", node, script]
        command = ShellCommand(argv, self._request.timeout_s, stdin)
        self._running.add(command)
        try:
            answer = Answer(await command.finish(_POLL_INTERVAL_S), self._request.mark)
        finally:
            self._running.remove(command)
        if answer.trouble:
            raise HostTrouble(answer.trouble)
        return answer


def _last_message(text: bytes) -> str:
    lines = [line for line in text[-_SEARCHED_BYTES:].decode(errors="replace").splitlines() if line.strip()]
    from_fstui = [line for line in lines if line.startswith("fstui: ")]
    return _one_line((from_fstui or lines or [""])[-1])


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:_MAX_MESSAGE]
