"""Program: record the kernel's trace during a run.

``record``  stdin: a line of JSON with "name" of the instance, "own" (pids), "devices" (kernel names) and "entry", the
            file in the ledger. Then a line {"own": […], "from_ns": …} when a step begins, and {"until_ns": …} when it
            has ended, both in CLOCK_MONOTONIC. stdout: {"ready": true} or {"error": "…"}, then a line
            {"devices": […]} for each step. When stdin closes, the instance and then its entry are removed.
``remove``  stdin: the name of an instance that a killed run left behind. The run's other instances, whose names begin
            with it and "-", are removed as well.
``list``    stdout: the names of the instances of fstui.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import sys
from typing import Any

from fstui.trace.reader.tracefs import PREFIX, Instance, Untraceable, find
from fstui.trace.reader.witness import Witness, device_of

LONGEST_PAUSE_S, SHORTEST_PAUSE_S = 0.5, 0.02
FULL, EMPTY = 0.25, 0.05
"""Filled share of a CPU's buffer: above FULL the pause between reads is halved, below EMPTY it is doubled."""


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


class Lines:
    """Lines of JSON from stdin, read with a timeout."""

    def __init__(self) -> None:
        self._rest = b""
        self.closed = False

    def next(self, timeout_s: float | None) -> list[dict[str, Any]]:
        """Return the lines that arrived."""
        if not select.select([0], [], [], timeout_s)[0]:
            return []
        data = os.read(0, 65536)
        self.closed = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


def record() -> None:
    lines = Lines()
    received: list[dict[str, Any]] = []
    while not received:
        if lines.closed:
            return
        received += lines.next(None)
    first = received[0]
    devices = [device for device in map(device_of, first["devices"]) if device]
    try:
        witness = Witness(PREFIX + first["name"], first["own"], devices)
    except (Untraceable, OSError) as problem:
        say(error=str(problem))
        remove_entry(first["entry"])
        return
    try:
        say(ready=True)
        follow(witness, lines)
    finally:
        witness.recording.remove()
        remove_entry(first["entry"])


def follow(witness: Witness, lines: Lines) -> None:
    """Read the buffers until stdin closes, more often when they fill up."""
    pause_s = LONGEST_PAUSE_S
    while not lines.closed:
        for line in lines.next(pause_s):
            if "from_ns" in line:
                witness.add_own(line["own"])
                witness.begin(line["from_ns"])
            else:
                say(devices=witness.end(line["until_ns"]))
        witness.read()
        fullest = witness.recording.fullest
        if fullest > FULL:
            pause_s = max(SHORTEST_PAUSE_S, pause_s / 2)
        elif fullest < EMPTY:
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2)


def remove_entry(entry: str | None) -> None:
    if entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)


def remove(name: str) -> None:
    """Remove an instance that no process has open, and the other instances of its run."""
    try:
        root = find()
        for one in os.listdir(f"{root}/instances"):
            if one == name or one.startswith(f"{name}-"):
                Instance(root, one).remove()
        say(removed=True)
    except OSError as error:
        say(error="another process uses it" if error.errno == errno.EBUSY else error.strerror)
    except Untraceable as problem:
        say(error=str(problem))


def names() -> None:
    """List the instances of fstui, both of living runs and left behind."""
    try:
        say(names=sorted(name for name in os.listdir(f"{find()}/instances") if name.startswith(PREFIX)))
    except (Untraceable, OSError) as problem:
        say(error=str(problem))


def ignore_signals() -> None:
    """Ignore the signals of the terminal: fstui ends this program by closing its stdin."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    ignore_signals()
    with contextlib.suppress(BrokenPipeError):
        match sys.argv[1]:
            case "record":
                record()
            case "remove":
                remove(json.loads(sys.stdin.readline()))
            case "list":
                names()


if __name__ == "__main__":
    main()
