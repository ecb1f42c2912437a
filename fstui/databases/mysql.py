"""MariaDB, MySQL and Percona Server as throwaway servers: how one is made, started and asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fstui.databases.connection import Connection
from fstui.databases.programs import Program
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused

USERS = ("mysql", "nobody")
END_SIGNAL = RESTART_SIGNAL = "SIGTERM"
DATABASE = "fstui"
MAINTENANCE = "information_schema"
TO_MAKE = True
SOCKET = "socket"
VARIABLES = (
    "version", "version_comment", "datadir", "socket", "log_bin", "sync_binlog", "innodb_flush_log_at_trx_commit",
    "innodb_flush_method", "innodb_doublewrite", "innodb_buffer_pool_size", "innodb_log_file_buffering",
    "innodb_data_file_buffering", "innodb_data_file_write_through", "innodb_log_file_write_through",
    "innodb_log_group_home_dir", "log_bin_basename",
)  # fmt: skip
"""What decides how and where a commit becomes durable. ``…_buffering`` and ``…_write_through`` exist since MariaDB 10.8
and 11.0, which derives them from innodb_flush_method (https://mariadb.com/kb/en/innodb-system-variables/)."""
_SYSTEM_TABLES = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")
_QUICK_END = "--innodb-fast-shutdown=2"
BINARY_LOG_BYTES = 64 << 20
_OBSERVED = (
    "--performance-schema=ON",
    "--performance-schema-instrument=%=OFF",
    "--performance-schema-instrument=wait/io/file/%=ON",
)
"""Of MariaDB, which ships with all of it off: what it does to its files is counted, and nothing else."""
_BOUNDED = (
    f"--max-binlog-size={BINARY_LOG_BYTES}",
    "--loose-binlog-expire-logs-seconds=1",
    "--loose-slave-connections-needed-for-purge=0",
)
"""A binary log that is full is closed, and those closed a second ago and earlier are removed: a run takes as much room
however long it is (https://mariadb.com/kb/en/replication-and-binary-log-system-variables/; the third since 11.4)."""


def words(program: Program, data: str, socket: str, settings: Sysbench) -> list[str]:
    """The server's command line. MariaDB's binary log is off by default; sync_binlog then means nothing: it is on."""
    own = ["--skip-networking", "--server-id=1", "--log-bin=binlog", *_BOUNDED, _QUICK_END]
    own += ["--mysqlx=OFF"] if program.kind == "mysql" else _OBSERVED
    options = {"innodb_buffer_pool_size": settings.pool_bytes, **settings.options}
    return [*base(program, data), f"--socket={socket}", *own, *_rendered(options)]


def connection(socket: str) -> Connection:
    """As its administrator, to the run's database."""
    return Connection(driver="mysql", socket=socket, user="root", database=DATABASE)


def ready() -> None:
    """It is when its socket takes connections."""


def preparation(program: Program, data: str) -> list[dict[str, Any]]:
    """What makes an empty data directory a server's, with an administrator who has no password and one database.

    Nobody but its own user and root can reach its socket.
    """
    if program.kind == "mysql":
        return [{"argv": [*base(program, data), "--initialize-insecure", "--skip-log-bin"]}]
    text = "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n"
    argv = [*base(program, data), "--bootstrap", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
    return [{"argv": argv, "text": text, "files": _system_tables(program)}]


def base(program: Program, data: str) -> list[str]:
    """The first words of every command line: the directory, and none of the box's option files."""
    return [program.path, "--no-defaults", f"--datadir={data}", f"--tmpdir={data}", f"--pid-file={data}/server.pid"]


def _system_tables(program: Program) -> list[str]:
    """The scripts that mariadb-install-db feeds to the server; that script itself needs the client's package."""
    prefix = Path(program.path).resolve().parent.parent
    for place in (prefix, Path("/usr")):
        for name in ("mysql", "mariadb"):
            for product in ("mariadb", "mysql"):
                files = [place / "share" / name / f"{product}_{table}" for table in _SYSTEM_TABLES]
                if all(file.is_file() for file in files):
                    return list(map(str, files))
    raise Refused(f"{program.path}: its system tables (share/mysql/mysql_system_tables.sql) are missing")


def _rendered(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        yield f"--{name.replace('_', '-')}={('ON' if value else 'OFF') if isinstance(value, bool) else value}"


def questions(besides: Iterable[str]) -> list[str]:
    """One row per variable: its name and its value."""
    names = ", ".join(f"'{name}'" for name in (*VARIABLES, *besides))
    return [f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"]


_FILES = "performance_schema.file_summary_by_event_name WHERE event_name = 'wait/io/file/"
_COUNTED = "count_write, sum_number_of_bytes_write, count_misc, sum_timer_write DIV 1000, sum_timer_misc DIV 1000"
"""Timers tick in picoseconds. ``misc`` is whatever neither reads nor writes: of a file that stays open, its syncs
(https://dev.mysql.com/doc/refman/8.4/en/performance-schema-file-summary-tables.html)."""
_EVENTS = {
    "redo log": "innodb/innodb_log_file",
    "binary log": "sql/binlog",
    "doublewrite": "innodb/innodb_dblwr_file",
    "data": "innodb/innodb_data_file",
}
_STATUS = "(SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'innodb_{}')"
_SYSTEM = "(SELECT SUM({}) FROM performance_schema.file_summary_by_instance WHERE file_name LIKE '%/ibdata1')"


def waits(kind: str, version: str) -> list[str]:
    """A row for each kind of file: writes, their bytes, syncs, ns in writes, ns in syncs, all since the start."""
    events = {name: f"SELECT '{name}', {_COUNTED} FROM {_FILES}{event}'" for name, event in _EVENTS.items()}
    if kind == "mysql":
        return list(events.values())
    # MariaDB calls the kernel for its redo log past the performance schema, and writes pages twice into ibdata1
    syncs = f"{_STATUS.format('data_fsyncs')} - (SELECT count_misc FROM {_FILES}innodb/innodb_data_file')"
    redo = f"{_STATUS.format('log_writes')}, {_STATUS.format('os_log_written')}, {syncs}, NULL, NULL"
    columns = _COUNTED.split(", ")
    twice = ", ".join(map(_SYSTEM.format, columns))
    once = ", ".join(f"{column} - {_SYSTEM.format(column)}" for column in columns)
    data = f"{_FILES}innodb/innodb_data_file'"
    return [
        f"SELECT 'redo log', {redo}",
        events["binary log"],
        f"SELECT 'doublewrite', {twice}",
        f"SELECT 'data', {once} FROM {data}",
    ]


def log_directories(variables: Mapping[str, str]) -> list[str]:
    """Where the redo log and the binary log are, seen from the data."""
    binary = Path(variables.get("log_bin_basename", ""))
    return [variables.get("innodb_log_group_home_dir", ""), str(binary.parent)]
