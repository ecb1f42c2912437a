"""Who else writes to disks meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import psutil

from fstui.model.host import Writer


class Written(NamedTuple):
    """What a process has written to disks since it began (write_bytes of /proc/PID/io)."""

    name: str
    written_bytes: int


Processes = Mapping[psutil.Process, Written]
"""By the process itself, which is another one where its pid began at another time."""


def written_so_far() -> Processes:
    """Every process whose /proc/PID/io is readable: all, for root."""
    psutil.process_iter.cache_clear()  # else a pid that is used again would still be the process of before
    return {
        process: Written(process.info["name"] or str(process.pid), counters.write_bytes)
        for process in psutil.process_iter(["name", "io_counters"])
        if (counters := process.info["io_counters"])
    }


def writers(before: Processes, after: Processes, own: frozenset[int] = frozenset()) -> tuple[Writer, ...]:
    """Who wrote between two readings, the most first. ``own`` names pids to leave out.

    A process that began in between counts from zero; one that ended in between is not seen.
    """
    found = []
    for process, now in after.items():
        earlier = before.get(process)
        grown = now.written_bytes - (earlier.written_bytes if earlier else 0)
        if grown > 0 and process.pid not in own:
            found.append(Writer(pid=process.pid, name=now.name, written_bytes=grown))
    return tuple(sorted(found, key=lambda writer: (-writer.written_bytes, writer.pid)))
