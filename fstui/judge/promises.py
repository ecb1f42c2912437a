"""What a database's commits promise, by its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fstui.model import Step

READ_ONLY = frozenset({"oltp_read_only", "oltp_point_select"})
_OF_MYSQL = ("sync_binlog", "innodb_flush_log_at_trx_commit")
_OFF = frozenset({"off", "0", "no", "false"})
DURABILITY = frozenset({"sync_binlog", "innodb_flush_log_at_trx_commit", "synchronous_commit", "fsync"})
"""Options of servers that decide whether a commit is durable, and nothing else."""
PROCESSOR_BOUND = 0.85
"""From this share of the processor time that its clients could use, a step was limited by it and not by the storage."""
BOX_BOUND, SHARED = 0.95, 0.3
"""The same, where all processors of the box were busy with whatever, and it had this share of what it could use."""


def is_database(probe: str) -> bool:
    """Whether the operations of that probe are transactions."""
    return probe in {"sqlite_commits", "sysbench"}


def promised(probe: str, settings: Mapping[str, Any], figures: Mapping[str, Any]) -> bool:
    """Whether every commit of such a step is durable when it returns, as its documentation says."""
    if probe == "sqlite_commits":  # https://sqlite.org/pragma.html#pragma_synchronous
        return settings.get("synchronous") in {"FULL", "EXTRA"}
    server = figures.get("server") or {}
    if not server or settings.get("workload") in READ_ONLY or not is_on_target(server):
        return False
    return not broken_promises(server)


def broken_promises(server: Mapping[str, Any]) -> list[str]:
    """The settings by which a server says that a commit may be lost: ``name = value``, as the server has them.

    https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit,
    https://www.postgresql.org/docs/current/wal-async-commit.html
    """
    have: Mapping[str, str] = server.get("variables") or {}
    if server.get("kind") == "postgresql":
        wanting = [name for name in ("fsync", "synchronous_commit") if have.get(name, "").lower() in _OFF]
    else:
        wanting = ["innodb_flush_log_at_trx_commit"] if have.get("innodb_flush_log_at_trx_commit", "1") != "1" else []
        logged = have.get("log_bin", "off").lower() not in _OFF
        wanting += ["sync_binlog"] if logged and have.get("sync_binlog", "1") != "1" else []
        wanting += ["innodb_flush_method"] if have.get("innodb_flush_method", "").lower() == "nosync" else []
    return [f"{name} = {have[name]}" for name in wanting]


def limited_by_processor(step: Step) -> bool:
    """Its clients and their server were nearly always running, or waiting for a processor; hardly ever for storage."""
    own, box = step.figures.get("cpu_share") or 0.0, step.figures.get("box_cpu_share") or 0.0
    return bool(own >= PROCESSOR_BOUND or (box >= BOX_BOUND and own >= SHARED))


def log_is_ours(server: Mapping[str, Any]) -> bool:
    """A MariaDB of our own, whose binary log we turned on: it is off by default, and sync_binlog then means nothing."""
    return server.get("kind") == "mariadb" and server.get("where") == "throwaway"


def is_on_target(server: Mapping[str, Any]) -> bool:
    """Whether its data is on the filesystem that is measured, so that the devices below count what it does."""
    return bool(server.get("on_target", True))


def stated(server: Mapping[str, Any]) -> list[str]:
    """The settings that decide whether its commits are durable: ``name = value``, as the server has them."""
    have: Mapping[str, str] = server.get("variables") or {}
    names = ("fsync", "synchronous_commit") if server.get("kind") == "postgresql" else _OF_MYSQL
    return [f"{name} = {have[name]}" for name in names if name in have]
