"""PostgreSQL as a throwaway server: how one is made, started and asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fstui.databases.connection import Connection
from fstui.databases.programs import Program
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused

USERS = ("postgres", "nobody")
END_SIGNAL = "SIGQUIT"
"""An immediate shutdown: what it has not written need not be."""
RESTART_SIGNAL = "SIGINT"
"""A fast one: it disconnects its clients and writes a checkpoint, as ``pg_ctl restart`` has it."""
DATABASE = "postgres"
ADMINISTRATOR = "fstui"
MAINTENANCE = DATABASE
TO_MAKE = False
PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
"""https://www.postgresql.org/docs/current/runtime-config-connection.html, unix_socket_directories"""
VARIABLES = (
    "server_version", "data_directory", "fsync", "synchronous_commit", "wal_sync_method", "full_page_writes",
    "shared_buffers", "commit_delay",
)  # fmt: skip


def words(program: Program, data: str, socket: str, settings: Sysbench) -> list[str]:
    """The server's command line; the socket's name is PostgreSQL's own, in the directory of ``socket``."""
    stated = {
        "listen_addresses": "",
        "unix_socket_directories": str(Path(socket).parent),
        "port": PORT,
        "shared_buffers": f"{settings.pool_bytes >> 10}kB",
        **({"track_wal_io_timing": "on"} if program.version >= (14,) else {}),
        **settings.options,
    }
    return [
        os.path.realpath(program.path),
        "-D",
        data,
        *(word for name, value in stated.items() for word in ("-c", f"{name}={_text(value)}")),
    ]


def connection(socket: str) -> Connection:
    """As its administrator."""
    directory = str(Path(socket).parent)
    return Connection(driver="pgsql", socket=directory, port=PORT, user=ADMINISTRATOR, database=DATABASE)


def ready() -> tuple[str, str]:
    """The file among its data whose last line says so (src/include/utils/pidfile.h, PM_STATUS_READY)."""
    return "postmaster.pid", "ready"


def preparation(program: Program, data: str) -> list[dict[str, Any]]:
    """What makes an empty directory a cluster. Nobody but its own user and root can reach its socket."""
    initdb = Path(program.path).resolve().with_name("initdb")
    if not initdb.is_file():
        raise Refused(f"{initdb} is missing: install the whole package of the server")
    argv = [str(initdb), "-D", data, "-U", ADMINISTRATOR, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    return [{"argv": argv}]


def questions(besides: Iterable[str]) -> list[str]:
    """One row per variable: its name and its value, as ``SHOW`` tells it, with its unit."""
    names = ", ".join(f"'{name}'" for name in (*VARIABLES, *besides))
    return [f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names})"]


_WRITTEN = "SUM(writes), {}, SUM(fsyncs), SUM(write_time) * 1000000, SUM(fsync_time) * 1000000 FROM pg_stat_io"
_BLOCKS = "buffers_checkpoint + buffers_clean + buffers_backend"


def waits(kind: str, version: str) -> list[str]:
    """A row for each kind of file: writes, their bytes, syncs, ns in writes, ns in syncs, all since the start.

    pg_stat_wal has them since 14, pg_stat_io since 16, and both in one since 18. Before 16 nobody counts the syncs of
    the data (https://www.postgresql.org/docs/current/monitoring-stats.html).
    """
    major = int(version.partition(".")[0]) if version.partition(".")[0].isdecimal() else 0
    if major >= 18:
        written = _WRITTEN.format("SUM(write_bytes)")
        return [
            f"SELECT 'WAL', {written} WHERE object = 'wal'",
            f"SELECT 'data', {written} WHERE object = 'relation'",
        ]
    wal = "SELECT 'WAL', wal_write, wal_bytes, wal_sync, wal_write_time * 1000000, wal_sync_time * 1000000"
    data = f"SELECT 'data', {_BLOCKS}, ({_BLOCKS}) * 8192, NULL, NULL, NULL FROM pg_stat_bgwriter"
    if major >= 16:
        data = f"SELECT 'data', {_WRITTEN.format('SUM(writes * op_bytes)')} WHERE object = 'relation'"
    return [*([f"{wal} FROM pg_stat_wal"] if major >= 14 else []), data]


def log_directories(variables: Mapping[str, str]) -> list[str]:
    """Where the WAL is, seen from the data: a link, where it has a place of its own (initdb --waldir)."""
    return ["pg_wal"]


def _text(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
