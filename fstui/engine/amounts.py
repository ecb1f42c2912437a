"""How much a step writes at the most, and how much of it is there at one time: probe by probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from fstui.model import DirtyFlush, PlannedStep, PowerCut, SqliteCommits, SyncWrites, Sysbench, SysbenchFileio

_SQLITE_LOG_BYTES = 16 << 20
_FILEIO_BYTES_PER_S = 256 << 20
_DIRTY_FLUSH_TIMES = 10
"""Three rounds through amounts of 1 + 4 + 16 + 32 MiB in two patterns are ten times its file of 32 MiB."""


_SERVER_BYTES = 256 << 20
"""An empty MariaDB takes 170 MiB, MySQL 9 takes 220, PostgreSQL 40: system tables, redo logs, temporary tablespaces."""
_SYSBENCH_ROW_BYTES = 240
_LOGS_BYTES_PER_S = 32 << 20
"""Binary log or WAL at the rate of a server that does not wait for its disk: 30 000 small transactions a second."""


class Amounts(NamedTuple):
    """Bytes."""

    written: int
    held: int


def amounts(step: PlannedStep) -> Amounts:
    """What that step takes at the most; nothing where it is skipped."""
    counted = PROBES.get(step.probe)
    return counted(step.settings) if counted and not step.skip else Amounts(0, 0)


def _sync_writes(settings: dict[str, Any]) -> Amounts:
    asked = msgspec.convert(settings, SyncWrites)
    pace = asked.ops_per_s * asked.block_bytes if asked.ops_per_s else asked.max_bytes_per_s
    measured = int(asked.seconds * min(pace, asked.max_bytes_per_s))
    if asked.offsets == "append":
        return Amounts(measured, measured)
    prefill = asked.file_bytes if asked.prefill == "written" else 0
    return Amounts(measured + prefill, asked.file_bytes)


def _dirty_flush(settings: dict[str, Any]) -> Amounts:
    asked = msgspec.convert(settings, DirtyFlush)
    return Amounts(asked.file_bytes * (1 + _DIRTY_FLUSH_TIMES), asked.file_bytes)


def _sqlite_commits(settings: dict[str, Any]) -> Amounts:
    asked = msgspec.convert(settings, SqliteCommits)
    table = asked.rows * asked.row_bytes
    return Amounts(int(asked.seconds * asked.max_bytes_per_s) + table, 2 * table + _SQLITE_LOG_BYTES)


def _sysbench(settings: dict[str, Any]) -> Amounts:
    """An estimate: what a server writes is up to the server."""
    asked = msgspec.convert(settings, Sysbench)
    data = _SERVER_BYTES + 2 * asked.tables * asked.rows * _SYSBENCH_ROW_BYTES
    logs = int(asked.seconds * _LOGS_BYTES_PER_S)
    return Amounts(data + 3 * logs, data + logs)


def _sysbench_fileio(settings: dict[str, Any]) -> Amounts:
    """An estimate: sysbench takes time as its bound, and no bytes."""
    asked = msgspec.convert(settings, SysbenchFileio)
    return Amounts(asked.file_bytes + int(asked.seconds * _FILEIO_BYTES_PER_S), asked.file_bytes)


def _powercut(settings: dict[str, Any]) -> Amounts:
    asked = msgspec.convert(settings, PowerCut)
    held = asked.writers * asked.file_bytes * (3 if asked.writes == "append" else 1)
    return Amounts(held + int(asked.seconds * asked.ops_per_s * asked.block_bytes * asked.writers), held)


PROBES: dict[str, Callable[[dict[str, Any]], Amounts]] = {
    "sync_writes": _sync_writes,
    "dirty_flush": _dirty_flush,
    "sqlite_commits": _sqlite_commits,
    "powercut": _powercut,
    "sysbench": _sysbench,
    "sysbench_fileio": _sysbench_fileio,
}
"""A new probe adds its line here."""
