"""Time in which this process could have run and had no CPU: then an operation is slow whatever the storage does.

The second field of /proc/self/schedstat is the time spent waiting on a run queue, a CPU quota's throttling included
(Documentation/scheduler/sched-stats.rst); the eighth of each CPU in /proc/stat what a hypervisor ran in its place
(proc_stat(5)).
"""

from __future__ import annotations

import os

UNKNOWN = -1
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STEAL = 8


class Starvation:
    """Counts from its making on. ``look`` now and then: a stall is explained by one wait, not by all of them."""

    def __init__(self) -> None:
        self._first = self._latest = run_queue_ns()
        self._stolen = stolen_ns()
        self.longest_ns = UNKNOWN if self._first == UNKNOWN else 0
        """Waited between two looks, at the most."""

    def look(self) -> None:
        """Cheap enough for every 50 ms."""
        waited = run_queue_ns()
        if UNKNOWN not in (waited, self._latest):
            self.longest_ns = max(self.longest_ns, waited - self._latest)
        self._latest = waited

    def waited_ns(self) -> int:
        """By this process, in all."""
        self.look()
        return UNKNOWN if UNKNOWN in (self._latest, self._first) else self._latest - self._first

    def stolen_ns(self) -> int:
        """From the CPU that lost most."""
        return max((now - before for now, before in zip(stolen_ns(), self._stolen, strict=False)), default=UNKNOWN)


def run_queue_ns() -> int:
    """What this process has waited for a CPU so far."""
    words = _read("/proc/self/schedstat").split()
    return int(words[1]) if len(words) > 1 else UNKNOWN


def stolen_ns() -> list[int]:
    """Of each CPU, so far."""
    rows = (line.split() for line in _read("/proc/stat").splitlines()[1:] if line.startswith("cpu"))
    return [int(row[_STEAL]) * _TICK_NS for row in rows if len(row) > _STEAL]


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""
