"""Program: the kernel's trace beside a run, in an instance of its own.

``record``  stdin: a JSON line: "name" of the instance, "ours" (pids), "devices" (kernel names), "entry" of the ledger;
            then {"ours": […], "from_ns": …} as a stretch of time begins and {"until_ns": …} once it has ended, in
            CLOCK_MONOTONIC. stdout: {"ready": true}, and a line {"devices": […]} for each stretch; or one
            {"error": "…"}. When stdin closes the instance is removed, and then its entry
``remove``  stdin: the name of an instance that a killed run left behind; others of its run begin with it and "-"
``list``    the names of the instances that are fstui's
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

from fstui.trace.reader.tracefs import Instance, Untraceable, find
from fstui.trace.reader.witness import Witness, device_of

PREFIX = "fstui-"
LOOK_S, LEAST_LOOK_S = 0.5, 0.02
FULL, EMPTY = 0.25, 0.05
"""Of a CPU's buffer at a look: above the one we look twice as often, below the other half as often."""


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


class Lines:
    """What is said to us, without waiting longer than we are told."""

    def __init__(self) -> None:
        self._rest = b""
        self.closed = False

    def next(self, timeout_s: float | None) -> list[dict[str, Any]]:
        """The lines that came meanwhile."""
        if not select.select([0], [], [], timeout_s)[0]:
            return []
        data = os.read(0, 65536)
        self.closed = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


def record() -> None:
    lines = Lines()
    told: list[dict[str, Any]] = []
    while not told:
        if lines.closed:
            return
        told += lines.next(None)
    first = told[0]
    devices = [device for device in map(device_of, first["devices"]) if device]
    try:
        witness = Witness(PREFIX + first["name"], first["ours"], devices)
    except (Untraceable, OSError) as problem:
        say(error=str(problem))
        strike_out(first["entry"])
        return
    try:
        say(ready=True)
        watch(witness, lines)
    finally:
        witness.recording.remove()
        strike_out(first["entry"])


def watch(witness: Witness, lines: Lines) -> None:
    """Until stdin closes. How often we look follows how full the buffers are."""
    pause_s = LOOK_S
    while not lines.closed:
        for line in lines.next(pause_s):
            obey(witness, line)
        witness.look()
        fullest = witness.recording.fullest
        if fullest > FULL:
            pause_s = max(LEAST_LOOK_S, pause_s / 2)
        elif fullest < EMPTY:
            pause_s = min(LOOK_S, pause_s * 2)


def obey(witness: Witness, line: dict[str, Any]) -> None:
    if "from_ns" in line:
        witness.know(line["ours"])
        witness.begin(line["from_ns"])
    else:
        say(devices=witness.end(line["until_ns"]))


def strike_out(entry: str | None) -> None:
    if entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)


def remove(name: str) -> None:
    """Remove an instance that nobody has open, and those of the same run beside it."""
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
    """The instances that are ours by their name, living or left behind."""
    try:
        say(names=sorted(name for name in os.listdir(f"{find()}/instances") if name.startswith(PREFIX)))
    except (Untraceable, OSError) as problem:
        say(error=str(problem))


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # fstui closes our stdin
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
