"""A server that is there already: it lends a database of its own to the run, and is otherwise only read."""

from __future__ import annotations

import configparser
import getpass
import os
import socket
import struct
from pathlib import Path
from typing import Any

import msgspec

from fstui.databases.connection import Connection, Driver
from fstui.databases.facts import described
from fstui.databases.sql import DatabaseError, ask
from fstui.model import Sysbench
from fstui.state import ledger

PASSWORD = "FSTUI_DB_PASSWORD"
MAINTENANCE: dict[Driver, str] = {"mysql": "information_schema", "pgsql": "postgres"}
"""A database that is always there, to connect to."""
_EXISTS = ("1007", "already exists")
_UCRED = struct.Struct("3i")


def is_meant(settings: Sysbench) -> bool:
    """Whether these settings name an existing server."""
    return bool(settings.host or settings.port or settings.socket)


def connection_to(settings: Sysbench) -> Connection:
    """How it is reached, in a database that is always there.

    The password comes from the environment, or from the server's own option file.
    """
    driver: Driver = "pgsql" if settings.server == "postgresql" else "mysql"
    return with_password(
        Connection(
            driver=driver,
            socket=settings.socket,
            host=settings.host or ("" if settings.socket else "127.0.0.1"),
            port=settings.port,
            user=settings.user or ("postgres" if driver == "pgsql" else getpass.getuser()),
            database=MAINTENANCE[driver],
        )
    )


class Existing:
    """A connection to it while the run lasts."""

    def __init__(
        self, sysbench: str, connection: Connection, entry: ledger.Entry, facts: dict[str, Any], pid: int | None
    ) -> None:
        self.sysbench = sysbench
        self.connection = connection
        self.described = facts
        self.pid = pid
        self._entry = entry

    @classmethod
    async def open(cls, sysbench: str, settings: Sysbench, *, workspace: str, run_id: str) -> Existing:
        """Make the run's database. Raises DatabaseError with what the server said, or that it is there already."""
        name = f"fstui_{run_id}"
        to_any = connection_to(settings)
        pid = peer_of(to_any)
        entry = ledger.enter(run_id, kind="database", what=_address(to_any, name))
        try:
            facts = await described(sysbench, settings.server, to_any, pid, where="existing", workspace=workspace)
            await ask(sysbench, to_any, [f"CREATE DATABASE {name}"])
        except DatabaseError as error:
            ledger.settled(entry)
            if any(mark in str(error) for mark in _EXISTS):
                raise DatabaseError(f"{to_any.where} has a database {name} already: it is left alone") from None
            raise DatabaseError(f"{to_any.where}: {error}{_hint(str(error))}") from None
        except BaseException:
            ledger.settled(entry)
            raise
        return cls(sysbench, msgspec.structs.replace(to_any, database=name), entry, facts, pid)

    async def ended(self) -> str | None:
        """It is not ours to watch."""
        return None

    async def stop(self) -> str | None:
        """Drop the run's database. Returns None, or the sentence that says that it is still there."""
        return await drop(self.sysbench, self.connection, self._entry)


async def drop(sysbench: str, connection: Connection, entry: ledger.Entry) -> str | None:
    """Drop a database of a run's own. Returns None, or the sentence that says that it is still there."""
    to_any = msgspec.structs.replace(connection, database=MAINTENANCE[connection.driver])
    try:
        await ask(sysbench, to_any, [f"DROP DATABASE IF EXISTS {connection.database}"])
    except DatabaseError as error:
        return f"database {connection.database} on {connection.where} was not dropped: {error}"
    ledger.settled(entry)
    return None


def peer_of(connection: Connection) -> int | None:
    """The server's process, from its unix socket (unix(7), SO_PEERCRED); None over a network."""
    if not connection.socket:
        return None
    path = connection.socket
    if connection.driver == "pgsql":
        path = f"{path}/.s.PGSQL.{connection.port or 5432}"
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            pid: int = _UCRED.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
            return pid or None
    except OSError:
        return None


def with_password(connection: Connection) -> Connection:
    """The same with the password that the environment or the option file has now."""
    stated = os.environ.get(PASSWORD) or (_from_option_file() if connection.driver == "mysql" else "")
    return msgspec.structs.replace(connection, password=stated)


def _address(connection: Connection, database: str) -> str:
    """For the ledger, and for whoever has to drop it by hand; without a password."""
    return msgspec.json.encode(msgspec.structs.replace(connection, database=database, password="")).decode()


def _hint(message: str) -> str:
    if "1045" in message or "password authentication" in message or "no password supplied" in message:
        return f". Give the password in {PASSWORD}"
    return ""


def _from_option_file() -> str:
    """The password in ``[client]`` of ~/.my.cnf, where MySQL's own clients look for it."""
    file = configparser.ConfigParser(allow_no_value=True, interpolation=None, strict=False)
    try:
        file.read_string(
            "\n".join(
                line for line in (Path.home() / ".my.cnf").read_text().splitlines() if not line.startswith("!include")
            )
        )
        return (file.get("client", "password", fallback="") or "").strip("\"'")
    except (OSError, RuntimeError, configparser.Error, UnicodeDecodeError):
        return ""
