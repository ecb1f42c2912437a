"""Run SQL statements with sysbench as the client. Every step on a database needs sysbench anyway."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import as_file, files
from pathlib import Path

from fstui.databases.connections import Connection, DatabaseError
from fstui.databases.mysql import MySQL
from fstui.databases.postgresql import PostgreSQL
from fstui.databases.programs import output_of
from fstui.measure.kinds.servers import Driver
from fstui.model.errors import Refused
from fstui.state.workspace import Workspace

Family = MySQL | PostgreSQL
FAMILIES: dict[Driver, Family] = {"mysql": MySQL(), "pgsql": PostgreSQL()}
_FATAL = re.compile(r"^(?:FATAL|ALERT): (.*)$", re.MULTILINE)
_NO_REASON = re.compile(r"`.*' function failed: |failed query was: ")
"""The start of messages that contain only the name of a script's function, or the statement."""
_PREFIX = re.compile(r"error |PQ\w+\(\) failed: \d+ |Connection to database failed: (?:.*FATAL:  )?")
"""Text that sysbench and libpq print before the server's own message."""


def family_of(connection: Connection) -> Family:
    return FAMILIES[connection.driver]


async def query(
    program: str, connection: Connection, statements: Sequence[str], command_prefix: Sequence[str] = ()
) -> list[tuple[str, ...]]:
    """Run statements of one line each and return all rows. ``command_prefix``: words before the program.

    Raises DatabaseError.
    """
    family = family_of(connection)
    with as_file(files(__package__) / "sql.lua") as script:
        async with _tls_directory(connection) as directory:
            command, *arguments = (*command_prefix, program)
            status, text = await output_of(
                command,
                *arguments,
                str(script),
                *family.sysbench_options(connection),
                "--config-file=/dev/stdin",
                "query",
                stdin=family.secrets(connection),
                directory=directory,
                environment={"FSTUI_SQL": "\n".join(statements), **environment(connection)},
            )
    if status:
        raise DatabaseError(server_error(text) or f"sysbench ended with status {status}")
    return [tuple(line.split("\t")[1:]) for line in text.splitlines() if line.startswith("row\t")]


@asynccontextmanager
async def _tls_directory(connection: Connection) -> AsyncIterator[str | None]:
    """Yield a directory with links to the PEM files of TLS; None without TLS. Raises DatabaseError."""
    if connection.tls is None:
        yield None
        return
    try:
        workspace = await Workspace.create_temporary()  # it is in the ledger, and is removed even if fstui is killed
    except Refused as refusal:
        raise DatabaseError(str(refusal)) from None
    try:
        _link_files(tls_files(connection), workspace.held_directory.path)
        yield workspace.held_directory.path
    finally:
        await workspace.remove()


def _link_files(files_by_name: Mapping[str, str], directory: str) -> None:
    for name, path in files_by_name.items():
        Path(directory, name).symlink_to(path)


def address(connection: Connection) -> str:
    """Return ``socket /run/mysqld/mysqld.sock`` or ``db7:3306``."""
    if connection.socket:
        return f"socket {connection.socket}"
    return f"{connection.host}:{connection.port or family_of(connection).port}"


def environment(connection: Connection) -> dict[str, str]:
    """Return the variables that libmariadb or libpq reads, with the password.

    https://mariadb.com/kb/en/mariadb-environment-variables/,
    https://www.postgresql.org/docs/current/libpq-envars.html
    """
    if not connection.password:
        return connection.libpq
    return {**connection.libpq, family_of(connection).password_variable: connection.password}


def tls_files(connection: Connection) -> dict[str, str]:
    """Return the PEM files, by the names that sysbench 1.0 opens in its directory (src/drivers/mysql/drv_mysql.c)."""
    tls = connection.tls
    if tls is None:
        return {}
    paths = {"cacert": tls.ca, "client-cert": tls.certificate, "client-key": tls.key}
    return {f"{name}.pem": str(Path(path).absolute()) for name, path in paths.items()}


def server_error(text: str) -> str:
    """Return the error in sysbench's output: the last FATAL line that is not about its script or the statement."""
    reasons = [reason for reason in _FATAL.findall(text) if not _NO_REASON.match(reason)]
    return _PREFIX.sub("", reasons[-1], count=1) if reasons else ""
