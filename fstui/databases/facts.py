"""What a server says of itself, and what its process shows: kept in the run document, judged by the judge."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from fstui.databases import mysql, postgresql
from fstui.databases.connection import Connection
from fstui.databases.programs import TITLES
from fstui.databases.sql import ask
from fstui.quantities import plain

_STUBS = ("libeatmydata", "libnosync", "libfakesync", "libfsyncstub")


async def described(
    sysbench: str, kind: str, connection: Connection, pid: int | None, *, where: str, workspace: str, title: str = ""
) -> dict[str, Any]:
    """Kind, title, where it is, the variables that decide its durability. Raises DatabaseError."""
    family = postgresql if kind == "postgresql" else mysql
    rows = await ask(sysbench, connection, family.questions())
    variables = {name.lower(): value for name, value in rows}
    version = variables.get("server_version") or variables.get("version", "")
    data = variables.get("data_directory") or variables.get("datadir") or _working_directory(pid)
    return {
        "kind": kind,
        "title": title or plain(f"{TITLES[kind]} {version.split('-')[0].split(' ')[0]}"),
        "where": where,
        "reached": plain(connection.where),
        "data_directory": data and plain(data),
        "on_target": bool(data and pid) and _one_filesystem(str(data), workspace),
        "variables": {name: plain(value) for name, value in sorted(variables.items())},
        "preloads": preloads(pid),
    }


def preloads(pid: int | None) -> list[str]:
    """Sync-stubbing libraries in the server's own memory map, where it is on this box and we may look."""
    text = ""
    if pid:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    found = {line.rsplit(" ", 1)[-1] for line in text.splitlines()}
    return sorted(plain(path) for path in found if any(stub in path for stub in _STUBS))


def _working_directory(pid: int | None) -> str | None:
    """Of either family it is the data directory; PostgreSQL tells its own only to an administrator."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink()) if pid else None
    except OSError:
        return None


def _one_filesystem(data: str, workspace: str) -> bool:
    try:
        return Path(data).stat().st_dev == Path(workspace).stat().st_dev
    except OSError:
        return False
