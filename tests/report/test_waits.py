"""Where the syncs of a transaction go."""

from __future__ import annotations

import csv as spreadsheet
from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.sysbench import FileWaits, SysbenchFigures
from fstui.model.run import Run
from fstui.report import pivot, waits
from fstui.report.formats import csv, markdown, plain
from tests.factories.samples import RUN
from tests.report.test_oltp import OLTP, STEPS, database

LOGS = (
    FileWaits(file="redo log", writes=240, bytes=240_000, syncs=234),
    FileWaits(file="binary log", writes=234, bytes=46_800, syncs=234, write_ns=9, sync_ns=234_000_000),
    FileWaits(file="doublewrite", writes=0, bytes=0, syncs=0),
)


def run_of(told: tuple[FileWaits, ...], **server: Any) -> Run:
    step = database("oltp_update_index", 117.0, 702, durable=True, **server)
    assert isinstance(step.figures, SysbenchFigures)
    return replace(RUN, steps=(STEPS[0], replace(step, figures=replace(step.figures, waits=told))))


def test_each_kind_of_file_that_was_written_has_its_row_above_what_the_kernel_counted() -> None:
    table = waits.table(run_of(LOGS))
    assert table and table.legend == ("#1 oltp_update_index high",)
    rows = {name: cells for name, *cells in table.rows}
    assert rows["#1 redo log"] == ["1.03", "1.0 K", "1.00", "–"]
    assert rows["#1 binary log"] == ["1.00", "200 B", "1.00", "1.0 ms"]
    assert rows["#1 all syncs"][2] == "2.00" and rows["#1 flushes below"][2] == "3.00"
    assert "#1 doublewrite" not in rows


def test_it_stands_in_every_report() -> None:
    run = run_of(LOGS)
    assert "#1 binary log" in plain.render(run)
    assert any("commits the filesystem's journal" in note for note in pivot.notes(run))
    assert "| #1 binary log | 1.00 |" in markdown.render(run).replace("\\#", "#")
    row = list(spreadsheet.DictReader(StringIO(csv.render(run))))[-1]
    assert (row["redo_log_syncs"], row["binary_log_writes"], row["wal_syncs"]) == ("234", "234", "")


def test_a_server_that_tells_nothing_has_no_table() -> None:
    assert waits.table(OLTP) is None and list(waits.notes(OLTP)) == []
    assert waits.table(run_of((FileWaits(file="data", writes=0, syncs=0),))) is None


@pytest.mark.parametrize(
    ("file", "server"),
    [
        ("WAL", {"kind": "postgresql", "variables": {"wal_sync_method": "open_datasync"}}),
        ("redo log", {"variables": {"innodb_flush_method": "O_DSYNC", "log_bin": "ON"}}),
    ],
)
def test_each_write_of_a_file_opened_with_odsync_is_a_sync(file: str, server: dict[str, Any]) -> None:
    run = run_of((FileWaits(file=file, writes=234, syncs=0, write_ns=234_000_000),), **server)
    table = waits.table(run)
    assert table
    assert table.rows[0] == (f"#1 {file}", "1.00", "–", "1.00", "1.0 ms")
    assert table.rows[1][3] == "1.00"
    assert any("O_DSYNC" in note for note in pivot.notes(run))
    row = list(spreadsheet.DictReader(StringIO(csv.render(run))))[-1]
    assert row[f"{file.lower().replace(' ', '_')}_syncs"] == "234"
