"""The processes of a run, found through their parents and not by name alone."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

PATIENCE_S = 20.0


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def below(pid: int, program: str) -> list[psutil.Process]:
    """Return the processes of a run that run this program of fstui, parents first."""
    return [child for child in descendants(pid) if any(word.endswith(f".{program}") for word in child.cmdline())]


def kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it may end because of the one before it
            process.kill()


def all_end(processes: Iterable[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=PATIENCE_S)[1]


def eventually(true: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Check again and again until the condition is true or the time is over."""
    until = time.monotonic() + patience_s
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
