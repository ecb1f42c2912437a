"""A primary and its replica for one step, in the words of MariaDB and MySQL: how both are started, joined and asked.

They speak over 127.0.0.1 in a network namespace of their own, which nobody else can enter: replication knows no unix
socket (https://dev.mysql.com/doc/refman/8.4/en/replication-howto-slaveinit.html). GTID:
https://mariadb.com/kb/en/gtid/, https://dev.mysql.com/doc/refman/8.4/en/replication-gtids.html
"""

from __future__ import annotations

import pwd
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from fstui.databases import mysql, programs
from fstui.databases.programs import Program
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep

NEEDS_ROOT = "needs root: it mounts a filesystem of its own, whose power it cuts"
DATABASE = "fstui"
PORT = 3306
LEAST_MYSQL = (8, 0, 26)
"""From there on source and replica have these names."""
OPTIONS = {
    "high": ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"),
    "low": ("--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"),
}
SETTINGS = ("sync_binlog", "innodb_flush_log_at_trx_commit")
_FOR_GOOD_MS = 86_400_000
"""So long a semi-synchronous primary waits before it goes on alone."""
_BOTH = ("--skip-name-resolve", "--skip-slave-start", "--innodb-buffer-pool-size=64M")
_KINDS: dict[str, dict[str, Any]] = {
    "mariadb": {
        "both": ("--innodb-log-file-size=16M", "--log-slave-updates=ON"),
        "primary semi": ("--rpl-semi-sync-master-wait-point=AFTER_SYNC",
                         f"--rpl-semi-sync-master-timeout={_FOR_GOOD_MS}"),
        "wait": "SET GLOBAL rpl_semi_sync_master_enabled = ON",
        "replica semi": ("--rpl-semi-sync-slave-enabled=ON",),
        "follow": ("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='replica', "
                   "MASTER_USE_GTID=slave_pos", "START SLAVE"),
        "joined": "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_clients'",
        "still semi": "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_status'",
        "no more": "STOP SLAVE IO_THREAD",
        "applied": "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '%has read all relay log%'",
        "gtid primary": "SELECT @@gtid_binlog_pos",
        "gtid replica": "SELECT @@gtid_slave_pos",
    },
    "mysql": {
        "both": ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--replica-parallel-workers=1",
                 "--innodb-redo-log-capacity=32M", "--mysqlx=OFF"),
        "primary semi": ("--plugin-load-add=semisync_source.so",
                         f"--rpl-semi-sync-source-timeout={_FOR_GOOD_MS}"),
        "wait": "SET GLOBAL rpl_semi_sync_source_enabled = ON",
        "replica semi": ("--plugin-load-add=semisync_replica.so", "--rpl-semi-sync-replica-enabled=ON"),
        "follow": ("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='replica', "
                   "SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1", "START REPLICA"),
        "joined": "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'",
        "still semi": "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_status'",
        "no more": "STOP REPLICA IO_THREAD",
        "applied": "SELECT GTID_SUBSET(RECEIVED_TRANSACTION_SET, @@gtid_executed) "
                   "FROM performance_schema.replication_connection_status",
        "gtid primary": "SELECT @@gtid_executed",
        "gtid replica": "SELECT @@gtid_executed",
    },
}  # fmt: skip


def preparing_s(steps: Sequence[PlannedStep]) -> float:
    """About what it takes to start the servers, to let them recover and to compare them."""
    return sum(
        step.settings.pair.prepare_s for step in steps if isinstance(step.settings, ReplicaCut) and not step.skip
    )


async def told(settings: ReplicaCut) -> dict[str, Any]:
    """All that the probe must know to do it. Raises Refused where a program is missing or too old."""
    program = await programs.find_server(settings.server)
    if program is None:  # it was there when the run was planned
        raise Refused(programs.missing(settings.server))
    if settings.server == "mysql" and program.version < LEAST_MYSQL:
        raise Refused(f"{program.title} is too old: its replication has had these names since 8.0.26")
    kind = _KINDS[settings.server]
    semi = settings.replication == "semi-synchronous"
    return {
        "sysbench": await programs.find_sysbench(),
        "scripts": {name: files(__package__).joinpath(name).read_text() for name in ("sql.lua", "acknowledged.lua")},
        "user": _user(),
        "title": program.title,
        "image_bytes": settings.pair.image_bytes,
        "prepare": mysql.preparation(program, "{data}"),
        "argv": {
            "primary": _words(program, settings, "primary", kind["primary semi"] if semi else ()),
            "replica": _words(program, settings, "replica", kind["replica semi"] if semi else ()),
            "primary again": _words(program, settings, "primary", ()),
            "replica again": _words(program, settings, "replica", ()),
        },
        "database": DATABASE,
        "make": [*_to_make(settings.server), *([kind["wait"]] if semi else [])],
        "follow": [statement.format(port=PORT) for statement in kind["follow"]],
        "joined": kind["joined"] if semi else "",
        "still_semi": kind["still semi"] if semi else "",
        "no_more": kind["no more"],
        "applied": kind["applied"],
        "gtid": {"primary": kind["gtid primary"], "replica": kind["gtid replica"]},
        "settings": SETTINGS,
        "asked": {
            role: [word.rpartition("=")[2] for word in OPTIONS[durability]]
            for role, durability in (("primary", settings.durability), ("replica", settings.of_replica))
        },
    }


def _words(program: Program, settings: ReplicaCut, role: str, semi: Sequence[str]) -> list[str]:
    """A server's command line; ``{data}`` is its data directory."""
    number, durability = {"primary": (1, settings.durability), "replica": (2, settings.of_replica)}[role]
    own = [f"--server-id={number}", "--log-bin=binlog", "--relay-log=relay", "--socket={data}/" + mysql.SOCKET]
    reached = ["--bind-address=127.0.0.1", f"--port={PORT + number - 1}"]
    return [*mysql.base(program, "{data}"), *own, *reached, *_BOTH, *_KINDS[settings.server]["both"],
            *OPTIONS[durability], *semi]  # fmt: skip


def _to_make(server: str) -> list[str]:
    """The database, its table, and the account that the replica comes with: nobody else can come to that port."""
    method = "" if server == "mariadb" else "WITH caching_sha2_password "
    return [
        f"CREATE USER 'replica'@'127.0.0.1' IDENTIFIED {method}BY ''",
        "GRANT REPLICATION SLAVE ON *.* TO 'replica'@'127.0.0.1'",
        f"CREATE DATABASE {DATABASE}",
        f"CREATE TABLE {DATABASE}.commits (client INT, number INT, PRIMARY KEY (client, number)) ENGINE=InnoDB",
    ]


def _user() -> str:
    """Whom the servers run as: no server runs as root."""
    for name in mysql.USERS:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise Refused(f"a server does not run as root, and there is no user {' or '.join(mysql.USERS)} here")
