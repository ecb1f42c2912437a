"""What a database got in each second."""

from __future__ import annotations

import csv as spreadsheet
from io import StringIO

from msgspec.structs import replace

from fstui.measure.kinds.sysbench import Interval, SysbenchFigures
from fstui.model.run import Run
from fstui.report import by_second
from fstui.report.formats import markdown, seconds
from tests.factories.samples import RUN
from tests.report.test_oltp import database


def run_of(length_s: int) -> Run:
    step = database("oltp_insert", 100.0, 0, durable=True)
    told = tuple(
        Interval(t_s=at, tps=100.0 + at, qps=200.0, p95_ms=float(at), errors_per_s=at % 2)
        for at in range(1, length_s + 1)
    )
    assert isinstance(step.figures, SysbenchFigures)
    return replace(RUN, steps=(*RUN.steps, replace(step, figures=replace(step.figures, intervals=told))))


def test_every_second_has_its_row() -> None:
    (table,) = by_second.tables(run_of(3))
    assert table.title == "By the second · oltp_insert high"
    assert table.rows[1] == ("2", "102.00", "200.00", "2.00", "0.00") and len(table.rows) == 3
    rows = list(spreadsheet.DictReader(StringIO(seconds.render(run_of(3)))))
    assert [row["tps"] for row in rows] == ["101.0", "102.0", "103.0"]
    assert rows[2]["name"] == "oltp_insert high" and rows[2]["errors_per_s"] == "1"


def test_a_ticket_gets_the_long_ones_in_stretches() -> None:
    (table,) = by_second.tables(run_of(1800), most_rows=60)
    assert table.title == "By the 30 seconds · oltp_insert high" and len(table.rows) == 60
    assert table.rows[0] == ("30", "115.50", "200.00", "30.00", "0.50")
    assert "By the 30 seconds" in markdown.render(run_of(1800))


def test_a_run_without_databases_has_none() -> None:
    assert seconds.render(RUN).count("\n") == 1 and not list(by_second.tables(RUN))
