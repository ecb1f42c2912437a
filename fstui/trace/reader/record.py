"""Program: record the kernel's trace during a run.

stdin: a line of JSON with "name" of the instance, "own" (pids), "devices" (kernel names) and "entry", the file in the
ledger. Then a line {"own": […], "from_ns": …} when a step begins, and {"until_ns": …} when it has ended, both in
CLOCK_MONOTONIC. stdout: {"ready": true} or {"error": "…"}, then a line {"devices": […]} for each step. When stdin
closes, the instance and then its entry are removed.
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
FULL = 0.125
"""Share of a CPU's buffer that may be filled between two reads. A read delays several operations, so there are few."""


def counter_of(settings: dict[str, Any]) -> FlushCounter:
    devices = [device for device in map(device_of, settings["devices"]) if device]
    return FlushCounter(PREFIX + settings["name"], settings["own"], devices)


def follow(counter: FlushCounter) -> None:
    """Read the buffers until stdin closes: soon after the start of a step, and then as often as they fill up."""
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
        pause_s = min(MAX_PAUSE_S, max(MIN_PAUSE_S, pause_s * FULL / filled)) if filled else MAX_PAUSE_S


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
        if error.errno == errno.EBUSY:
            raise OSError(error.errno, "another process uses it") from None
        raise


if __name__ == "__main__":
    serve(counter_of, follow)
