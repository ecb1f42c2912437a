"""Who else writes to disks meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fstui import proc
from fstui.model.host import Writer


class Written(NamedTuple):
    """What a process has written to disks since it began (write_bytes of /proc/PID/io)."""

    name: str
    written_bytes: int


Processes = Mapping[tuple[int, int], Written]
"""By pid and start: a pid that is used again is another process."""


def written_so_far() -> Processes:
    """Return what each process has written whose /proc/PID/io is readable: all, for root."""
    counted = ((pid, proc.stat(pid), proc.written_bytes(pid)) for pid in proc.pids())
    return {
        (pid, stat.start): Written(stat.name or str(pid), written)
        for pid, stat, written in counted
        if stat is not None and written is not None
    }


def writers(before: Processes, after: Processes, own: frozenset[int] = frozenset()) -> tuple[Writer, ...]:
    """Who wrote between two readings, the most first. ``own`` names pids to leave out.

    A process that began in between counts from zero; one that ended in between is not seen.
    """
    found = []
    for (pid, start), now in after.items():
        earlier = before.get((pid, start))
        grown = now.written_bytes - (earlier.written_bytes if earlier else 0)
        if grown > 0 and pid not in own:
            found.append(Writer(pid=pid, name=now.name, written_bytes=grown))
    return tuple(sorted(found, key=lambda writer: (-writer.written_bytes, writer.pid)))
