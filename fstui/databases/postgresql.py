"""Set up, start, reach and query a PostgreSQL server."""

import configparser
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from fstui.databases.connections import Connection
from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.servers import option_text
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused

ADMINISTRATOR = "fstui"
_LIBPQ_VARIABLES = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "passfile": "PGPASSFILE",
    "connect_timeout": "PGCONNECT_TIMEOUT",
}
"""Keywords of a service file that sysbench has no option for, and libpq's environment variables for them
(https://www.postgresql.org/docs/current/libpq-envars.html)."""
_IO_COUNTERS = "SUM(writes), {}, SUM(fsyncs), SUM(write_time) * 1000000, SUM(fsync_time) * 1000000 FROM pg_stat_io"
_WRITTEN_BLOCKS = "buffers_checkpoint + buffers_clean + buffers_backend"


class PostgreSQL:
    """Everything that differs between PostgreSQL and MySQL. The class ``MySQL`` documents the members."""

    users = ("postgres", "nobody")
    end_signal = "SIGQUIT"
    """An immediate shutdown, without a checkpoint."""
    restart_signal = "SIGINT"
    """A fast shutdown: it disconnects the clients and writes a checkpoint, as ``pg_ctl restart`` does."""
    port = 5432
    socket = f".s.PGSQL.{port}"
    """https://www.postgresql.org/docs/current/runtime-config-connection.html, unix_socket_directories"""
    ready = ("postmaster.pid", "ready")
    """A file in the data directory, and the word with which its last line starts when the server is ready
    (src/include/utils/pidfile.h, PM_STATUS_READY)."""
    create_statements: tuple[str, ...] = ()
    maintenance_database = "postgres"
    database_names = "SELECT datname FROM pg_database"
    quote = '"'
    password_variable = "PGPASSWORD"
    variables = (
        "server_version", "data_directory", "fsync", "synchronous_commit", "wal_sync_method", "full_page_writes",
        "shared_buffers", "commit_delay",
    )  # fmt: skip
    socket_name_has_port = True
    """The name of the socket contains the port, and a host that starts with / is the socket's directory."""

    def command_line(self, program: ServerProgram, data: str, socket: str, settings: Sysbench) -> list[str]:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(Path(socket).parent),
            "port": self.port,
            "shared_buffers": f"{settings.pool_bytes >> 10}kB",
            # with mmap, shared memory is in the data directory, which fstui removes. Segments in /dev/shm would remain
            # after a kill; only as root does the server have a private /dev/shm
            **({} if os.geteuid() == 0 else {"dynamic_shared_memory_type": "mmap"}),
            **({"track_wal_io_timing": "on"} if program.version >= (14,) else {}),
            **settings.options,
        }
        settings_argv = (word for name, value in options.items() for word in ("-c", f"{name}={option_text(value)}"))
        return [os.path.realpath(program.path), "-D", data, *settings_argv]

    def preparation(self, program: ServerProgram, data: str) -> list[dict[str, Any]]:
        # trust every local connection, because only the server's user and root can reach the socket
        initdb = Path(program.path).resolve().with_name("initdb")
        if not initdb.is_file():
            raise Refused(f"{initdb} is missing: install the whole package of the server")
        argv = [str(initdb), "-D", data, "-U", ADMINISTRATOR, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        return [{"argv": argv}]

    def connection(self, socket: str) -> Connection:
        directory = str(Path(socket).parent)
        return Connection(
            driver="pgsql", socket=directory, port=self.port, user=ADMINISTRATOR, database=self.maintenance_database
        )

    def variable_queries(self, further: Iterable[str]) -> list[str]:
        """Return the query for the settings. It returns the values as ``SHOW`` prints them, with their units."""
        names = ", ".join(f"'{name}'" for name in (*self.variables, *further))
        return [f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names})"]

    def file_io_queries(self, kind: str, version: str) -> list[str]:
        """Return queries with one row for the WAL and one for the data.

        Version 18 and later have both in pg_stat_io. Earlier versions have the WAL in pg_stat_wal (since 14), and the
        data in pg_stat_bgwriter, without fsyncs, or in pg_stat_io (since 16).
        https://www.postgresql.org/docs/current/monitoring-stats.html
        """
        major = int(version.partition(".")[0]) if version.partition(".")[0].isdecimal() else 0
        if major >= 18:
            counters = _IO_COUNTERS.format("SUM(write_bytes)")
            return [
                f"SELECT 'WAL', {counters} WHERE object = 'wal'",
                f"SELECT 'data', {counters} WHERE object = 'relation'",
            ]
        wal = "SELECT 'WAL', wal_write, wal_bytes, wal_sync, wal_write_time * 1000000, wal_sync_time * 1000000"
        data = f"SELECT 'data', {_WRITTEN_BLOCKS}, ({_WRITTEN_BLOCKS}) * 8192, NULL, NULL, NULL FROM pg_stat_bgwriter"
        if major >= 16:
            data = f"SELECT 'data', {_IO_COUNTERS.format('SUM(writes * op_bytes)')} WHERE object = 'relation'"
        return [*([f"{wal} FROM pg_stat_wal"] if major >= 14 else []), data]

    def log_directories(self, variables: Mapping[str, str]) -> list[str]:
        """Return the directory of the WAL, which is a symbolic link after initdb --waldir."""
        return ["pg_wal"]

    def options_of(self, login_path: str) -> dict[str, str]:
        """Return the service of that name (https://www.postgresql.org/docs/current/libpq-pgservice.html)."""
        if not login_path:
            return {}
        for path in _service_files():
            file = configparser.ConfigParser(allow_no_value=True, interpolation=None, strict=False, delimiters=("=",))
            try:
                file.read_string(path.read_text())
            except (OSError, configparser.Error, UnicodeDecodeError):
                continue
            if file.has_section(login_path):
                return {key: value or "" for key, value in file.items(login_path)}
        raise Refused(f"login_path: there is no service {login_path!r} in {' or '.join(map(str, _service_files()))}.")

    def default_user(self) -> str:
        return "postgres"

    def with_client_options(self, connection: Connection, options: Mapping[str, str]) -> Connection:
        """Add the keywords that sysbench has no option for, as variables of libpq: TLS, passfile, connect_timeout."""
        variables = {variable: options[name] for name, variable in _LIBPQ_VARIABLES.items() if options.get(name)}
        return msgspec.structs.replace(connection, libpq=variables)

    def sysbench_options(self, connection: Connection) -> list[str]:
        options = {"user": connection.user, "db": connection.database, "host": connection.socket or connection.host}
        if connection.port or not connection.socket:
            options["port"] = str(connection.port or self.port)
        return ["--db-driver=pgsql", *(f"--pgsql-{name}={value}" for name, value in options.items())]

    def secrets(self, connection: Connection) -> str:
        """Return an empty string: libpq reads the password from the environment."""
        return ""

    def tables_query(self, database: str) -> tuple[str, bool]:
        """Return the query for the tables. It must run in the given database, because no other database shows them."""
        return "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'", True

    def socket_path(self, connection: Connection) -> str:
        return f"{connection.socket}/.s.PGSQL.{connection.port or self.port}"

    def hint(self, connection: Connection, message: str) -> str:
        if "permission denied to create database" in message:
            return f". Its administrator can allow it: ALTER ROLE {connection.user} CREATEDB"
        return ""


def _service_files() -> list[Path]:
    home = Path(os.environ.get("PGSERVICEFILE") or "~/.pg_service.conf")
    with suppress(RuntimeError):  # the user has no home directory
        home = home.expanduser()
    return [home, Path(os.environ.get("PGSYSCONFDIR") or "/etc/postgresql-common") / "pg_service.conf"]
