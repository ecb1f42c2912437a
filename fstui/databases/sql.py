"""Run SQL statements with sysbench as the client. Every step on a database needs sysbench anyway."""

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from fstui.databases.connections import Connection, DatabaseError
from fstui.databases.mysql import MySQL
from fstui.databases.postgresql import PostgreSQL
from fstui.measure.children import call_helper
from fstui.measure.kinds.servers import Driver
from fstui.measure.wire.stdio import ProgramError
from fstui.model.errors import Refused, sentence_of
from fstui.state.workspace import HeldDirectory, Workspace

Family = MySQL | PostgreSQL
FAMILIES: dict[Driver, Family] = {"mysql": MySQL(), "pgsql": PostgreSQL()}
_TIMEOUT_S = 20.0
"""Longer than the time limit of a query in the child program."""


def family_of(connection: Connection) -> Family:
    return FAMILIES[connection.driver]


async def query(
    sysbench: str, connection: Connection, statements: Sequence[str], directory: HeldDirectory | None = None
) -> list[tuple[str, ...]]:
    """Run statements of one line each and return all rows. ``directory``: the working directory of sysbench.

    Raises DatabaseError.
    """
    workspace = None
    try:
        if connection.tls:  # sysbench expects the PEM files in its working directory
            workspace = await Workspace.create_temporary()
            directory = workspace.held_directory
        place = directory.as_settings if directory else None
        with as_file(files(__package__) / "sql.lua") as script:
            arguments = (place, client_settings(sysbench, connection), statements, str(script))
            helper = "measure.helpers.sysbench_program.query_in"
            rows = await call_helper(helper, *arguments, timeout_s=_TIMEOUT_S, where=address(connection))
    except (ProgramError, Refused, OSError) as error:
        raise DatabaseError(sentence_of(error)) from None
    finally:
        if workspace:
            await workspace.remove()
    return list(rows)


def client_settings(sysbench: str, connection: Connection) -> dict[str, Any]:
    """Return the settings with which child programs start sysbench as a client."""
    family = family_of(connection)
    return {
        "sysbench": sysbench,
        "connection": family.sysbench_options(connection),
        "secrets": family.secrets(connection),
        "environment": environment(connection),
        "tls": tls_files(connection),
    }


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
