import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest

from fstui.measure.helpers import server_options
from fstui.measure.helpers.server_options import options
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


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc/mysql/conf.d").mkdir(parents=True)
    (tmp_path / "etc/mysql/my.cnf").write_text("[client]\nsync_binlog = 7\n!includedir /etc/mysql/conf.d/\n")
    mine = "[mysqld]\nloose-sync-binlog = 0  # faster\ninnodb_flush_log_at_trx_commit='2'\n"
    (tmp_path / "etc/mysql/conf.d/mine.cnf").write_text(mine)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/postgresql.conf").write_text("#fsync = on\nfsync = off # not here\nsynchronous_commit on\n")
    (tmp_path / "data/postgresql.auto.conf").write_text("fsync = 'on'\n")
    return tmp_path


def test_option_files_are_read_as_the_servers_read_them(etc: Path) -> None:
    files = options("mysql", ["mariadbd"], "/data", str(etc))
    assert files == {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"}
    over = options("mysql", ["mysqld", "--sync-binlog=1"], "/data", str(etc))
    assert over["sync_binlog"] == "1"
    assert options("mysql", ["mysqld", "--no-defaults"], "/data", str(etc)) == {"no_defaults": "ON"}
    written = options("pgsql", ["postgres"], "/data", str(etc))
    assert written == {"fsync": "on", "synchronous_commit": "on"}
    assert options("pgsql", ["postgres", "-c", "synchronous_commit=off", "-F"], "/data", str(etc)) == {
        "fsync": "off",
        "synchronous_commit": "off",
    }
    assert options("", ["redis-server"], "/data", str(etc)) == {}


def test_a_link_in_a_container_is_followed_inside_it(tmp_path: Path) -> None:
    inside = tmp_path / "root"
    (inside / "etc/alternatives").mkdir(parents=True)
    (inside / "etc/my.cnf").symlink_to("/etc/alternatives/../alternatives/my.cnf")
    (inside / "etc/alternatives/my.cnf").symlink_to("../../../../srv/mine.cnf")
    (inside / "srv").mkdir()
    (inside / "srv/mine.cnf").write_text("[mysqld]\nsync_binlog=0\n!include /etc/box.cnf\n!includedir /box\n")
    (tmp_path / "box").mkdir()
    (tmp_path / "box/box.cnf").write_text("[mysqld]\ninnodb_flush_log_at_trx_commit=2\n")
    (inside / "etc/box.cnf").symlink_to(tmp_path / "box/box.cnf")
    (inside / "box").symlink_to(tmp_path / "box")
    assert server_options.mysql_options(["mysqld"], str(inside)) == {"sync_binlog": "0"}


def test_a_pipe_as_option_file_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "etc/mysql").mkdir(parents=True)
    os.mkfifo(tmp_path / "etc/my.cnf")
    (tmp_path / "etc/mysql/my.cnf").symlink_to("my.cnf")
    assert server_options.mysql_options(["mysqld"], str(tmp_path)) == {}


def test_the_program_ends_when_its_input_closes() -> None:
    request = json.dumps({"servers": {}, "settings": []})
    words = [sys.executable, "-m", "fstui.measure.helpers.activity"]
    done = subprocess.run(words, input=f"{request}\n".encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
