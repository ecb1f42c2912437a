"""A server that is there already: it lends a database of its own to the run, and is otherwise only read."""

from __future__ import annotations

import getpass
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from fstui.databases import services
from fstui.databases.connection import PORTS, Connection
from fstui.databases.facts import described
from fstui.databases.option_files import options, tls
from fstui.databases.sql import DatabaseError, ask
from fstui.measure.children import NoAnswer, in_child
from fstui.measure.kinds.server_kinds import Driver
from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Sysbench
from fstui.state import ledger
from fstui.state.noting import note, strike_out

Result = TypeVar("Result")
PASSWORD = "FSTUI_DB_PASSWORD"
MAINTENANCE: dict[Driver, str] = {"mysql": "information_schema", "pgsql": "postgres"}
"""A database that is always there, to connect to."""
SERVERS = frozenset({"mariadbd", "mysqld", "postgres", "postmaster"})
"""What the kernel calls their processes."""
_NAMES: dict[Driver, str] = {
    "mysql": "SELECT schema_name FROM information_schema.schemata",
    "pgsql": "SELECT datname FROM pg_database",
}
MARK = "made_by_fstui"
"""A table in every database of a run's own: only one that holds it, or nothing, is ever dropped."""
_TRIAL = (
    f"CREATE TABLE {MARK} (id INTEGER)",
    "CREATE TABLE fstui_trial (id INTEGER, k INTEGER)",
    "CREATE INDEX fstui_trial_k ON fstui_trial (k)",
    "INSERT INTO fstui_trial VALUES (1, 1)",
    "UPDATE fstui_trial SET k = 2",
    "SELECT k FROM fstui_trial",
    "DELETE FROM fstui_trial",
    "DROP TABLE fstui_trial",
)
"""All that sysbench's scripts do: what is not allowed is said before anything is filled."""
_ANSWER_S = 5.0
_FILES_S = 5.0
_UCRED = struct.Struct("3i")


def is_meant(settings: Sysbench) -> bool:
    """Whether these settings name an existing server."""
    return settings.existing_server is not None


def connection_to(settings: Sysbench) -> Connection:
    """How it is reached, in a database that is always there.

    What is not set comes from the environment, or from the user's option or service files. Raises Refused.
    """
    driver = settings.kind.driver
    stated = _stated(driver, settings.login_path)
    near = settings.socket or settings.host or settings.port
    host = settings.host or stated.get("host", "")
    directory = host if driver == "pgsql" and host.startswith("/") else ""  # as libpq has it
    socket = settings.socket or directory or ("" if near else stated.get("socket", ""))
    port = settings.port or int(stated.get("port", "") if stated.get("port", "").isdecimal() else 0)
    return Connection(
        driver=driver,
        socket=socket,
        host="" if directory else settings.host or ("" if socket else host or "127.0.0.1"),
        port=0 if socket and driver == "mysql" else port,
        user=settings.user or stated.get("user") or ("postgres" if driver == "pgsql" else getpass.getuser()),
        password=os.environ.get(PASSWORD) or stated.get("password", ""),
        database=MAINTENANCE[driver],
        login_path=settings.login_path,
        tls=tls(stated),
        libpq=services.variables(stated) if driver == "pgsql" else {},
    )


def _reached(settings: Sysbench) -> tuple[Connection, int | None]:
    """With the process that answers there. Raises Refused."""
    connection = connection_to(settings)
    return connection, peer_of(connection)


async def _in_time(function: Callable[..., Result], *arguments: object) -> Result:
    """What it returns, in a child: the home that the user's files are in may hang. Raises Refused, DatabaseError."""
    try:
        return await in_child(function, *arguments, timeout_s=_FILES_S, where="the home directory")
    except NoAnswer as silence:
        raise DatabaseError(str(silence)) from None


def _stated(driver: Driver, name: str) -> dict[str, str]:
    """What the user's own files say of a login path, or of a service. Raises Refused."""
    return options(name) if driver == "mysql" else services.service(name)


async def seen(sysbench: str, settings: Sysbench, *, workspace: str) -> Server:
    """What it says of itself, before anything is made there. Raises DatabaseError with what it said, Refused."""
    connection, pid = await _in_time(_reached, settings)
    try:
        return await described(sysbench, settings.server, connection, pid, where="existing", workspace=workspace)
    except DatabaseError as error:
        raise _said_by(connection, error) from None


def _said_by(connection: Connection, error: DatabaseError) -> DatabaseError:
    """With who said it, and what to do."""
    return DatabaseError(f"{connection.where}: {error}{_hint(connection, str(error))}")


class Existing:
    """A connection to it while the run lasts."""

    def __init__(
        self, sysbench: str, connection: Connection, entry: ledger.Entry, facts: Server, pid: int | None
    ) -> None:
        self.sysbench = sysbench
        self.connection = connection
        self.described = facts
        self.pid = pid
        self._entry = entry

    @classmethod
    async def open(cls, sysbench: str, settings: Sysbench, *, workspace: str, run_id: str) -> Existing:
        """Make the run's database. Raises DatabaseError with what the server said, or that it is there already."""
        name = name_of(run_id)
        to_any, pid = await _in_time(_reached, settings)
        entry = await note(run_id, "database", _address(to_any, name))
        try:
            facts = await described(sysbench, settings.server, to_any, pid, where="existing", workspace=workspace)
            own = await _make(sysbench, to_any, name)
        except DatabaseError as error:
            await strike_out(entry)
            raise _said_by(to_any, error) from None
        except BaseException:
            await strike_out(entry)
            raise
        try:
            for statement in _TRIAL:  # each has its own time: a table is made of many syncs
                await ask(sysbench, own, [statement])
        except BaseException as error:
            await drop(sysbench, own, entry)
            if isinstance(error, DatabaseError):
                raise _said_by(to_any, error) from None
            raise
        return cls(sysbench, own, entry, facts, pid)

    async def ended(self) -> str | None:
        """It is not ours to watch."""
        return None

    async def stop(self) -> str | None:
        """Drop the run's database. Returns None, or the sentence that says that it is still there."""
        return await drop(self.sysbench, self.connection, self._entry)


async def _make(sysbench: str, to_any: Connection, name: str) -> Connection:
    """A database of that name, only where it can be dropped again. Raises DatabaseError."""
    if any(name in row for row in await ask(sysbench, to_any, [_NAMES[to_any.driver]])):
        raise DatabaseError(f"it has a database {name} already, which is left alone")
    # MySQL asks for the right to drop before it looks whether there is anything; PostgreSQL's owners have it
    quoted = _quoted(to_any.driver, name)
    await ask(sysbench, to_any, [f"DROP DATABASE IF EXISTS {quoted}", f"CREATE DATABASE {quoted}"])
    return msgspec.structs.replace(to_any, database=name)


async def drop(sysbench: str, connection: Connection, entry: ledger.Entry) -> str | None:
    """Drop a database of a run's own. Returns None, or the sentence that says that it is still there."""
    what = f"database {connection.database} on {connection.where}"
    to_any = msgspec.structs.replace(connection, database=MAINTENANCE[connection.driver])
    try:
        if not await _is_ours(sysbench, connection, to_any):
            return f"{what} was not dropped: it holds tables, and no {MARK} among them, so fstui did not make it"
        await ask(sysbench, to_any, [f"DROP DATABASE IF EXISTS {_quoted(connection.driver, connection.database)}"])
    except DatabaseError as error:
        return f"{what} was not dropped: {error}"
    await strike_out(entry)
    return None


async def _is_ours(sysbench: str, connection: Connection, to_any: Connection) -> bool:
    """It is not there, or empty, or bears our mark: whoever made it was perhaps killed before it had one."""
    name, driver = connection.database, connection.driver
    if not any(name in row for row in await ask(sysbench, to_any, [_NAMES[driver]])):
        return True
    # a database of MySQL's is a schema, and seen from any other; one of PostgreSQL's from inside alone
    schema, where = ("public", connection) if driver == "pgsql" else (name, to_any)
    question = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"
    found = {table for (table,) in await ask(sysbench, where, [question])}
    return not found or MARK in found


def name_of(run_id: str) -> str:
    """Of a run's own database."""
    return f"fstui_{run_id}"


def _quoted(driver: Driver, name: str) -> str:
    """As an identifier, whatever is in it (https://dev.mysql.com/doc/refman/8.4/en/identifiers.html)."""
    mark = '"' if driver == "pgsql" else "`"
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def peer_of(connection: Connection) -> int | None:
    """The process that answers: from its unix socket (unix(7), SO_PEERCRED), or whoever listens on a port of this box.

    None where it is on another box, or this user may not know.
    """
    if not connection.socket:
        return _listener(connection.host, connection.port or PORTS[connection.driver])
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


def _listener(host: str, port: int) -> int | None:
    """A connection to this box comes from the address that it goes to."""
    import psutil  # noqa: PLC0415  only where a server is reached by a port

    try:
        with socket.create_connection((host, port), _ANSWER_S) as client:
            address = client.getpeername()[0]
            if address != client.getsockname()[0]:
                return None
        listening = [found for found in psutil.net_connections("tcp") if found.status == psutil.CONN_LISTEN]
    except (OSError, psutil.Error):
        return None
    places = {(address, port), ("0.0.0.0", port), ("::", port)}
    pid = next((found.pid for found in listening if tuple(found.laddr) in places), None)
    return pid if pid and _is_server(pid) else None


def _is_server(pid: int) -> bool:
    """Whoever listens on a port may only pass it on: to a container, through a tunnel."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() in SERVERS
    except OSError:
        return False


async def known_again(connection: Connection) -> Connection:
    """The same with the password of now. Raises Refused, DatabaseError."""
    return await _in_time(_with_password, connection)


def _with_password(connection: Connection) -> Connection:
    """The same with the password that the environment or the user's file has now. Raises Refused."""
    stated = _stated(connection.driver, connection.login_path)
    return msgspec.structs.replace(connection, password=os.environ.get(PASSWORD) or stated.get("password", ""))


def _address(connection: Connection, database: str) -> str:
    """For the ledger, and for whoever has to drop it by hand; without a password."""
    return msgspec.json.encode(msgspec.structs.replace(connection, database=database, password="")).decode()


def _hint(connection: Connection, message: str) -> str:
    """What the user, or the server's administrator, can do about it."""
    if "1045" in message or "password authentication" in message or "no password supplied" in message:
        unsecured = connection.driver == "mysql" and connection.tls is None
        tls_wanted = "; where the account wants TLS, ssl-ca, ssl-cert and ssl-key in [client] of ~/.my.cnf"
        return f". Give the password in {PASSWORD}{tls_wanted if unsecured else ''}"
    if "permission denied to create database" in message:
        return f". Its administrator's word for it: ALTER ROLE {connection.user} CREATEDB"
    if "denied" in message and connection.driver == "mysql":
        return f". Its administrator's word for it: GRANT ALL ON `fstui\\_%`.* TO '{connection.user}'@'…'"
    return ""
