"""The syncs of this process while it waits: does anything answer one that the kernel refuses?

A library that leaves syncs out for a tenth of each second may be quiet while a quick step lasts. The seconds in
which the devices are watched cost nothing: a file opened with O_PATH cannot be synced (EBADF, open(2)), so one that
succeeds then was answered in the kernel's place, as it will be in our children.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress

EVERY_S = 0.02
"""Less often would miss what lasts for a twentieth of a second; a try takes about 1 µs."""
MOST_SHARE = 0.1
"""Of the time: a library that makes sync(2) of each is not asked again and again for it."""


async def futile_syncs(seconds: float) -> dict[str, tuple[int, int]]:
    """Wait for that long. By call: how many were tried, and how many succeeded; nothing where none can be tried."""
    try:
        fd = os.open("/proc/self/exe", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        await asyncio.sleep(seconds)
        return {}
    counts = {"fsync": (0, 0), "fdatasync": (0, 0)}
    try:
        begun, spent_s = time.monotonic(), 0.0
        while (left_s := begun + seconds - time.monotonic()) > 0:
            since = time.monotonic()
            if spent_s <= MOST_SHARE * (since - begun):
                _try_each(fd, counts)
                spent_s += time.monotonic() - since
            await asyncio.sleep(min(left_s, EVERY_S))
    finally:
        os.close(fd)
    return counts


def _try_each(fd: int, counts: dict[str, tuple[int, int]]) -> None:
    for name, call in (("fsync", os.fsync), ("fdatasync", os.fdatasync)):
        tried, answered = counts[name]
        counts[name] = (tried + 1, answered)
        with suppress(OSError):
            call(fd)
            counts[name] = (tried + 1, answered + 1)
