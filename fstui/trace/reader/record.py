"""Program: record the kernel's trace during a run.

stdin: a line of JSON with "name" (of the trace instance), "own" (pids of fstui), "devices" (kernel names) and "entry"
(the instance's file in the ledger). Then a line {"own": […], "from_ns": …} when a step has begun, and {"until_ns": …}
when it has ended; times are those of CLOCK_MONOTONIC. stdout: {"ready": true} or {"error": "…"}, then a line
{"devices": […]} for each step. When stdin closes, the program removes the instance and then its entry.

``remove`` is called by ``fstui.measure.children.call_helper``.
"""

import errno
import json
import os
import select
from typing import Any

from fstui.measure.wire.stdio import read_line, say
from fstui.trace.reader.flush_counter import FIRST_READ_DELAY_S, FlushCounter, find_device
from fstui.trace.reader.program import serve
from fstui.trace.reader.tracefs import PREFIX, Instance, TracefsError, find_tracefs

MIN_READ_INTERVAL_S, MAX_READ_INTERVAL_S = 0.02, 1.0
TARGET_FILL = 0.125
"""How full a CPU's buffer should be at a read. With a smaller share there are more reads, and each read delays some
operations."""


def create_counter(settings: dict[str, Any]) -> FlushCounter:
    devices = [device for device in map(find_device, settings["devices"]) if device]
    return FlushCounter(PREFIX + settings["name"], settings["own"], devices)


def run(counter: FlushCounter) -> None:
    """Read the buffers soon after the start of a step, and later about whenever they reach TARGET_FILL."""
    say(ready=True)
    interval_s = MAX_READ_INTERVAL_S
    while True:
        if select.select([0], [], [], interval_s)[0]:
            line = read_line()
            if not line:
                return
            request = json.loads(line)
            if "from_ns" in request:
                counter.add_own(request["own"])
                counter.begin(request["from_ns"])
                interval_s = FIRST_READ_DELAY_S
                continue
            say(devices=counter.end(request["until_ns"]))
        counter.read()
        target_s = interval_s * TARGET_FILL / counter.max_fill if counter.max_fill else MAX_READ_INTERVAL_S
        interval_s = min(MAX_READ_INTERVAL_S, max(MIN_READ_INTERVAL_S, target_s))


def remove(name: str) -> None:
    """Remove the instances of a run that was killed. Their names are ``name`` or ``name``-SUFFIX. Raises OSError."""
    try:
        root = find_tracefs()
        for instance in os.listdir(f"{root}/instances"):
            if instance == name or instance.startswith(f"{name}-"):
                Instance(root, instance).remove()
    except TracefsError as problem:
        raise OSError(None, str(problem)) from None
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise OSError(error.errno, "another process uses it") from None
        raise


if __name__ == "__main__":
    serve(create_counter, run)
