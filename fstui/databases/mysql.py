"""Set up, start, reach and query a server of MariaDB, MySQL or Percona Server."""

import configparser
import getpass
import itertools
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fstui.databases.connections import Connection, Tls
from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused

DATABASE = "fstui"
BINARY_LOG_BYTES = 64 << 20
_CLIENT_GROUP = "client"
_PRINTED_OPTION = re.compile(r"--([\w-]+)=(.*)")
_NOT_IN_CONFIG_FILE = re.compile(r"[\s\"'#]")
"""Characters that a value in sysbench's configuration file cannot contain."""
_SYSTEM_TABLES = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")
_FAST_SHUTDOWN = "--innodb-fast-shutdown=2"
"""Do not write the buffer pool at shutdown. The data is removed, or recovered from the log after a restart."""
_FILE_IO_COUNTERS = (
    "--performance-schema=ON",
    "--performance-schema-instrument=%=OFF",
    "--performance-schema-instrument=wait/io/file/%=ON",
)
"""Options for MariaDB, whose performance schema is off by default. Only file I/O is counted."""
_SMALL_BINARY_LOG = (
    f"--max-binlog-size={BINARY_LOG_BYTES}",
    "--loose-binlog-expire-logs-seconds=1",
    "--loose-slave-connections-needed-for-purge=0",
)
"""A full binary log is closed and purged a second later, so that a long run takes no more space than a short one
(https://mariadb.com/kb/en/replication-and-binary-log-system-variables/; the third option exists since 11.4)."""


class MySQL:
    """Everything that differs between MySQL and PostgreSQL. The class ``PostgreSQL`` has the same members."""

    users = ("mysql", "nobody")
    """The users that a throwaway server may run as, the preferred one first."""
    end_signal = restart_signal = "SIGTERM"
    """The signals that end a throwaway server quickly before its data is removed, and cleanly before a restart."""
    port = 3306
    socket = "socket"
    """Name of the unix socket in a throwaway server's data directory."""
    ready = None
    """The server is ready when its socket accepts connections."""
    create_statements = (f"CREATE DATABASE IF NOT EXISTS {DATABASE}",)
    maintenance_database = "information_schema"
    """A database that every server has."""
    database_names = "SELECT schema_name FROM information_schema.schemata"
    quote = "`"
    password_variable = "MYSQL_PWD"
    socket_name_has_port = False
    variables = (
        "version", "version_comment", "datadir", "socket", "log_bin", "sync_binlog", "innodb_flush_log_at_trx_commit",
        "innodb_flush_method", "innodb_doublewrite", "innodb_buffer_pool_size", "innodb_log_file_buffering",
        "innodb_data_file_buffering", "innodb_data_file_write_through", "innodb_log_file_write_through",
        "innodb_log_group_home_dir", "log_bin_basename",
    )  # fmt: skip
    """The variables that decide how and where a commit becomes durable.

    ``…_buffering`` and ``…_write_through`` exist since MariaDB 10.8 and 11.0, which derives them from
    innodb_flush_method (https://mariadb.com/kb/en/innodb-system-variables/)."""

    def command_line(self, program: ServerProgram, data: str, socket: str, settings: Sysbench) -> list[str]:
        # MariaDB's binary log is off by default, and sync_binlog has no effect without it
        fixed_options = ["--skip-networking", "--server-id=1", "--log-bin=binlog", *_SMALL_BINARY_LOG, _FAST_SHUTDOWN]
        fixed_options += ["--mysqlx=OFF"] if program.kind == "mysql" else _FILE_IO_COUNTERS
        options = {"innodb_buffer_pool_size": settings.pool_bytes, **settings.options}
        return [*common_argv(program, data), f"--socket={socket}", *fixed_options, *_option_arguments(options)]

    def preparation(self, program: ServerProgram, data: str) -> list[dict[str, Any]]:
        """Return the commands that create the data directory. Its owner and root can connect without a password."""
        if program.kind == "mysql":
            return [{"argv": [*common_argv(program, data), "--initialize-insecure", "--skip-log-bin"]}]
        text = "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n"
        argv = [*common_argv(program, data), "--bootstrap", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
        return [{"argv": argv, "text": text, "files": _system_tables(program)}]

    def connection(self, socket: str) -> Connection:
        """Return the connection of a throwaway server's administrator to the run's database."""
        return Connection(driver="mysql", socket=socket, user="root", database=DATABASE)

    def variable_queries(self, further: Iterable[str]) -> list[str]:
        """Return queries with one row per variable: its name and its value. ``further``: names of more variables."""
        names = ", ".join(f"'{name}'" for name in (*self.variables, *further))
        return [f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"]

    def file_io_queries(self, kind: str, version: str) -> list[str]:
        """Return queries with one row per kind of file: name, writes, bytes, syncs, ns in writes, ns in syncs.

        The server counts since its start. An unknown figure is NULL.
        """
        events = {name: f"SELECT '{name}', {_COUNTERS} FROM {_FILE_EVENT}{event}'" for name, event in _EVENTS.items()}
        if kind == "mysql":
            return list(events.values())
        # MariaDB's redo log bypasses the performance schema, and its doublewrite pages are in ibdata1
        data = f"{_FILE_EVENT}innodb/innodb_data_file'"
        redo_syncs = f"{_STATUS.format('data_fsyncs')} - (SELECT count_misc FROM {data})"
        redo = f"{_STATUS.format('log_writes')}, {_STATUS.format('os_log_written')}, {redo_syncs}, NULL, NULL"
        columns = _COUNTERS.split(", ")
        in_ibdata1 = ", ".join(map(_IN_IBDATA1.format, columns))
        not_in_ibdata1 = ", ".join(f"{column} - {_IN_IBDATA1.format(column)}" for column in columns)
        return [
            f"SELECT 'redo log', {redo}",
            events["binary log"],
            f"SELECT 'doublewrite', {in_ibdata1}",
            f"SELECT 'data', {not_in_ibdata1} FROM {data}",
        ]

    def log_directories(self, variables: Mapping[str, str]) -> list[str]:
        """Return the directories of the logs that a commit waits for, relative to the data directory."""
        binary = Path(variables.get("log_bin_basename", ""))
        return [variables.get("innodb_log_group_home_dir", ""), str(binary.parent)]

    def options_of(self, login_path: str) -> dict[str, str]:
        """Return the options of ``[client]`` and ``[login_path]`` in ~/.my.cnf, and of MySQL's login path of that name.

        Their names have ``_``, not ``-``. Raises Refused (https://dev.mysql.com/doc/refman/8.4/en/option-files.html).
        """
        defaults, group = _read_option_file(_CLIENT_GROUP), _read_option_file(login_path) if login_path else {}
        login = _read_login_path(login_path) if login_path else {}
        if login_path and login_path != _CLIENT_GROUP and not group and not login:
            raise Refused(
                f"login_path {login_path!r} is neither a group in ~/.my.cnf nor a login path that "
                "my_print_defaults of MySQL (mysql-client) shows."
            )
        return {**defaults, **group, **login}

    def default_user(self) -> str:
        return getpass.getuser()

    def with_client_options(self, connection: Connection, options: Mapping[str, str]) -> Connection:
        """Add TLS to the connection, if the options name all three files."""
        values = [options.get(name) for name in ("ssl_ca", "ssl_cert", "ssl_key")]
        files = [str(Path(value).expanduser()) for value in values if value]
        tls = Tls(ca=files[0], certificate=files[1], key=files[2]) if len(files) == len(values) else None
        return msgspec.structs.replace(connection, tls=tls)

    def sysbench_options(self, connection: Connection) -> list[str]:
        server = {"socket": connection.socket} if connection.socket else {"host": connection.host}
        port = {"port": str(connection.port or self.port)} if connection.port or not connection.socket else {}
        options = {"user": connection.user, "db": connection.database, **server, **port}
        tls = ["--mysql-ssl=on"] if connection.tls else []
        return ["--db-driver=mysql", *tls, *(f"--mysql-{name}={value}" for name, value in options.items())]

    def secrets(self, connection: Connection) -> str:
        """Return the password as a line of a configuration file, which sysbench reads from a pipe."""
        # a password with other characters is passed only in the environment
        can_write = connection.password and not _NOT_IN_CONFIG_FILE.search(connection.password)
        return f"mysql-password={connection.password}\n" if can_write else ""

    def socket_path(self, connection: Connection) -> str:
        return connection.socket

    def tables_query(self, database: str) -> tuple[str, bool]:
        """Return the query for the tables of a database, and whether it must run in that database."""
        return f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'", False

    def hint(self, connection: Connection, message: str) -> str:
        """Return what the user or the server's administrator can do about an error; empty if unknown."""
        if "1045" in message:
            tls = "; if the account requires TLS, set ssl-ca, ssl-cert and ssl-key in [client] of ~/.my.cnf"
            return "" if connection.tls else tls
        if "denied" in message:
            return f". Its administrator can allow it: GRANT ALL ON `fstui\\_%`.* TO '{connection.user}'@'…'"
        return ""


def common_argv(program: ServerProgram, data: str) -> list[str]:
    """Return the start of every command line. The server reads no option file of this host."""
    return [program.path, "--no-defaults", f"--datadir={data}", f"--tmpdir={data}", f"--pid-file={data}/server.pid"]


def _system_tables(program: ServerProgram) -> list[str]:
    """Return the SQL scripts that mariadb-install-db runs. That tool itself may not be installed with the server."""
    prefix = Path(program.path).resolve().parent.parent
    candidates = itertools.product((prefix, Path("/usr")), ("mysql", "mariadb"), ("mariadb", "mysql"))
    for directory, name, product in candidates:
        files = [directory / "share" / name / f"{product}_{table}" for table in _SYSTEM_TABLES]
        if all(file.is_file() for file in files):
            return list(map(str, files))
    raise Refused(
        f"the system tables of {program.path} are missing (share/mysql/mysql_system_tables.sql): install the whole "
        "package of the server"
    )


def _option_arguments(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        yield f"--{name.replace('_', '-')}={('ON' if value else 'OFF') if isinstance(value, bool) else value}"


_FILE_EVENT = "performance_schema.file_summary_by_event_name WHERE event_name = 'wait/io/file/"
_COUNTERS = "count_write, sum_number_of_bytes_write, count_misc, sum_timer_write DIV 1000, sum_timer_misc DIV 1000"
"""Timers tick in picoseconds. ``misc`` counts operations other than reads and writes. For a file that stays open, these
are its syncs (https://dev.mysql.com/doc/refman/8.4/en/performance-schema-file-summary-tables.html)."""
_EVENTS = {
    "redo log": "innodb/innodb_log_file",
    "binary log": "sql/binlog",
    "doublewrite": "innodb/innodb_dblwr_file",
    "data": "innodb/innodb_data_file",
}
_STATUS = "(SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'innodb_{}')"
_IN_IBDATA1 = "(SELECT SUM({}) FROM performance_schema.file_summary_by_instance WHERE file_name LIKE '%/ibdata1')"


def _read_option_file(group: str) -> dict[str, str]:
    file = configparser.ConfigParser(allow_no_value=True, interpolation=None, strict=False)
    try:
        lines = (Path.home() / ".my.cnf").read_text().splitlines()
        file.read_string("\n".join(line for line in lines if not line.startswith("!include")))
        section = dict(file.items(group)) if file.has_section(group) else {}
    except (OSError, RuntimeError, configparser.Error, UnicodeDecodeError):
        return {}
    return {name.replace("-", "_"): (value or "").strip("\"'") for name, value in section.items()}


def _read_login_path(name: str) -> dict[str, str]:
    """Let MySQL's own tool decrypt the login path. MariaDB's tool of the same name has no login paths."""
    tool = shutil.which("my_print_defaults")
    if tool is None:
        return {}
    argv = [tool, "--no-defaults", f"--login-path={name}", "-s", name]
    try:
        output = subprocess.check_output(
            argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, timeout=15
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return {}
    matches = map(_PRINTED_OPTION.fullmatch, output.splitlines())
    return {match[1].replace("-", "_"): match[2].strip("\"'") for match in matches if match}
