"""The kinds of steps."""

from pathlib import Path

import pytest

from fstui.measure import kinds as measures
from fstui.measure import probes
from fstui.measure.kinds.dirty_flush import DirtyFlush
from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Sysbench, SysbenchFigures
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio, SysbenchFileioFigures
from fstui.model.settings import Amounts, Figures, Settings, UnknownSettings

MIB = 1 << 20
DURABLE = {"log_bin": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"}


def test_kind_of_step_is_two_modules_of_one_name() -> None:
    programs = {path.stem for path in Path(str(probes.__path__[0])).glob("*.py")}
    kinds = measures.settings_kinds()
    assert {name for name, kind in kinds.items() if kind.in_scenarios} <= programs
    assert set(measures.figures_kinds()) <= set(kinds)
    assert all(kind.__module__ == f"fstui.measure.kinds.{name}" for name, kind in kinds.items())


@pytest.mark.parametrize(
    ("asked", "amounts"),
    [
        (SyncWrites(seconds=2, file_bytes=MIB, max_bytes_per_s=MIB), Amounts(3 * MIB, MIB)),
        (SyncWrites(seconds=2, file_bytes=MIB, max_bytes_per_s=MIB, prefill="none"), Amounts(2 * MIB, MIB)),
        (SyncWrites(seconds=2, file_bytes=MIB, enough_ops=256), Amounts(2 * MIB, MIB)),
        (SyncWrites(seconds=2, file_bytes=MIB, max_bytes_per_s=MIB, offsets="append"), Amounts(2 * MIB, 2 * MIB)),
        (SyncWrites(seconds=2, file_bytes=MIB, ops_per_s=10), Amounts(2 * 10 * 4096 + MIB, MIB)),
        (DirtyFlush(file_bytes=MIB), Amounts(11 * MIB, MIB)),
        (SqliteCommits(seconds=1, rows=1000, row_bytes=1000, max_bytes_per_s=MIB),
         Amounts(MIB + 1_000_000, 2_000_000 + 16 * MIB)),
        (SysbenchFileio(seconds=1, file_bytes=MIB), Amounts(257 * MIB, MIB)),
        (Sysbench(seconds=1, server="mysql", rows=1000),
         Amounts(256 * MIB + 480_000 + 96 * MIB, 256 * MIB + 360_000 + 32 * MIB)),
        (UnknownSettings(), Amounts(0, 0)),
    ],
)  # fmt: skip
def test_amounts_written_and_held(asked: Settings, amounts: Amounts) -> None:
    assert asked.amounts() == amounts


@pytest.mark.parametrize(
    ("asked", "figures", "syncs"),
    [
        (SyncWrites(), Figures(), 7),
        (SyncWrites(sync="none"), Figures(), 7),
        (SyncWrites(sync="none", open_flags=("direct", "dsync")), Figures(), 9),
        (DirtyFlush(), Figures(), 7),
        (SqliteCommits(synchronous="FULL"), Figures(), 9),
        (SqliteCommits(synchronous="NORMAL", journal_mode="WAL"), Figures(), 0),
        (Sysbench(server="mariadb"), SysbenchFigures(server=Server(kind="mariadb", variables=DURABLE)), 9),
        (Sysbench(server="mariadb"), SysbenchFigures(server=Server(variables=DURABLE | {"sync_binlog": "0"})), 0),
        (Sysbench(server="mariadb"), SysbenchFigures(server=Server(variables=DURABLE, on_target=False)), 0),
        (Sysbench(server="mariadb", workload="oltp_read_only"), SysbenchFigures(server=Server(variables=DURABLE)), 0),
        (Sysbench(server="mariadb"), Figures(), 0),
        (UnknownSettings(), Figures(), 7),
    ],
)
def test_number_of_durable_operations(asked: Settings, figures: Figures, syncs: int) -> None:
    assert asked.syncs(9, 7, figures) == syncs


@pytest.mark.parametrize(
    ("variables", "lossy"),
    [
        (DURABLE, ()),
        ({}, ()),
        (DURABLE | {"innodb_flush_log_at_trx_commit": "2"}, ("innodb_flush_log_at_trx_commit = 2",)),
        (DURABLE | {"log_bin": "OFF", "sync_binlog": "0"}, ()),
        (DURABLE | {"innodb_flush_method": "nosync"}, ("innodb_flush_method = nosync",)),
    ],
)
def test_lossy_settings_of_the_mysql_family_are_named(variables: dict[str, str], lossy: tuple[str, ...]) -> None:
    assert Server(kind="mariadb", variables=variables).lossy == lossy


def test_lossy_settings_of_postgresql_are_named() -> None:
    server = Server(kind="postgresql", variables={"fsync": "on", "synchronous_commit": "off"})
    assert server.lossy == ("synchronous_commit = off",)
    assert server.durability == ("fsync = on", "synchronous_commit = off")


@pytest.mark.parametrize(
    ("variables", "flags"),
    [
        ({}, ()),
        ({"wal_sync_method": "open_datasync"}, ("dsync",)),
        ({"log_bin": "ON", "innodb_flush_method": "O_DSYNC"}, ()),
        ({"log_bin": "OFF", "innodb_flush_method": "O_DSYNC"}, ("dsync",)),
        ({"innodb_flush_method": "O_DSYNC", "innodb_log_file_buffering": "OFF"}, ("direct", "dsync")),
    ],
)
def test_open_flags_of_the_log(variables: dict[str, str], flags: tuple[str, ...]) -> None:
    assert Server(variables=variables).log_flags == flags


def test_program_without_samples_counts_its_own_operations() -> None:
    figures = SysbenchFileioFigures(transactions=10, written_bytes=40960)
    assert figures.ops == 10
    assert SysbenchFileio().written_bytes(0, figures) == 40960
    assert SyncWrites(block_bytes=512).written_bytes(10, Figures()) == 5120


@pytest.mark.parametrize(("asked", "refused"), [
    (Sysbench(server="mariadb", schemas=2, host="db7"), True),
    (Sysbench(server="mysql", schemas=2, socket="/run/mysqld.sock"), True),
    (Sysbench(server="postgresql", schemas=2, host="db7"), False),
    (Sysbench(server="mariadb", schemas=2), False),
    (Sysbench(server="mariadb", host="db7"), False),
])  # fmt: skip
def test_existing_mysql_has_one_schema(asked: Sysbench, refused: bool) -> None:
    """fstui would not drop further databases that sysbench makes."""
    assert any("schema is a database" in mistake for mistake in asked.mistakes()) is refused
