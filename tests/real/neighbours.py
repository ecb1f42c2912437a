"""Other programs on the same disk, which are no children of fstui."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NEIGHBOUR = """
import os, select, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
print("syncing", flush=True)
while not select.select([0], [], [], 0)[0]:
    os.pwrite(fd, os.urandom(4096), 0)
    os.fsync(fd)
print("still there", flush=True)
"""
BY_A_SHELL_THAT_ENDS = ("sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "sh")


@contextmanager
def neighbour(file: Path) -> Iterator[None]:
    words = [*BY_A_SHELL_THAT_ENDS, sys.executable, "-c", NEIGHBOUR, str(file)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stdout.readline() == "syncing\n"
        yield
    finally:
        last, _ = process.communicate()
        file.unlink()
    assert last == "still there\n", "the neighbour ended before the test did"


@contextmanager
def neighbours(directory: Path, count: int) -> Iterator[None]:
    with ExitStack() as all_of_them:
        for number in range(count):
            all_of_them.enter_context(neighbour(directory / f"neighbour-{number}"))
        yield
