"""Whose thread it is that an event names: ours, the kernel's own, or somebody else's.

Ours are told, and everything that they have started or will start: /proc says who is there now, the kernel's fork
events who comes. So a thread that ended long before its events are read is still known. Threads of io_uring are born
without a fork event; their name says whose they are.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from fstui import proc

Asker = Literal["us", "kernel_threads", "others"]
KTHREADD = 2
"""The parent of every kernel thread."""
OUTERMOST = "pid:[4026531836]"
"""The first pid namespace (kernel: PROC_PID_INIT_INO). Events give its numbers, whoever reads them."""
URING_WORKER = b"iou-wrk-"
"""Followed by the thread that it works for (kernel: io_uring/io-wq.c)."""


class Lineage:
    """Who belongs to whom. Numbers are those of the outermost pid namespace."""

    def __init__(self) -> None:
        self._askers: dict[int, Asker] = {}

    def add(self, asker: Asker, known: Iterable[int]) -> None:
        """These threads are theirs, and so is what they will start."""
        self._askers.update(dict.fromkeys(known, asker))

    def knows(self, threads: Iterable[int]) -> bool:
        """All of them are ours already."""
        return all(self._askers.get(thread) == "us" for thread in threads)

    def forked(self, parent: int, child: int) -> None:
        """A process or thread was started. Its number may have been another's before."""
        asker = self._askers.get(parent)
        if asker is None:
            self._askers.pop(child, None)
        else:
            self._askers[child] = asker

    def asker(self, thread: int, comm: bytes = b"") -> Asker:
        """Whose that thread is."""
        known = self._askers.get(thread)
        if known is None and comm.startswith(URING_WORKER):
            number = comm.removeprefix(URING_WORKER).partition(b"\0")[0]
            return self._askers.get(int(number), "others") if number.isdigit() else "others"
        return known or "others"


def in_outermost_namespace() -> bool:
    """Our own numbers are those of the events."""
    return os.readlink("/proc/self/ns/pid") == OUTERMOST


def family(roots: Collection[int]) -> list[int]:
    """Every thread of these processes and of all that descend from them, as they are now."""
    parents = dict(processes())
    return [thread for pid in parents if descends(pid, parents, roots) for thread in threads(pid)]


def descends(pid: int, parents: dict[int, int], roots: Collection[int]) -> bool:
    """Parents may change while we read: no walk upwards is endless."""
    for _ in range(len(parents) + 1):
        if pid in roots:
            return True
        pid = parents.get(pid, 0)
    return False


def processes() -> Iterator[tuple[int, int]]:
    """Every process that /proc shows, and its parent."""
    for pid in proc.pids():
        if found := proc.stat(pid):
            yield pid, found.parent


def threads(pid: int) -> list[int]:
    """A process's threads, its first one included."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
