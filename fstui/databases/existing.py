"""A server that is already running. fstui creates one database for the run and changes nothing else on the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from fstui.databases.connections import PASSWORD_VARIABLE, Connection, DatabaseError
from fstui.databases.facts import read_facts, server_pid
from fstui.databases.sql import FAMILIES, address, family_of, query
from fstui.measure.children import call_in_child
from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Sysbench
from fstui.state import ledger
from fstui.state.ledger import delete_entry_in_child, write_entry_in_child

Result = TypeVar("Result")
MARKER_TABLE = "made_by_fstui"
"""A table in every database that fstui creates. fstui drops only a database with this table, or an empty one."""
_TRIAL_STATEMENTS = (
    f"CREATE TABLE {MARKER_TABLE} (id INTEGER)",
    "CREATE TABLE fstui_trial (id INTEGER, k INTEGER)",
    "CREATE INDEX fstui_trial_k ON fstui_trial (k)",
    "INSERT INTO fstui_trial VALUES (1, 1)",
    "UPDATE fstui_trial SET k = 2",
    "SELECT k FROM fstui_trial",
    "DELETE FROM fstui_trial",
    "DROP TABLE fstui_trial",
)
"""Every kind of statement in sysbench's scripts, so that a missing privilege is reported before tables are filled."""
_READ_TIMEOUT_S = 5.0


def find_connection(settings: Sysbench) -> Connection:
    """Return the connection to the server's maintenance database. Raises Refused.

    Fields that are not in the settings come from the user's option or service file, or else from defaults.
    FSTUI_DB_PASSWORD overrides the password of the file.
    """
    driver = settings.kind.driver
    family = FAMILIES[driver]
    options = family.options_of(settings.login_path)
    has_address = settings.socket or settings.host or settings.port
    host = settings.host or options.get("host", "")
    directory = host if family.socket_name_has_port and host.startswith("/") else ""  # as in libpq
    socket = settings.socket or directory or ("" if has_address else options.get("socket", ""))
    stated_port = options.get("port", "")
    port = settings.port or (int(stated_port) if stated_port.isdecimal() else 0)
    connection = Connection(
        driver=driver,
        socket=socket,
        host="" if directory or (socket and not settings.host) else host or "127.0.0.1",
        port=0 if socket and not family.socket_name_has_port else port,
        user=settings.user or options.get("user") or family.default_user(),
        password=_password(options),
        database=family.maintenance_database,
        login_path=settings.login_path,
    )
    return family.with_client_options(connection, options)


def _password(options: dict[str, str]) -> str:
    return os.environ.get(PASSWORD_VARIABLE) or options.get("password", "")


def _connection_and_pid(settings: Sysbench) -> tuple[Connection, int | None]:
    connection = find_connection(settings)
    return connection, server_pid(connection)


async def _read_files(function: Callable[..., Result], *arguments: object) -> Result:
    """Call a function that reads the user's files, which may hang. Raises Refused."""
    return await call_in_child(function, *arguments, timeout_s=_READ_TIMEOUT_S, where="the home directory")


async def server_facts(sysbench: str, settings: Sysbench, *, workspace: str) -> Server:
    """Return what the server reports about itself, without changing anything there. Raises Refused."""
    connection, pid = await _read_files(_connection_and_pid, settings)
    with _add_hints(connection):
        return await read_facts(sysbench, settings.server, connection, pid, workspace=workspace)


@contextmanager
def _add_hints(connection: Connection) -> Iterator[None]:
    """Add the server's address, and what the user can do, to a DatabaseError."""
    try:
        yield
    except DatabaseError as error:
        message = str(error)
        # 1045: ER_ACCESS_DENIED_ERROR of MySQL and MariaDB
        is_denied = any(text in message for text in ("1045", "password authentication", "no password supplied"))
        hint = f". Give the password in {PASSWORD_VARIABLE}" if is_denied else ""
        hint += family_of(connection).hint(connection, message)
        raise DatabaseError(f"{address(connection)}: {message}{hint}") from None


class ExistingServer:
    def __init__(
        self, sysbench: str, connection: Connection, entry: ledger.LedgerEntry, facts: Server, pid: int | None
    ) -> None:
        self.sysbench = sysbench
        self.connection = connection
        self.facts = facts
        self.pid = pid
        self._entry = entry

    @classmethod
    async def open(cls, sysbench: str, settings: Sysbench, *, workspace: str, run_id: str) -> ExistingServer:
        """Create the run's database. Raises DatabaseError if the server refuses or has a database of that name."""
        name = database_name(run_id)
        maintenance, pid = await _read_files(_connection_and_pid, settings)
        connection = replace(maintenance, database=name)
        # the entry without the password is enough to drop the database by hand
        stored = msgspec.json.encode(replace(connection, password="")).decode()
        entry = await write_entry_in_child(run_id, "database", stored)
        with _add_hints(maintenance):
            try:
                facts = await read_facts(sysbench, settings.server, maintenance, pid, workspace=workspace)
                await _create_database(sysbench, maintenance, name)
            except BaseException:
                await delete_entry_in_child(entry)
                raise
            try:
                for statement in _TRIAL_STATEMENTS:  # each in a query of its own, because some take many syncs
                    await query(sysbench, connection, [statement])
            except BaseException:
                await drop(sysbench, connection, entry)
                raise
        return cls(sysbench, connection, entry, facts, pid)

    async def why_ended(self) -> str | None:
        """Return None: fstui does not watch a server that it did not start."""
        return None

    async def stop(self) -> str | None:
        return await drop(self.sysbench, self.connection, self._entry)


async def _create_database(sysbench: str, maintenance: Connection, name: str) -> None:
    """Create a database only if it can be dropped again. Raises DatabaseError."""
    family = family_of(maintenance)
    if await _database_exists(sysbench, maintenance, name):
        raise DatabaseError(f"it already has a database {name}, which fstui leaves alone")
    # DROP comes first: MySQL checks the privilege for it even if the database does not exist. In PostgreSQL, the owner
    # of a database may always drop it
    quoted = _quote(family.quote, name)
    await query(sysbench, maintenance, [f"DROP DATABASE IF EXISTS {quoted}", f"CREATE DATABASE {quoted}"])


async def _database_exists(sysbench: str, maintenance: Connection, name: str) -> bool:
    return any(name in row for row in await query(sysbench, maintenance, [family_of(maintenance).database_names]))


async def drop(sysbench: str, connection: Connection, entry: ledger.LedgerEntry) -> str | None:
    """Drop a database that a run created. Return None, or a sentence with the reason why it still exists."""
    family = family_of(connection)
    what = f"database {connection.database} on {address(connection)}"
    maintenance = replace(connection, database=family.maintenance_database)
    try:
        if not await _may_be_dropped(sysbench, connection, maintenance):
            return f"{what} was not dropped: it has no table {MARKER_TABLE}, so fstui did not create it"
        quoted = _quote(family.quote, connection.database)
        await query(sysbench, maintenance, [f"DROP DATABASE IF EXISTS {quoted}"])
    except DatabaseError as error:
        return f"{what} was not dropped: {error}"
    await delete_entry_in_child(entry)
    return None


async def _may_be_dropped(sysbench: str, connection: Connection, maintenance: Connection) -> bool:
    """Return whether the database is absent, empty or fstui's own. A run that was killed early leaves an empty one."""
    if not await _database_exists(sysbench, maintenance, connection.database):
        return True
    statement, runs_in_database = family_of(connection).tables_query(connection.database)
    tables = {table for (table,) in await query(sysbench, connection if runs_in_database else maintenance, [statement])}
    return not tables or MARKER_TABLE in tables


def database_name(run_id: str) -> str:
    return f"fstui_{run_id}"


def _quote(character: str, name: str) -> str:
    """Return the name as an identifier (https://dev.mysql.com/doc/refman/8.4/en/identifiers.html)."""
    return f"{character}{name.replace(character, character * 2)}{character}"


async def with_current_password(connection: Connection) -> Connection:
    """Add the current password to a connection from the ledger. Raises Refused."""
    return await _read_files(_with_password, connection)


def _with_password(connection: Connection) -> Connection:
    options = family_of(connection).options_of(connection.login_path)
    return replace(connection, password=_password(options))
