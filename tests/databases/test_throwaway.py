"""Several schemas in a throwaway server, and the purge of its binary log."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from fstui.databases.sql import family_of
from fstui.databases.throwaway import ThrowawayServer
from tests.databases import servers

TRIES = 100
SCRIPT = Path(servers.__file__).parents[2] / "fstui/databases/schemas.lua"
ROWS = {"mysql": "SELECT COUNT(*) FROM fstui{}.sbtest1", "pgsql": "SELECT COUNT(*) FROM {}.sbtest1"}
SCHEMAS = {"mysql": ("", "_2"), "pgsql": ("public", "fstui_2")}


async def sysbench(server: ThrowawayServer, *words: str, **environment: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(
            server.sysbench,
            str(SCRIPT),
            *family_of(server.connection).sysbench_options(server.connection),
            "--tables=1",
            "--table-size=100",
            *words,
        ),
        env={**os.environ, "FSTUI_WORKLOAD": "oltp_insert", "FSTUI_SCHEMAS": "2", **environment},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
async def test_clients_are_distributed_among_the_schemas(workshop: Path, kind: str) -> None:
    servers.require(kind)
    async with servers.existing_server(kind, workshop / "data") as server:
        for schema in ("1", "2"):
            await sysbench(server, "prepare", FSTUI_SCHEMA=schema)
        await sysbench(server, "--threads=2", "--events=200", "--time=60", "run")
        driver = server.connection.driver
        counted = await servers.query(server, *(ROWS[driver].format(schema) for schema in SCHEMAS[driver]))
    rows = [int(count) for (count,) in counted]
    assert all(count > 100 for count in rows) and sum(rows) == 2 * 100 + 200


async def test_closed_binary_logs_are_purged(workshop: Path) -> None:
    servers.require("mariadb")
    async with servers.existing_server("mariadb", workshop / "data") as server:
        await servers.query(server, *["FLUSH BINARY LOGS"] * 4)
        logs = sorted((workshop / "data/server-1").glob("binlog.0*"))
        for _ in range(TRIES):  # the server checks in the background which logs a recovery needs
            for log in logs:  # closing the last log writes to it once more
                with contextlib.suppress(FileNotFoundError):
                    os.utime(log, (0, 0))
            await servers.query(server, "FLUSH BINARY LOGS")
            if not any(log.exists() for log in logs):
                break
        assert len(logs) == 5 and not any(log.exists() for log in logs)
