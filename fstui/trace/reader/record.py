"""Program: record the kernel's trace during a run.

stdin: a line of JSON with "name" (of the trace instance), "own" (pids of fstui), "devices" (kernel names) and "entry"
(the instance's file in the ledger). Then a line {"own": […], "from_ns": …} when a step begins, and {"until_ns": …} when
it has ended; times are those of CLOCK_MONOTONIC. stdout: {"ready": true} or {"error": "…"}, then a line
{"devices": […]} for each step. When stdin closes, the instance and then its entry are removed.

``remove`` is called by ``fstui.measure.children.call_helper``.
"""

from __future__ import annotations

import errno
import json
import os
import select
from typing import Any

from fstui.measure.wire.stdio import read_line, say
from fstui.trace.reader.flush_counter import FIRST_LOOK_S, FlushCounter, device_of
from fstui.trace.reader.program import serve
from fstui.trace.reader.tracefs import PREFIX, Instance, TracefsError, find

MAX_PAUSE_S, MIN_PAUSE_S = 1.0, 0.02
TARGET_FILL = 0.125
"""Share of a CPU's buffer that should be filled at a read. It is not less, because each read delays some operations."""


def counter_of(settings: dict[str, Any]) -> FlushCounter:
    devices = [device for device in map(device_of, settings["devices"]) if device]
    return FlushCounter(PREFIX + settings["name"], settings["own"], devices)


def follow(counter: FlushCounter) -> None:
    """Read the buffers until stdin closes: soon after the start of a step, and then whenever they reach TARGET_FILL."""
    say(ready=True)
    pause_s = MAX_PAUSE_S
    while True:
        if select.select([0], [], [], pause_s)[0]:
            text = read_line()
            if not text:
                return
            line = json.loads(text)
            if "from_ns" in line:
                counter.add_own(line["own"])
                counter.begin(line["from_ns"])
                pause_s = FIRST_LOOK_S
                continue
            say(devices=counter.end(line["until_ns"]))
        counter.read()
        filled = counter.fullest
        pause_s = min(MAX_PAUSE_S, max(MIN_PAUSE_S, pause_s * TARGET_FILL / filled)) if filled else MAX_PAUSE_S


def remove(name: str) -> None:
    """Remove the instance of a killed run, and those with this name plus a suffix. Raises OSError."""
    try:
        root = find()
        for one in os.listdir(f"{root}/instances"):
            if one == name or one.startswith(f"{name}-"):
                Instance(root, one).remove()
    except TracefsError as problem:
        raise OSError(None, str(problem)) from None
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise OSError(error.errno, "another process uses it") from None
        raise


if __name__ == "__main__":
    serve(counter_of, follow)
