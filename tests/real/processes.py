"""The processes of a run. None is looked for by its name alone: the first one started the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import psutil

PATIENCE_S = 20.0


def descendants(pid: int) -> list[psutil.Process]:
    """Every process below that one."""
    return psutil.Process(pid).children(recursive=True)


def below(pid: int, program: str) -> list[psutil.Process]:
    """The processes of a run that run this program of ours, each after the one that started it."""
    return [child for child in descendants(pid) if any(word.endswith(f".{program}") for word in child.cmdline())]


def kill(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL, in that order."""
    for process in processes:
        process.kill()


def all_end(processes: Iterable[psutil.Process]) -> bool:
    """Within the patience."""
    return not psutil.wait_procs(processes, timeout=PATIENCE_S)[1]


def eventually(true: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Look again and again until it is true, or the patience is at its end."""
    until = time.monotonic() + patience_s
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
