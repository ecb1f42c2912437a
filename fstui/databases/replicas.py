"""Settings that a probe needs to start, connect and query a MariaDB or MySQL primary and its replica.

The servers use 127.0.0.1 in a network namespace of their own, because replication supports no unix socket
(https://dev.mysql.com/doc/refman/8.4/en/replication-howto-slaveinit.html). GTID: https://mariadb.com/kb/en/gtid/,
https://dev.mysql.com/doc/refman/8.4/en/replication-gtids.html
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from fstui.databases import programs
from fstui.databases.mysql import MySQL, common_argv
from fstui.databases.programs import ServerProgram
from fstui.databases.throwaway import server_user
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.model.errors import Refused

DATABASE = "fstui"
PORT = 3306
_VARIABLES = {
    "high": {"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"},
    "low": {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"},
}
"""The variables of a server with high and with low durability."""
_TIMEOUT_MS = 86_400_000
"""After this time without its replica, a semi-synchronous primary continues alone. No step takes this long."""
_COMMON_OPTIONS = ("--skip-name-resolve", "--skip-slave-start", "--innodb-buffer-pool-size=64M")


class Replication(NamedTuple):
    """The options, statements and queries that one kind of server needs for replication."""

    primary_word: str
    replica_word: str
    """The server's words for primary and replica, in variables and statements."""
    common_options: tuple[str, ...]
    primary_semi_sync: tuple[str, ...]
    replica_semi_sync: tuple[str, ...]
    """The options of each server for semi-synchronous replication."""
    set_source: str
    """The statement that tells the replica where the primary is."""
    applied_query: str
    """The query whose result is 1 once the replica has applied all that it received."""
    primary_gtid_query: str
    replica_gtid_query: str
    authentication_clause: str = ""
    min_version: tuple[int, ...] = ()

    def semi_sync_variable(self, name: str) -> str:
        return f"rpl_semi_sync_{self.primary_word}_{name}"


_KINDS = {
    "mariadb": Replication(
        primary_word="master",
        replica_word="slave",
        common_options=("--innodb-log-file-size=16M", "--log-slave-updates=ON"),
        primary_semi_sync=(
            "--rpl-semi-sync-master-wait-point=AFTER_SYNC", f"--rpl-semi-sync-master-timeout={_TIMEOUT_MS}",
        ),
        replica_semi_sync=("--rpl-semi-sync-slave-enabled=ON",),
        set_source=f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={PORT}, MASTER_USER='replica', "
        "MASTER_USE_GTID=slave_pos",
        applied_query="SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '%has read all relay log%'",
        primary_gtid_query="SELECT @@gtid_binlog_pos",
        replica_gtid_query="SELECT @@gtid_slave_pos",
    ),
    "mysql": Replication(
        primary_word="source",
        replica_word="replica",
        common_options=(
            "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--replica-parallel-workers=1",
            "--innodb-redo-log-capacity=32M", "--mysqlx=OFF",
        ),
        primary_semi_sync=("--plugin-load-add=semisync_source.so", f"--rpl-semi-sync-source-timeout={_TIMEOUT_MS}"),
        replica_semi_sync=("--plugin-load-add=semisync_replica.so", "--rpl-semi-sync-replica-enabled=ON"),
        set_source=f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={PORT}, SOURCE_USER='replica', "
        "SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1",
        applied_query="SELECT GTID_SUBSET(RECEIVED_TRANSACTION_SET, @@gtid_executed) "
        "FROM performance_schema.replication_connection_status",
        primary_gtid_query="SELECT @@gtid_executed",
        replica_gtid_query="SELECT @@gtid_executed",
        authentication_clause="WITH caching_sha2_password ",
        min_version=(8, 0, 26),
    ),
}  # fmt: skip


async def probe_settings(settings: ReplicaCut) -> dict[str, Any]:
    """Return the settings that ``measure.probes.replica_cut`` needs in addition to the step's. Raises Refused."""
    program, sysbench = await programs.server_and_sysbench(settings.server)
    kind = _KINDS[settings.server]
    if program.version < kind.min_version:
        min_version = ".".join(map(str, kind.min_version))
        raise Refused(f"{program.title} is too old: replica-cut needs {min_version} or newer")
    is_semi_sync = settings.replication == "semi-synchronous"
    of_replica = _VARIABLES[settings.effective_replica_durability] | {"sync_relay_log": str(settings.sync_relay_log)}
    expected = {"primary": _VARIABLES[settings.durability], "replica": of_replica}
    semi_sync_options = {"primary": kind.primary_semi_sync, "replica": kind.replica_semi_sync}
    argv = {role: _argv(program, kind, role, values) for role, values in expected.items()}
    return {
        "sysbench": sysbench,
        "scripts": {name: files(__package__).joinpath(name).read_text() for name in ("sql.lua", "acknowledged.lua")},
        "user": server_user(MySQL.users),
        "title": program.title,
        "image_bytes": settings.pair.image_bytes,
        "prepare": MySQL().preparation(program, "{data}"),
        "argv": {
            **{role: [*words, *(semi_sync_options[role] if is_semi_sync else ())] for role, words in argv.items()},
            **{f"restart_{role}": words for role, words in argv.items()},
        },
        "database": DATABASE,
        "set_up_primary": [
            # no password, because only the two servers can connect
            f"CREATE USER 'replica'@'127.0.0.1' IDENTIFIED {kind.authentication_clause}BY ''",
            "GRANT REPLICATION SLAVE ON *.* TO 'replica'@'127.0.0.1'",
            f"CREATE DATABASE {DATABASE}",
            f"CREATE TABLE {DATABASE}.commits (client INT, number INT, PRIMARY KEY (client, number)) ENGINE=InnoDB",
            *([f"SET GLOBAL {kind.semi_sync_variable('enabled')} = ON"] if is_semi_sync else []),
        ],
        "start_replication": [kind.set_source, f"START {kind.replica_word}"],
        "replica_count": f"SHOW GLOBAL STATUS LIKE '{kind.semi_sync_variable('clients')}'" if is_semi_sync else "",
        "semi_status": f"SHOW GLOBAL STATUS LIKE '{kind.semi_sync_variable('status')}'" if is_semi_sync else "",
        "stop_receiving": f"STOP {kind.replica_word} IO_THREAD",
        "has_applied_all": kind.applied_query,
        "gtid": {"primary": kind.primary_gtid_query, "replica": kind.replica_gtid_query},
        "expected": expected,
    }


def _argv(program: ServerProgram, kind: Replication, role: str, values: Mapping[str, str]) -> list[str]:
    number = 1 if role == "primary" else 2
    identity = [f"--server-id={number}", "--log-bin=binlog", "--relay-log=relay", f"--socket={{data}}/{MySQL.socket}"]
    address = ["--bind-address=127.0.0.1", f"--port={PORT + number - 1}"]
    durability = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    return [*common_argv(program, "{data}"), *identity, *address, *_COMMON_OPTIONS, *kind.common_options, *durability]
