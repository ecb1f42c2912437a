"""ssh to many boxes at once, through ClusterShell: how many at a time, how long each, and an end for all."""

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
"""So often somebody looks whether all is to end, and a screen is drawn."""
ENDING_S = 20.0
"""So long boxes are given to clean up once they were told to end."""
_ALIVE = ("-oServerAliveInterval=5", "-oServerAliveCountMax=3")
"""A box that vanishes is noticed within so many seconds, whatever its kernel does."""
_OURS_ALONE = "trap '' INT HUP; exec"
"""Ctrl-C is for us, who tell the boxes; ssh keeps ignored what was ignored before it."""

Heard = Callable[[str, Said], None]
Began = Callable[[str], None]


def ssh_words(asked: Asked) -> list[str]:
    """ssh with its options: the user's own first, as the first one counts (ssh_config(5)); it never asks."""
    through = ["-J", asked.gateway] if asked.gateway else []
    ours = ["-a", "-x", "-T", "-oBatchMode=yes", f"-oConnectTimeout={asked.connect_s}", *_ALIVE]
    return [*shlex.split(asked.ssh), *through, *ours]


class Fanout:
    """A script for each of some boxes, so many at a time; ``stop`` ends them, now and later."""

    def __init__(self, asked: Asked, tick: Callable[[], object]) -> None:
        self._asked = asked
        self._tick = tick
        self._told_at: float | None = None
        self.stopped = False
        """No box is begun any more."""

    def stop(self) -> None:
        """Safe in a signal's handler: what runs is told to end soon, and nothing else begins."""
        self.stopped = True

    def each(
        self, scripts: Mapping[str, str], began: Began, heard: Heard, *, timeout_s: float, stdin: Path | None = None
    ) -> None:
        """Run each box's script there; ``heard`` has what it said. ``stdin``: a file for all of them."""
        if self.stopped or not scripts:
            return
        task: Task = task_self()
        task.set_info("fanout", self._asked.fanout)
        by_script: dict[str, list[str]] = {}
        for node, script in scripts.items():
            by_script.setdefault(script, []).append(node)
        workers = []
        for script, nodes in by_script.items():
            worker = _Worker(NodeSet.fromlist(nodes), None, timeout_s, command=self._line(script, stdin), stderr=True)
            worker.tell(began, heard)
            workers.append(worker)
            task.schedule(worker)
        timer = task.timer(LOOK_S, handler=_Ticking(self, workers), interval=LOOK_S, autoclose=True)
        try:
            task.resume()
        finally:
            timer.invalidate()

    def _line(self, script: str, stdin: Path | None) -> str:
        """For the local shell, which becomes ssh; ``%h`` is the box."""
        before, after = shlex.join(ssh_words(self._asked)), shlex.quote(script)
        given = f" <{shlex.quote(str(stdin))}" if stdin else ""
        return f"{_OURS_ALONE} {_literal(before)} -- %h {_literal(after)}{_literal(given)}"

    def look(self, workers: list[_Worker]) -> None:
        """A moment has passed. Where all is to end, stdin is closed first, and ssh ended only later."""
        self._tick()
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
        self.worker.began(self.key)
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
    began: Began
    heard: Heard

    def tell(self, began: Began, heard: Heard) -> None:
        """Whom the clients tell."""
        self.began, self.heard = began, heard

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


def _literal(text: str) -> str:
    """ClusterShell takes a percent sign for a word of its own."""
    return text.replace("%", "%%")
