import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest

from fstui.measure.helpers.activity import options
from fstui.runs.activity import read_activity

WRITE = """
import os, sys
fd = os.open("redo", os.O_CREAT | os.O_WRONLY)
print("up", flush=True)
while os.getppid() == {parent}:
    os.pwrite(fd, os.urandom(1 << 16), 0)
    os.fsync(fd)
"""


@contextmanager
def database(directory: Path, *words: str, **environment: str) -> Iterator[int]:
    """Start a process that looks like a MySQL that always commits; return its pid."""
    program = directory / "mysqld"
    program.symlink_to(sys.executable)
    call: list[str | Path] = [program, "-c", WRITE.format(parent=os.getpid()), *words]
    with subprocess.Popen(call, cwd=directory, stdout=subprocess.PIPE, env={**os.environ, **environment}) as server:
        assert server.stdout and server.stdout.readline() == b"up\n"
        try:
            yield server.pid
        finally:
            server.kill()


@pytest.fixture
def mount(tmp_path: Path) -> str:
    return subprocess.check_output(["stat", "-c", "%m", tmp_path], text=True).strip()


async def test_writers_and_databases_are_found_with_their_settings(tmp_path: Path, mount: str) -> None:
    arguments = ("--no-defaults", "--innodb-flush-log-at-trx-commit=2", "--port=1")
    with database(tmp_path, *arguments, LD_PRELOAD="/nowhere/libeatmydata.so") as pid:
        async with aclosing(read_activity()) as seen:
            async for look in seen:
                served = [each for each in look.databases if each.pid == pid and each.readable]
                writing = [each for each in look.writers if each.pid == pid]
                if served and writing:
                    break
    assert (writing[0].name, mount in writing[0].mounts) == ("mysqld", True)
    assert writing[0].bytes_per_s >= 4096
    found = served[0]
    assert (found.kind, found.data_directory, mount in found.mounts) == ("mysql", str(tmp_path), True)
    assert found.variables == {"innodb_flush_log_at_trx_commit": "2"}
    assert found.unsafe_settings == (
        "innodb_flush_log_at_trx_commit = 2",
        "/nowhere/libeatmydata.so is loaded, which skips syncs",
    )


@pytest.mark.parametrize(("line", "expected"), [
    ("mysqld --sync-binlog=1 --loose-sync-binlog=0", {"sync_binlog": "0"}),
    ("postgres -D /data -c synchronous_commit=off -F", {"synchronous_commit": "off", "fsync": "off"}),
    ("mysqld --skip-log-bin", {"skip_log_bin": "ON"}),
    ("redis-server *:6379", {}),
])  # fmt: skip
def test_options_are_read_from_the_command_line(line: str, expected: dict[str, str]) -> None:
    assert dict(options(line.split(" "))) == expected


def test_the_program_ends_when_its_input_closes() -> None:
    request = json.dumps({"servers": {}, "settings": []})
    words = [sys.executable, "-m", "fstui.measure.helpers.activity"]
    done = subprocess.run(words, input=f"{request}\n".encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
