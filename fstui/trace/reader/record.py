"""Program: record the kernel's trace during a run.

stdin: a line of JSON with "name" of the instance, "own" (pids), "devices" (kernel names) and "entry", the file in the
ledger. Then a line {"own": […], "from_ns": …} when a step begins, and {"until_ns": …} when it has ended, both in
CLOCK_MONOTONIC. stdout: {"ready": true} or {"error": "…"}, then a line {"devices": […]} for each step. When stdin
closes, the instance and then its entry are removed.
``remove`` and ``names`` are called by ``fstui.measure.children.call_helper``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
from typing import Any

from fstui.trace.reader.flush_counter import FIRST_LOOK_S, FlushCounter, device_of
from fstui.trace.reader.tracefs import PREFIX, Instance, TracefsError, find

MAX_PAUSE_S, MIN_PAUSE_S = 0.5, 0.02
FULL, EMPTY = 0.25, 0.05
"""Filled share of a CPU's buffer: above FULL the pause between reads is halved, below EMPTY it is doubled."""


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


class JsonLines:
    def __init__(self) -> None:
        self._rest = b""
        self.closed = False

    def next(self, timeout_s: float | None) -> list[dict[str, Any]]:
        if not select.select([0], [], [], timeout_s)[0]:
            return []
        data = os.read(0, 65536)
        self.closed = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


def record() -> None:
    lines = JsonLines()
    received: list[dict[str, Any]] = []
    while not received:
        if lines.closed:
            return
        received += lines.next(None)
    first = received[0]
    devices = [device for device in map(device_of, first["devices"]) if device]
    try:
        counter = FlushCounter(PREFIX + first["name"], first["own"], devices)
    except (TracefsError, OSError) as problem:
        say(error=str(problem))
        remove_entry(first["entry"])
        return
    try:
        say(ready=True)
        follow(counter, lines)
    finally:
        counter.remove()
        remove_entry(first["entry"])


def follow(counter: FlushCounter, lines: JsonLines) -> None:
    """Read the buffers until stdin closes, soon after the start of a step and more often when they fill up."""
    pause_s = MAX_PAUSE_S
    while not lines.closed:
        began = False
        for line in lines.next(pause_s):
            began = "from_ns" in line
            if began:
                counter.add_own(line["own"])
                counter.begin(line["from_ns"])
            else:
                say(devices=counter.end(line["until_ns"]))
        if began:
            pause_s = FIRST_LOOK_S
            continue
        counter.read()
        fullest = counter.fullest
        if fullest > FULL:
            pause_s = max(MIN_PAUSE_S, pause_s / 2)
        elif fullest < EMPTY:
            pause_s = min(MAX_PAUSE_S, pause_s * 2)


def remove_entry(entry: str | None) -> None:
    if entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)


def remove(name: str) -> None:
    """Remove the instance of a killed run, and further ones whose names begin with it and "-". Raises OSError."""
    try:
        root = find()
        for one in os.listdir(f"{root}/instances"):
            if one == name or one.startswith(f"{name}-"):
                Instance(root, one).remove()
    except TracefsError as problem:
        raise OSError(None, str(problem)) from None
    except OSError as error:
        raise OSError(error.errno, "another process uses it") from None if error.errno == errno.EBUSY else error


def ignore_signals() -> None:
    """Ignore the signals of the terminal: fstui ends this program by closing its stdin."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    ignore_signals()
    with contextlib.suppress(BrokenPipeError):
        record()


if __name__ == "__main__":
    main()
