"""Program: who waits for which file, and what the devices below do, without writing a byte.

stdin: a JSON line: "name" of the instances, "entry" of the ledger, "pid" (it and its children alone) or null, "device"
(major << 20 | minor of a mount) or null, "calls" (fsync and fdatasync themselves, not only the filesystem's events).
stdout: {"ready": true} or {"error": "…"}, then {"second": {…}} every second;
{"whole": {…}, "errors": […]} at the end, when stdin has closed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import time
from typing import Any

from fstui.measure.wire.talk import read_settings
from fstui.trace.reader.session import Session
from fstui.trace.reader.tracefs import Untraceable

PREFIX = "fstui-"
SECOND = 1.0


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


def closed_within(seconds: float) -> bool:
    """Wait; True as soon as stdin has closed."""
    return bool(select.select([0], [], [], max(0.0, seconds))[0]) and not os.read(0, 4096)


def watch(session: Session) -> None:
    """Second by second, until stdin closes."""
    due = time.monotonic()
    closed = False
    while not closed:
        due += SECOND
        pause = session.begin_second()
        if pause < SECOND:
            closed = closed_within(pause)
            session.look_away()
        closed = closed or closed_within(due - time.monotonic())
        second = session.end_second()
        if not closed:
            say(second=second)
    say(whole=session.whole.told(), errors=session.errors())


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # fstui closes our stdin
    gc.disable()  # nothing here makes cycles, and there are many tuples to look through
    told = read_settings()
    try:
        session = Session(PREFIX + told["name"], pid=told["pid"], device=told["device"], calls=told["calls"])
    except (Untraceable, OSError) as problem:
        say(error=str(problem))
    else:
        with contextlib.suppress(BrokenPipeError):
            try:
                say(ready=True)
                watch(session)
            finally:
                session.remove()
    if told["entry"]:
        with contextlib.suppress(OSError):
            os.unlink(told["entry"])


if __name__ == "__main__":
    main()
