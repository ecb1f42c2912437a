"""Find blocked threads that no trace event shows: those whose writes wait for the end of a freeze (fsfreeze, a
snapshot), and those whose sync began before the trace."""

import time
from collections.abc import Iterator

from fstui import proc
from fstui.proc import LOOP_WORKER
from fstui.trace.reader.processes import KERNEL_THREAD
from fstui.trace.reader.waits import CALLS_WITH_FILE, SyncWaits


class FrozenWrites:
    """Adds these writes to the waits. A scan reads the state of all threads, so the number of scans is limited."""

    def __init__(self, waits: SyncWaits, max_share: float) -> None:
        """``max_share``: the share of the time that the scans may take."""
        self._waits = waits
        self._max_share = max_share
        self._scan_cost_s, self._scanned_at_s = 0.0, 0.0

    def update(self) -> None:
        """Find these writes. If it is too early for another scan, only check those that are known."""
        now_s = time.monotonic()
        candidates = {thread for thread, *_ in self._waits.frozen}
        if now_s - self._scanned_at_s >= self._scan_cost_s / self._max_share:
            began_s = time.thread_time()
            candidates |= set(_blocked_threads())
            self._scan_cost_s, self._scanned_at_s = time.thread_time() - began_s, now_s
        descriptors = {thread: fd for thread in candidates if (fd := frozen_write(thread)) is not None}
        self._waits.set_frozen(time.monotonic_ns(), descriptors)


def frozen_write(thread: int) -> int | None:
    """Return the descriptor of the write in which a thread waits for the end of a freeze; None if it does not wait.

    -1: it waits in a call without the descriptor of a file, or in no system call.
    """
    if not proc.waits_for_thaw(proc.read_text(f"/proc/{thread}/wchan")):
        return None
    call, fd = system_call(thread)
    return -1 if call in ("openat", "msync", "sync") else fd  # their first argument is a directory, an address or none


def running_syncs() -> Iterator[tuple[int, int]]:
    """Yield thread and descriptor of each system call that syncs a file and is blocked now."""
    for thread in _blocked_threads():
        call, fd = system_call(thread)
        if call in CALLS_WITH_FILE:
            yield thread, fd


def system_call(thread: int) -> tuple[str, int]:
    """Return the system call in which a thread is blocked, and its first argument; an empty name if it is another."""
    number, *arguments = proc.read_text(f"/proc/{thread}/syscall").split(" ")
    call = proc.SYSTEM_CALLS.get(int(number), "") if number.isdigit() else ""
    return (call, int(arguments[0], 16)) if call else ("", -1)


def _blocked_threads() -> Iterator[int]:
    """Yield the threads in uninterruptible sleep. Of the kernel's threads, only the workers of loop devices."""
    for pid in proc.pids():
        process = proc.stat(pid)
        if process is None or (process.flags & KERNEL_THREAD and LOOP_WORKER not in process.name):
            continue
        if process.state == "D":
            yield pid
        others = (thread for thread in proc.threads(pid) if thread != pid) if process.threads > 1 else ()
        yield from (thread for thread in others if (state := proc.stat(thread)) and state.state == "D")
