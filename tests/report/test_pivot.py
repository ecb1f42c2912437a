"""Configurations down, workloads across."""

from __future__ import annotations

from msgspec.structs import replace
from rich.cells import cell_len

from fstui.measure.kinds.sysbench import Sysbench, SysbenchFigures
from fstui.model.steps import Step
from fstui.report import compare, pivot
from fstui.report.formats import markdown, plain
from tests.factories import storage
from tests.factories.samples import LATENCY, RUN
from tests.printing import printed
from tests.report.test_oltp import OLTP, STEPS, database


def told(step: Step) -> Step:
    assert isinstance(step.figures, SysbenchFigures)
    return replace(step, latency_ns=LATENCY, figures=replace(step.figures, ignored_errors=3))


def test_what_all_share_is_the_title_and_what_tells_them_apart_the_legend() -> None:
    table = pivot.tables(OLTP)[0]
    assert table.title == (
        "Workloads by configuration · "
        "MariaDB 10.11.19 · ext4 › sda1 › sda · innodb_flush_method O_DIRECT · 1 table of 10 000 rows · pool 64 M"
        " · 1 client"
    )
    assert table.legend == (
        "#1 sync_binlog 1 · innodb_flush_log_at_trx_commit 1",
        "#2 sync_binlog 0 · innodb_flush_log_at_trx_commit 2",
    )
    assert table.header == ("", "read_write", "update_index")


def test_every_figure_of_the_reports_has_its_row() -> None:
    run = replace(RUN, steps=tuple(map(told, STEPS[1:])))
    rows = {row[0]: row[1:] for row in pivot.tables(run)[0].rows}
    assert rows["#1 tps"] == ("15.49", "116.81") and rows["#2 tps"] == ("154.90", "11681.00")
    assert rows["#1 avg ms"] == ("68.49", "68.49") and rows["#1 p95 ms"] == ("150.29", "150.29")
    assert rows["#1 p99"] == ("5.9 ms", "5.9 ms") and rows["#1 errors"] == ("3", "3")
    assert rows["#1 flushes/trx"] == ("2.90", "2.99")


def test_what_is_in_force_stands_there_and_not_what_was_asked() -> None:
    step = database("oltp_insert", 9.0, 5, durable=True, variables={"sync_binlog": "0", "innodb_flush_method": "fsync"})
    run = replace(RUN, steps=(step, STEPS[1]))
    assert "#1 innodb_flush_method fsync · sync_binlog 0" in pivot.tables(run)[0].legend[0]


def test_a_workload_that_one_configuration_lacks_leaves_its_place_empty() -> None:
    run = replace(RUN, steps=(STEPS[1], STEPS[4]))
    rows = {row[0]: row[1:] for row in pivot.tables(run)[0].rows}
    assert rows["#1 tps"] == ("15.49", "–") and rows["#2 tps"] == ("–", "11681.00")


def test_it_fits_80_columns_however_many_workloads_there_are() -> None:
    names = ("read_write", "update_index", "read_only", "insert", "write_only", "update_non_index", "point_select")
    steps = tuple(database(f"oltp_{name}", 99999.5, 5, durable=durable) for name in names for durable in (True, False))
    table = pivot.tables(replace(RUN, steps=steps))[0]
    text = list(pivot.lines(table, 80))
    assert max(map(cell_len, text)) <= 80
    assert all(any(name in line for line in text) for name in names)
    assert sum(line.startswith("#1 tps") for line in text) == 2


def test_runs_on_different_filesystems_stand_in_one_table_with_their_properties() -> None:
    dataset = storage.filesystem("zfs", below=("sda",), recordsize="16K", logbias="latency")
    zfs = replace(RUN, id="x7b2c9", steps=STEPS[1:3], target=storage.target(dataset, storage.disk()))
    ext4 = replace(RUN, steps=STEPS[1:3])
    table = pivot.of_runs([ext4, zfs])
    assert table and table.legend == (
        "#1 run k3f9a1 · ext4 › sda1 › sda",
        "#2 run x7b2c9 · zfs › sda · logbias=latency · recordsize=16K",
    )
    assert "#2 tps" in printed(compare.of_runs([ext4, zfs], 80), width=80)


def test_every_report_shows_it() -> None:
    assert "- \\#2 sync\\_binlog 0" in markdown.render(OLTP)
    assert "| \\#2 tps | 154.90 | 11681.00 |" in markdown.render(OLTP)
    assert "#2 sync_binlog 0 · innodb_flush_log_at_trx_commit 2" in plain.render(OLTP)


def test_one_configuration_has_its_own_table_already() -> None:
    assert [table.legend for table in pivot.tables(replace(RUN, steps=STEPS[1:3]))] == [()]
    assert pivot.of_runs([RUN]) is None


def test_a_sweep_over_the_clients_has_its_curve() -> None:
    def at(threads: int, tps: float) -> Step:
        step = database("oltp_insert", tps, 5, durable=True)
        assert isinstance(step.settings, Sysbench)
        return replace(step, settings=replace(step.settings, threads=threads))

    steps = (at(1, 100.0), at(4, 350.0), at(16, 700.0), at(64, 20.0))
    _, swept, *_ = pivot.tables(replace(RUN, steps=steps))
    assert swept.title.startswith("tps by clients · MariaDB 10.11.19 · ")
    assert swept.header == ("", "1", "4", "16", "64", "curve")
    assert swept.rows == (("#1 insert", "100.00", "350.00", "700.00", "20.00", "▂▅█▁"),)
    assert "▂▅█▁" in plain.render(replace(RUN, steps=steps))
    assert pivot.by_clients(OLTP) is None
