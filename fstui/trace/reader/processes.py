"""Find the program of the thread in an event: fstui, the kernel, or another program.

/proc lists the threads that exist now, and the kernel's fork events add those that start later. So the program of a
thread is known even if the thread ended long before its events are read.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from fstui import proc

Owner = Literal["own", "kernel_threads", "others"]
KTHREADD = 2
"""Pid of the parent of every kernel thread."""
URING_WORKER = b"iou-wrk-"
"""Start of the name of an io_uring worker. The number of the thread for which it works follows (kernel:
io_uring/io-wq.c)."""
KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in the flags of /proc/PID/stat."""
MAX_PROGRAMS = 8192


class Lineage:
    """The owners of threads. A new thread gets the owner of the thread that started it."""

    def __init__(self) -> None:
        self._owners: dict[int, Owner] = {}

    def add(self, owner: Owner, threads: Iterable[int]) -> None:
        self._owners.update(dict.fromkeys(threads, owner))

    def all_own(self, threads: Iterable[int]) -> bool:
        return all(self._owners.get(thread) == "own" for thread in threads)

    def add_fork(self, parent: int, child: int) -> None:
        """Give a new process or thread the owner of its parent."""
        owner = self._owners.get(parent)
        if owner is None:  # an earlier thread with the same number may have had an owner
            self._owners.pop(child, None)
        else:
            self._owners[child] = owner

    def owner(self, thread: int, comm: bytes = b"") -> Owner:
        """Return the owner of a thread. ``comm``: its name. There is no fork event for io_uring workers."""
        owner = self._owners.get(thread)
        if owner is None and comm.startswith(URING_WORKER):
            number = comm.removeprefix(URING_WORKER).partition(b"\0")[0]
            return self._owners.get(int(number), "others") if number.isdigit() else "others"
        return owner or "others"


def family(roots: Collection[int]) -> list[int]:
    """Return the threads of these processes and of all their descendants."""
    parents = {pid: process.parent for pid in proc.pids() if (process := proc.stat(pid))}
    return [thread for pid in parents if in_family(pid, parents, roots) for thread in proc.threads(pid)]


def in_family(pid: int, parents: Mapping[int, int], roots: Collection[int]) -> bool:
    for _ in range(len(parents) + 1):  # parents that changed while /proc was read may form a loop
        if pid in roots:
            return True
        pid = parents.get(pid, 0)
    return False


class TracedProcess(NamedTuple):
    """A process. ``start_ticks`` distinguishes it from a later process with the same pid."""

    pid: int
    start_ticks: int
    name: str
    is_kernel: bool = False


WORKERS = TracedProcess(2, 0, "kworker", is_kernel=True)
"""All kernel workers count as this process, because the kernel gives any work to any of them."""


def process_of(thread: int) -> TracedProcess | None:
    pid = int(proc.fields(f"/proc/{thread}/status").get("Tgid", 0))
    process = proc.stat(pid) if pid else None
    if process is None:
        return None
    is_kernel = bool(process.flags & KERNEL_THREAD)
    is_worker = is_kernel and process.name.startswith("kworker/")
    return WORKERS if is_worker else TracedProcess(pid, process.start, process.name, is_kernel)


def cpu_delay_ns(thread: int) -> int | None:
    """Return how long a thread has waited for a CPU in total: the second number of schedstat."""
    words = proc.read_text(f"/proc/{thread}/schedstat").split()
    return int(words[1]) if len(words) > 1 else None


def _process_of_ended_thread(thread: int, names: Mapping[str, str]) -> TracedProcess:
    """Return the program of a thread that has ended; for an io_uring worker, the program for which it worked.

    ``names``: the kernel's list of thread names, by thread number.
    """
    name = names.get(str(thread), "")
    number = name.removeprefix(URING_WORKER.decode())
    if number != name and number.isdigit():
        return process_of(int(number)) or TracedProcess(int(number), 0, names.get(number, ""))
    return TracedProcess(thread, 0, name)


class ProcessCache:
    def __init__(self, command_names: Callable[[], str]) -> None:
        self._command_names = command_names
        self._processes: dict[int, TracedProcess] = {}
        self._delays: dict[int, int] = {}

    def find_processes(self, threads: Iterable[int]) -> dict[int, TracedProcess]:
        """Return the process of each thread. If a thread ended before its process was read, it is its own process."""
        running = {thread: process_of(thread) for thread in threads}
        if len(self._processes) > MAX_PROGRAMS:
            self._processes.clear()
        self._processes.update({thread: process for thread, process in running.items() if process})
        missing = [thread for thread in running if thread not in self._processes]
        if missing:
            names = dict(line.split(" ", 1) for line in self._command_names().splitlines() if " " in line)
            self._processes.update({thread: _process_of_ended_thread(thread, names) for thread in missing})
        return {thread: self._processes[thread] for thread in running}

    def cpu_delays(self, threads: Iterable[int]) -> dict[int, int]:
        """Return how long (ns) each thread has waited for a CPU since the previous call."""
        current = {thread: delay for thread in threads if (delay := cpu_delay_ns(thread)) is not None}
        previous, self._delays = self._delays, current
        return {thread: delay - previous[thread] for thread, delay in current.items() if thread in previous}
