"""Real servers for the tests, from packages of the distribution. A skipped test names the missing package."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from fstui.databases import programs, sql
from fstui.databases.connections import Connection
from fstui.databases.throwaway import CWD, ThrowawayServer
from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.servers import KINDS, Server
from fstui.measure.kinds.sysbench import Sysbench, SysbenchFigures
from fstui.model.run import Run
from fstui.model.steps import Step
from tests.factories.directories import held
from tests.real import headless

MYSQL = Path(os.environ.get("FSTUI_MYSQL", "/var/tmp/fstui-mysql"))
"""Where ``tests/databases/mysql.sh`` installs a MySQL of Debian unstable."""
POSTGRESQL = Path(os.environ.get("FSTUI_POSTGRESQL", "/var/tmp/fstui-postgresql"))
"""Where ``tests/databases/postgresql.sh`` installs further PostgreSQLs, by major version."""
PACKAGES = {"mariadb": "mariadb-server-core", "postgresql": "postgresql", "sysbench": "sysbench"}
GIB = 1 << 30
SCENARIO = Path(__file__).parents[2] / "scenarios/sysbench-oltp.toml"


def require(*kinds: str) -> dict[str, str]:
    """Return an environment whose PATH contains these servers and sysbench. Skip the test if one is missing.

    ``postgresql-18`` means this version, not that of the distribution.
    """
    if shutil.which("sysbench") is None:
        pytest.skip("sysbench is missing: apt-get install sysbench")
    environment = dict(os.environ)
    if "mysql" in kinds:
        if not (MYSQL / "bin/mysqld").exists():
            pytest.skip(f"no MySQL in {MYSQL}: as root, tests/databases/mysql.sh (tests/run --full does it)")
        environment["PATH"] = f"{MYSQL}/bin:{environment['PATH']}"
    for version in (kind.removeprefix("postgresql-") for kind in kinds if kind.startswith("postgresql-")):
        if not (POSTGRESQL / version / "bin/postgres").exists():
            pytest.skip(f"no PostgreSQL {version} in {POSTGRESQL}: tests/databases/postgresql.sh (tests/run --full)")
        environment["PATH"] = f"{POSTGRESQL}/{version}/bin:{environment['PATH']}"
    for kind in set(kinds) & set(PACKAGES):
        if not programs.find_server(kind):
            pytest.skip(f"{KINDS[kind].title} is missing: apt-get install {PACKAGES[kind]}")
    return environment


def without_disk_steps(directory: Path) -> str:
    """Return a file with ``sysbench-oltp`` without the steps that measure the disk itself, which saves 3 s."""
    head, *steps = SCENARIO.read_text().split("[[steps]]\n")
    file = directory.parent / "sysbench-alone.toml"
    file.write_text("[[steps]]\n".join((head, *(step for step in steps if 'probe = "sysbench"' in step))))
    return str(file)


def measure(
    directory: Path,
    *settings: str,
    environment: Mapping[str, str] | None = None,
    code: int = 0,
    scenario: str = "sysbench-oltp",
) -> Run:
    """Run the scenario with one second per step and no warm-up. Return the document."""
    pairs = headless.set_options("seconds=1", "warmup=0", *settings)
    done = headless.call("run", scenario, directory, "--format", "json", *pairs, environment=environment)
    assert done.returncode == code, done.stderr.decode()
    return decode_run(done.stdout)


def refusal(directory: Path, *settings: str, environment: Mapping[str, str] | None = None) -> str:
    done = headless.call("run", "sysbench-oltp", directory, *headless.set_options(*settings), environment=environment)
    assert done.returncode == 2 and not done.stdout, done.stderr.decode()
    (sentence,) = done.stderr.decode().splitlines()
    return sentence.removeprefix("fstui: ")


def left_in(directory: Path) -> list[str]:
    """Return what the directory contains, except for lost+found."""
    return sorted(path.name for path in directory.iterdir() if path.name != "lost+found")


def processes_of(directory: Path) -> list[str]:
    """Return the command lines that contain the path of the directory."""
    lines = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    return [line for line in lines if str(directory) in line and "pytest" not in line]


@asynccontextmanager
async def existing_server(kind: str, directory: Path, **options: Any) -> AsyncIterator[ThrowawayServer]:
    """Start a server that fstui treats as an existing one. Skip the test if it is not installed."""
    require(kind)
    directory.mkdir()
    directory.chmod(0o755)
    settings = msgspec.convert({"server": kind, "options": options}, Sysbench)
    server = await ThrowawayServer.open(settings, workspace=held(directory), run_id="test", number=1)
    # reached by its path, not through the working directory of a run
    socket = server.connection.socket.replace(CWD, str(directory), 1)
    server.connection = replace(server.connection, socket=socket)
    try:
        yield server
    finally:
        assert await server.stop() is None


async def query(server: ThrowawayServer, *statements: str) -> list[tuple[str, ...]]:
    """Query the server as its administrator."""
    connection: Connection = server.connection
    database = "postgres" if connection.driver == "pgsql" else "information_schema"
    to_any = replace(connection, database=database)
    return await sql.query(server.sysbench, to_any, statements)


async def run(
    directory: Path, *settings: str, password: str = "", scenario: str = "sysbench-oltp", plan: bool = False
) -> tuple[int, bytes, str]:
    """Run or plan a scenario while this process runs a server. Return status, stdout and stderr."""
    pairs = headless.set_options("seconds=1", "warmup=0", *settings)
    words = ["run", scenario, directory, "--format", "plain" if plan else "json", *pairs, *(["--plan"] if plan else [])]
    environment = {**os.environ, **({"FSTUI_DB_PASSWORD": password} if password else {})}
    done = await asyncio.to_thread(headless.call, *words, environment=environment)
    return done.returncode, done.stdout, done.stderr.decode()


def figures_of(step: Step) -> SysbenchFigures:
    assert isinstance(step.figures, SysbenchFigures)
    return step.figures


def server_of(step: Step) -> Server:
    server = figures_of(step).server
    assert server
    return server


def settings_of(step: Step) -> Sysbench:
    assert isinstance(step.settings, Sysbench)
    return step.settings
