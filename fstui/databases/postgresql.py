"""PostgreSQL as a throwaway server: how one is made, started and asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fstui.databases.connection import Connection
from fstui.databases.programs import Program
from fstui.measures.sysbench import Sysbench
from fstui.model.errors import Refused

USERS = ("postgres", "nobody")
END_SIGNAL = "SIGQUIT"
"""An immediate shutdown: what it has not written need not be."""
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


def log_directories(variables: Mapping[str, str]) -> list[str]:
    """Where the WAL is, seen from the data: a link, where it has a place of its own (initdb --waldir)."""
    return ["pg_wal"]


def _text(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
