"""What a step's own keys must be, probe by probe: an unknown key, a wrong type, what cannot be run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from fstui.model import Base, DirtyFlush, PowerCut, Refused, SqliteCommits, SyncWrites, Sysbench, SysbenchFileio
from fstui.quantities import plain

MOST_SECONDS = 31 * 86400
MOST_OPS_PER_S = 1_000_000
MOST_BYTES = 1 << 50
MOST_THREADS = 1024
_ROW_BYTES = 200
_OPTION = re.compile(r"[a-z][a-z0-9_]*")

_Table = TypeVar("_Table", bound=Base)


def where_in(error: Exception) -> str:
    """msgspec says ``… - at `$.server.kind```; people read ``server.kind: …``."""
    what, _, place = plain(str(error)).partition(" - at `$.")
    return f"{place.rstrip('`')}: {what}" if place else what


def _allowed(table: type[Base], error: Exception) -> str:
    """The words that a key takes, where another one was given."""
    key = str(error).partition(" - at `$.")[2].rstrip("`").partition("[")[0]
    kinds = [get_type_hints(table).get(key)]
    while kinds and (inner := [kind for kind in get_args(kinds[0]) if get_origin(kind) is Literal]):
        kinds = inner  # a list of words
    words = [word for word in get_args(kinds[0]) if isinstance(word, str)]
    return f". It takes {', '.join(words)}" if words else ""


def _checked(table: type[_Table], mistakes: Callable[[_Table], Iterator[str]]) -> Callable[[str, dict[str, Any]], Any]:
    """Check a step's own keys against what its probe takes: an unknown key, a wrong type, what cannot be run."""

    def check(name: str, filled: dict[str, Any]) -> dict[str, Any]:
        try:
            settings = msgspec.convert(filled, table)
        except msgspec.ValidationError as error:
            raise Refused(f"step {name!r}: {where_in(error)}{_allowed(table, error)}") from None
        for mistake in mistakes(settings):
            raise Refused(f"step {name!r}: {mistake}")
        return msgspec.structs.asdict(settings)

    return check


class SyncWritesTable(SyncWrites, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file: an unknown key is a mistake."""


class DirtyFlushTable(DirtyFlush, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


class SqliteCommitsTable(SqliteCommits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


class SysbenchTable(Sysbench, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


class PowerCutTable(PowerCut, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


def _mistakes_of_sync_writes(settings: SyncWrites) -> Iterator[str]:
    """What cannot be run like this, each in a sentence."""
    if settings.block_bytes < 1 or settings.writers < 1 or settings.sync_every < 1 or settings.max_bytes_per_s < 1:
        yield "block_bytes, writers, sync_every and max_bytes_per_s must be at least 1"
    if settings.writers > 64:
        yield f"writers must be at most 64, not {settings.writers}"
    if settings.file_bytes < settings.block_bytes:
        yield f"file_bytes ({settings.file_bytes}) is smaller than block_bytes ({settings.block_bytes})"
    if settings.block_bytes > 8 << 20:
        yield f"block_bytes must be at most 8 MiB, not {settings.block_bytes}"
    if "direct" in settings.open_flags and settings.block_bytes % 512:
        yield f"O_DIRECT wants blocks of a multiple of 512 bytes, not {settings.block_bytes}"
    if settings.offsets == "append" and settings.writers > 1:
        yield "an append takes one writer"
    if not 0 <= settings.seconds <= MOST_SECONDS:
        yield f"seconds must be between 0 and {MOST_SECONDS}, not {settings.seconds}"
    if not 0 <= settings.ops_per_s <= MOST_OPS_PER_S:
        yield f"ops_per_s must be between 0 and {MOST_OPS_PER_S}, not {settings.ops_per_s}"
    if max(settings.file_bytes, settings.max_bytes_per_s) > MOST_BYTES:
        yield f"file_bytes and max_bytes_per_s must be at most {MOST_BYTES}"
    if not settings.seconds and not settings.ops_per_s:
        yield "without an end (seconds = 0) it needs a pace (ops_per_s)"


def _mistakes_of_dirty_flush(settings: DirtyFlush) -> Iterator[str]:
    if not 0 < settings.seconds <= MOST_SECONDS:
        yield f"seconds must be more than 0 and at most {MOST_SECONDS}, not {settings.seconds}"
    if not 1 << 20 <= settings.file_bytes <= 32 << 20:
        yield f"file_bytes must be between 1 MiB and 32 MiB, not {settings.file_bytes}"


def _mistakes_of_sqlite_commits(settings: SqliteCommits) -> Iterator[str]:
    if not 0 < settings.seconds <= MOST_SECONDS:
        yield f"seconds must be more than 0 and at most {MOST_SECONDS}, not {settings.seconds}"
    if settings.rows < 1 or settings.row_bytes < 1 or settings.rows * settings.row_bytes > MOST_BYTES:
        yield f"rows and row_bytes must be at least 1, together at most {MOST_BYTES} bytes"


def _mistakes_of_power_cut(settings: PowerCut) -> Iterator[str]:
    if not 0 <= settings.seconds <= MOST_SECONDS:
        yield f"seconds must be between 0 and {MOST_SECONDS}, not {settings.seconds}"
    if settings.block_bytes % 4096 or not 4096 <= settings.block_bytes <= 1 << 20:
        yield f"block_bytes must be a multiple of 4096, at most 1 MiB, not {settings.block_bytes}"
    if not 2 * settings.block_bytes <= settings.file_bytes <= 64 << 20:
        yield f"file_bytes must be between two blocks and 64 MiB, not {settings.file_bytes}"
    if not 1 <= settings.writers <= 16:
        yield f"writers must be between 1 and 16, not {settings.writers}"
    if not 0 <= settings.ops_per_s <= MOST_OPS_PER_S:
        yield f"ops_per_s must be between 0 and {MOST_OPS_PER_S}, not {settings.ops_per_s}"


class SysbenchFileioTable(SysbenchFileio, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


def _mistakes_of_fileio(settings: SysbenchFileio) -> Iterator[str]:
    if not 1 <= settings.seconds <= MOST_SECONDS:  # sysbench takes whole seconds
        yield f"seconds must be between 1 and {MOST_SECONDS}, not {settings.seconds}"
    if settings.block_bytes < 512 or settings.fsync_every < 1:
        yield "block_bytes must be at least 512, fsync_every at least 1"
    if not settings.block_bytes <= settings.file_bytes <= MOST_BYTES:
        yield f"file_bytes must be between block_bytes and {MOST_BYTES}, not {settings.file_bytes}"


def _mistakes_of_sysbench(settings: Sysbench) -> Iterator[str]:
    if not 1 <= settings.seconds <= MOST_SECONDS:  # its intervals are whole seconds
        yield f"seconds must be between 1 and {MOST_SECONDS}, not {settings.seconds}"
    if not 1 <= settings.threads <= MOST_THREADS:
        yield f"threads must be between 1 and {MOST_THREADS}, not {settings.threads}"
    if settings.tables < 1 or settings.rows < 1 or settings.tables * settings.rows * _ROW_BYTES > MOST_BYTES:
        yield f"tables and rows must be at least 1, together at most {MOST_BYTES // _ROW_BYTES} rows"
    if not 8 << 20 <= settings.pool_bytes <= MOST_BYTES:
        yield f"pool_bytes must be between 8 MiB and {MOST_BYTES}, not {settings.pool_bytes}"
    for name in settings.options:
        if not _OPTION.fullmatch(name):
            yield f"options: {name!r} is no name of a server's option"


PROBES = {
    "sync_writes": _checked(SyncWritesTable, _mistakes_of_sync_writes),
    "dirty_flush": _checked(DirtyFlushTable, _mistakes_of_dirty_flush),
    "sqlite_commits": _checked(SqliteCommitsTable, _mistakes_of_sqlite_commits),
    "sysbench_fileio": _checked(SysbenchFileioTable, _mistakes_of_fileio),
    "sysbench": _checked(SysbenchTable, _mistakes_of_sysbench),
    "powercut": _checked(PowerCutTable, _mistakes_of_power_cut),
}
"""What a step's own keys must be, probe by probe. A new probe adds its line here."""
