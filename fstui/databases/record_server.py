"""The settings that ``fstui.powercut.server`` needs for a server whose rows are the records of a power-cut test."""

from importlib.resources import files
from typing import Any

import msgspec

from fstui.databases import programs
from fstui.databases.sql import FAMILIES
from fstui.databases.throwaway import CWD, server_user
from fstui.measure.kinds.servers import KINDS
from fstui.measure.kinds.sysbench import Sysbench

_POOL_BYTES = 32 << 20
_OPTIONS: dict[str, dict[str, bool | int | float | str]] = {
    "mysql": {
        "innodb_flush_log_at_trx_commit": 1,
        "sync_binlog": 1,
        "innodb_doublewrite": True,
        "loose_innodb_redo_log_capacity": 32 << 20,
        "loose_innodb_log_file_size": 16 << 20,
    },
    "pgsql": {
        "fsync": True,
        "synchronous_commit": "on",
        "full_page_writes": True,
        "min_wal_size": "32MB",
        "max_wal_size": "64MB",
        "autovacuum_naptime": 1,
    },
}
"""Options by driver: every commit is durable, and the logs are small."""
_BLOCK_TYPES = {"mysql": "LONGTEXT", "pgsql": "TEXT"}


async def server_settings(name: str) -> dict[str, Any]:
    """Return the settings for a server of this kind. Raises Refused if the server, its user or sysbench is missing."""
    kind = KINDS[name]
    family = FAMILIES[kind.driver]
    program, sysbench = await programs.server_and_sysbench(name)
    settings = msgspec.convert({"server": name, "pool_bytes": _POOL_BYTES, "options": _OPTIONS[kind.driver]}, Sysbench)
    connection = family.connection(f"{CWD}/{{home}}/{family.socket}")
    use_database = [f"USE {connection.database}"] if family.create_statements else []
    options = family.sysbench_options(msgspec.structs.replace(connection, database=family.maintenance_database))
    table = f"CREATE TABLE records (place BIGINT PRIMARY KEY, block {_BLOCK_TYPES[kind.driver]})"
    return {
        "user": server_user(family.users),
        "prepare": family.preparation(program, "{data}"),
        "argv": family.command_line(program, "{data}", f"{{data}}/{family.socket}", settings),
        "socket": family.socket,
        "ready": family.ready,
        "signal": family.restart_signal,
        "client": [sysbench, "{script}", *options, "session"],
        "script": files(__package__).joinpath("sql.lua").read_text(),
        "create": [*family.create_statements, *use_database, table],
        "begin": use_database,
    }
