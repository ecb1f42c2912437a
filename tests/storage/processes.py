"""Processes as /proc shows them: who belongs to a run, who still lives. None is looked for by its name alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20.0


def descendants(pid: int) -> list[int]:
    """Every process below that one, nearest first."""
    parents = {int(path.name): _parent(path) for path in Path("/proc").iterdir() if path.name.isdecimal()}
    found = [pid]
    for above in found:
        found += [child for child, parent in parents.items() if parent == above]
    return found[1:]


def _parent(process: Path) -> int | None:
    try:
        # field 2, the command, may hold spaces and brackets: count from its last bracket
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def runs(pid: int, program: str) -> bool:
    """Whether that process runs this program of ``fstui.probes``."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"fstui.probes.{program}".encode() in words


def below(pid: int, program: str) -> list[int]:
    """The processes of a run that run this program: the first one started the others."""
    return [child for child in descendants(pid) if runs(child, program)]


def kill(pids: list[int]) -> None:
    """SIGKILL, in that order."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def eventually(true: Callable[[], bool]) -> bool:
    """Look again and again until it is true, or the patience is at its end."""
    until = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
