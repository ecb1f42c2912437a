"""The programs that a database wants: found on PATH and in the distributions' usual places, and asked who they are."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from fstui.model import Refused
from fstui.quantities import plain

ANSWER_S = 15.0
LEAST_SYSBENCH = (1, 0)
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")
_SBIN = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec")
_PLACES = {
    "mariadb": ("mariadbd", "mysqld", (*_SBIN, "/usr/local/mysql/bin", "/opt/mariadb/bin")),
    "mysql": ("mysqld", "mysqld", (*_SBIN, "/usr/local/mysql/bin", "/opt/mysql/bin", "/opt/percona/bin")),
    "postgresql": (
        "postgres",
        "postgres",
        ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/libexec/postgresql*"),
    ),
}
PACKAGES = {
    "mariadb": "mariadb-server-core (Debian, Ubuntu) or mariadb-server",
    "mysql": "mysql-server-core-8.0 (Ubuntu), mysql-server-core (Debian unstable) or percona-server-server",
    "postgresql": "postgresql (Debian, Ubuntu) or postgresql-server",
}
TITLES = {"mariadb": "MariaDB", "mysql": "MySQL", "postgresql": "PostgreSQL"}


class Program(NamedTuple):
    """An installed server."""

    kind: str
    path: str
    title: str
    """``MariaDB 10.11.19``, ``Percona Server 8.0.36``."""
    version: tuple[int, ...]


async def find_server(kind: str) -> Program | None:
    """The newest one of that kind; None where none is installed."""
    name, other, places = _PLACES[kind]
    found = [program for path in _candidates((name, other), places) if (program := await _identified(kind, path))]
    return max(found, key=lambda program: program.version, default=None)


async def find_sysbench() -> str:
    """Its path. Raises Refused where it is missing or too old."""
    path = shutil.which("sysbench")
    if path is None:
        raise Refused("sysbench is not installed: apt-get install sysbench")
    _, text = await output_of(path, "--version")
    version = _version_in(text)
    if version < LEAST_SYSBENCH:
        shown = plain(text.strip().splitlines()[0] if text.strip() else "of unknown version")
        raise Refused(f"{shown} ({plain(path)}) is too old: its OLTP scripts came with 1.0. apt-get install sysbench")
    return path


async def output_of(
    program: str, *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a tool to its end: status, stdout and stderr together. Ended after 15 s, status -1."""
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(stdin.encode()), ANSWER_S)
    except TimeoutError:
        return -1, f"FATAL: no answer for {ANSWER_S:.0f} s"
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, out.decode(errors="replace")


def _candidates(names: Iterable[str], places: Iterable[str]) -> list[str]:
    """Distinct programs, in the order of the places; symbolic links count as what they lead to."""
    found: dict[str, str] = {}
    usual = (match for place in places for match in sorted(Path("/").glob(place.lstrip("/")), reverse=True))
    for directory in (*map(Path, os.get_exec_path()), *usual):
        for path in (directory / name for name in names):
            if os.access(path, os.X_OK) and path.is_file():
                found.setdefault(str(path.resolve()), str(path))
    return list(found)


async def _identified(kind: str, path: str) -> Program | None:
    status, text = await output_of(path, "--version")
    if status:
        return None
    maria = "MariaDB" in text
    if kind != "postgresql" and maria != (kind == "mariadb"):
        return None
    version = _version_in(text)
    title = "Percona Server" if "Percona" in text else TITLES[kind]
    return Program(kind, path, f"{title} {'.'.join(map(str, version))}", version)


def _version_in(text: str) -> tuple[int, ...]:
    match = _VERSION.search(text)
    return tuple(map(int, match[1].split("."))) if match else ()
