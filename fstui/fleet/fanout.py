"""Run ssh to many hosts at once through ClusterShell, with a limit on connections and a time limit for each host."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ClusterShell.Event import EventHandler
from ClusterShell.NodeSet import NodeSet
from ClusterShell.Task import Task, task_self
from ClusterShell.Worker.Exec import ExecClient, ExecWorker

from fstui.fleet.answers import MOST_BYTES, MOST_SAID_BYTES, Said
from fstui.fleet.asked import Asked

LOOK_S = 0.25
"""Seconds between two looks at whether a signal has arrived."""
ENDING_S = 20.0
"""Seconds for the hosts to clean up after a signal."""
_ALIVE = ("-oServerAliveInterval=5", "-oServerAliveCountMax=3")
"""A lost connection is noticed after 15 s."""
_OURS_ALONE = "trap '' INT HUP; exec"
"""Ctrl-C goes to every process of the terminal. fstui handles it; ssh inherits the ignored signals."""

Heard = Callable[[str, Said], None]


def words_of(asked: Asked) -> list[str]:
    """Return ssh with its options. The user's come first, as the first one counts (ssh_config(5))."""
    ours = ["-a", "-x", "-T", "-oBatchMode=yes", f"-oConnectTimeout={asked.connect_s}", *_ALIVE]
    return [*shlex.split(asked.ssh), *ours]


def line_of(asked: Asked, script: str, stdin: Path | None = None) -> str:
    """Return the line for the local shell that runs the script on ``%h``, the host."""
    given = f" <{shlex.quote(str(stdin))}" if stdin else ""
    after = f"{shlex.quote(script)}{given}".replace("%", "%%")  # ClusterShell replaces %h and others
    return f"{_OURS_ALONE} {shlex.join(words_of(asked)).replace('%', '%%')} -- %h {after}"


class Fanout:
    """A command line for each of some boxes, so many at a time; ``stop`` ends them, now and later."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._told_at: float | None = None
        self.stopped = False
        """No box is begun any more."""

    def stop(self) -> None:
        """Safe in a signal's handler: what runs is told to end soon, and nothing else begins."""
        self.stopped = True

    def each(self, lines: Mapping[str, str], heard: Heard, *, timeout_s: float) -> None:
        """Run each box's line of the local shell (``%h`` is the box); ``heard`` has what was said."""
        if self.stopped or not lines:
            return
        task: Task = task_self()
        task.set_info("fanout", self._asked.fanout)
        by_line: dict[str, list[str]] = {}
        for node, line in lines.items():
            by_line.setdefault(line, []).append(node)
        workers = []
        for line, nodes in by_line.items():
            worker = _Worker(NodeSet.fromlist(nodes), None, timeout_s, command=line, stderr=True)
            worker.heard = heard
            workers.append(worker)
            task.schedule(worker)
        timer = task.timer(LOOK_S, handler=_Ticking(self, workers), interval=LOOK_S, autoclose=True)
        try:
            task.resume()
        finally:
            timer.invalidate()

    def look(self, workers: list[_Worker]) -> None:
        """A moment has passed. Where all is to end, stdin is closed first, and ssh ended only later."""
        if self.stopped and self._told_at is None:
            self._told_at = time.monotonic()
            for worker in workers:
                worker.let_end()
        elif self._told_at is not None and time.monotonic() - self._told_at > ENDING_S:
            for worker in workers:
                worker.abort()


class _Client(ExecClient):  # type: ignore[misc]
    """Keeps what comes in pieces as they come: a line of its own may be a whole document, or never end."""

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
            del self._err[:-MOST_SAID_BYTES]
            return
        self._out += data
        if len(self._out) > MOST_BYTES and not self._flooded:
            self._flooded = True
            self.abort()

    def _close(self, abort: bool, timeout: bool) -> None:
        super()._close(abort, timeout)
        code = self.popen.returncode
        ended = None if timeout or (abort and not self._flooded) else code
        said = Said(bytes(self._out), bytes(self._err), ended, time.monotonic() - (self.began or 0.0), self._flooded)
        self._out, self._err = bytearray(), bytearray()
        self.worker.heard(self.key, said)


class _Worker(ExecWorker):  # type: ignore[misc]
    """One ssh a box.

    Its clients tell of themselves: ClusterShell inspects the functions of its handlers anew at each event, a tenth of
    all that is spent.
    """

    SHELL_CLASS = _Client
    heard: Heard

    def let_end(self) -> None:
        """Close the stdin of what runs; what has not begun never does."""
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
        self._fanout.look(self._workers)
