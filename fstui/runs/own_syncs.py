"""The syncs of this process while it waits: does anything answer one that the kernel refuses?

A library that leaves syncs out for a tenth of each second may be quiet while a quick step lasts. The seconds in
which the devices are watched cost nothing: a file opened with O_PATH cannot be synced (EBADF, open(2)), so one that
succeeds then was answered in the kernel's place, as it will be in our children.
"""

from __future__ import annotations

import asyncio
import os
import time
from itertools import cycle
from threading import Event, Thread

from fstui.measure.wire.refused import is_refused

EVERY_S = 0.04
"""Of the calls in turn: seldom, since each stands in a strace and an audit log; less often would miss a tenth of a
second."""
MOST_SHARE = 0.1
"""Of the time: a library that makes sync(2) of each is not asked again and again for it."""


async def futile_syncs(seconds: float) -> dict[str, tuple[int, int]]:
    """Wait for that long. By call: how many were tried, and how many succeeded; nothing where none can be tried.

    In a thread: a sync(2) that a library makes of one may take minutes, or wait for ever for a server that is gone.
    """
    counts = {"fsync": (0, 0), "fdatasync": (0, 0)}
    stopped = Event()
    try:
        fd = os.open("/proc/self/exe", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        counts = {}
    else:
        _start(fd, counts, stopped)
    try:
        await asyncio.sleep(seconds)
    finally:
        stopped.set()
    return dict(counts)


def _start(fd: int, counts: dict[str, tuple[int, int]], stopped: Event) -> None:
    try:
        Thread(target=_try_on, args=(fd, counts, stopped), daemon=True).start()
    except RuntimeError:  # no more threads are allowed here
        os.close(fd)


def _try_on(fd: int, counts: dict[str, tuple[int, int]], stopped: Event) -> None:
    begun, spent_s = time.monotonic(), 0.0
    calls = cycle((("fsync", os.fsync), ("fdatasync", os.fdatasync)))
    try:
        while not stopped.is_set():
            since = time.monotonic()
            if spent_s <= MOST_SHARE * (since - begun):
                name, call = next(calls)
                tried, answered = counts[name]
                counts[name] = (tried + 1, answered + (not is_refused(call, fd)))
                spent_s += time.monotonic() - since
            stopped.wait(EVERY_S)
    finally:
        os.close(fd)
