"""Programs that tests start, and the processes of a run, which are found through their parents."""

import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import psutil

PATIENCE_S = 20.0


def nobody(*capabilities: str) -> tuple[str, ...]:
    """Return the prefix of a command that runs as the user nobody with only these capabilities."""
    names = ",".join(f"+{capability}" for capability in capabilities)
    return "setpriv", f"--reuid={pwd.getpwnam('nobody').pw_uid}", f"--inh-caps={names}", f"--ambient-caps={names}"


@contextmanager
def program(text: str, *arguments: object, within: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run a Python program that prints a line when it is ready. Kill it at the end."""
    words = [*within, sys.executable, "-c", text, *map(str, arguments)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def say(process: subprocess.Popen[str], words: str = "") -> str:
    """Send a line to a program and return its next line, without the end of the line."""
    assert process.stdin and process.stdout
    process.stdin.write(f"{words}\n")
    process.stdin.flush()
    return process.stdout.readline().removesuffix("\n")


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def children_running(pid: int, program: str) -> list[psutil.Process]:
    """Return the processes of a run that run this program of fstui, parents first."""
    return [child for child in descendants(pid) if any(word.endswith(f".{program}") for word in child.cmdline())]


def kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it may end because of the one before it
            process.kill()


def all_end(processes: Iterable[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=PATIENCE_S)[1]


def eventually(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Check repeatedly until the condition is true or the time has expired. Return whether it is true."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
