"""Who else writes: real processes, on a real disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fstui.storage.writers import Written, writers, written_so_far

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
WRITER = (
    "import os, sys\n"
    "file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
    "for line in sys.stdin:\n"
    "    os.write(file, bytes(int(line)))\n"
    "    os.fsync(file)\n"
    "    print('written', flush=True)\n"
)


class Other:
    """A process that writes as many bytes as it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid

    def write(self, count: int) -> None:
        """Returns once they are written."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "written\n"


@contextmanager
def another(file: Path) -> Iterator[Other]:
    call = [sys.executable, "-S", "-c", WRITER, str(file)]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Other(process)
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A directory whose writes the kernel counts."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, check=True, text=True).stdout
    if kind.strip() == "tmpfs":
        pytest.skip("what is written into memory is written to no disk")
    return tmp_path


def test_who_wrote_meanwhile_and_how_much(disk: Path) -> None:
    with another(disk / "one") as one, another(disk / "two") as two:
        one.write(4096)
        before = written_so_far()
        one.write(1 << 20)
        with another(disk / "new") as new:
            new.write(8192)
            after = written_so_far()
    found = {writer.pid: writer.written_bytes for writer in writers(before, after)}
    assert found[one.pid] >= 1 << 20 and found[one.pid] < (1 << 20) + 65536
    assert 8192 <= found[new.pid] < 8192 + 65536  # from zero: it began in between
    assert two.pid not in found
    assert one.pid not in {writer.pid for writer in writers(before, after, own=frozenset({one.pid}))}


def test_the_most_comes_first() -> None:
    after = {(7, 100): Written("me", 10), (3, 50): Written("parent", 20)}
    assert [writer.name for writer in writers({}, after)] == ["parent", "me"]


@pytest.mark.root
def test_a_pid_that_is_used_again_is_another_process(disk: Path) -> None:
    with another(disk / "old") as old:
        old.write(1 << 20)
        before = written_so_far()
    for _ in range(50):  # others may take the pid that is next
        LAST_PID.write_text(str(old.pid - 1))
        with another(disk / "new") as new:
            if new.pid == old.pid:
                new.write(8192)
                (found,) = (each for each in writers(before, written_so_far()) if each.pid == new.pid)
                assert 8192 <= found.written_bytes < 65536
                return
    pytest.skip("no process would take that pid")
