"""Names for the threads of events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.lineage import URING_WORKER

KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the flags in /proc/PID/stat."""
MOST = 8192


class Program(NamedTuple):
    """A process as it was when it was looked at. A number that is used again has another start."""

    pid: int
    started: int
    name: str
    is_kernel: bool = False


WORKERS = Program(2, 0, "kworker", is_kernel=True)
"""All of the kernel's workers: which of them does what is chance."""


def program_of(thread: int) -> Program | None:
    """The process of a thread as it is now; None where the thread has ended."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        with open(f"/proc/{thread}/status", "rb") as file:
            pid = int(next(line for line in file if line.startswith(b"Tgid:")).split()[1])
        if found := proc.stat(pid):
            is_kernel = bool(found.flags & KERNEL_THREAD)
            is_worker = is_kernel and found.name.startswith("kworker/")
            return WORKERS if is_worker else Program(pid, found.start, found.name, is_kernel)
    return None


def waited_for_cpu_ns(thread: int) -> int | None:
    """How long a thread has been ready to run and did not, so far: the second number of schedstat."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{thread}/schedstat", "rb") as file:
        return int(file.read().split()[1])
    return None


def _ended(thread: int, names: Mapping[str, str]) -> Program:
    """A thread that is gone, by the name that the kernel kept; a worker of io_uring worked for another."""
    name = names.get(str(thread), "")
    owner = name.removeprefix(URING_WORKER.decode())
    if owner != name and owner.isdigit():
        return program_of(int(owner)) or Program(int(owner), 0, names.get(owner, ""))
    return Program(thread, 0, name)


class Programs:
    """Programs by their threads, also of those that have ended meanwhile."""

    def __init__(self, command_names: Callable[[], str]) -> None:
        """``command_names``: the kernel's own short list, thread and name, of who made an event last."""
        self._command_names = command_names
        self._known: dict[int, Program] = {}
        self._delays: dict[int, int] = {}

    def of(self, threads: Iterable[int]) -> dict[int, Program]:
        """The program of each thread; of one that nobody saw alive, the thread and the name that the kernel kept."""
        now = {thread: program_of(thread) for thread in threads}
        if len(self._known) > MOST:
            self._known.clear()
        self._known.update({thread: program for thread, program in now.items() if program})
        missing = [thread for thread in now if thread not in self._known]
        if missing:
            names = dict(line.split(" ", 1) for line in self._command_names().splitlines() if " " in line)
            self._known.update({thread: _ended(thread, names) for thread in missing})
        return {thread: self._known[thread] for thread in now}

    def cpu_delays(self, threads: Iterable[int]) -> dict[int, int]:
        """How long each thread has waited for a CPU since it was last asked for."""
        now = {thread: delay for thread in threads if (delay := waited_for_cpu_ns(thread)) is not None}
        before, self._delays = self._delays, now
        return {thread: delay - before[thread] for thread, delay in now.items() if thread in before}
