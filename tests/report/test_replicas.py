"""The table of what is where after a primary's end."""

from __future__ import annotations

import csv as spreadsheet
from io import StringIO

from fstui.measure.kinds.replica_cut import ReplicaCut, ReplicaCutFigures
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.formats import csv, markdown, plain

SERVER = "87cf44fc-e68a-11f1-9dd6-80fe7964887e"
ENDED = Step(
    name="power cut",
    settings=ReplicaCut(server="mysql", replication="semi-synchronous", durability="low", cut="power cut"),
    ops=2239,
    figures=ReplicaCutFigures(
        title="MySQL 9.7.4",
        acknowledged=2239,
        on_primary=2161,
        on_replica=2242,
        lost_on_primary=78,
        on_replica_alone=81,
        gtid_primary=f"{SERVER}:1-2165",
        gtid_replica=f"{SERVER}:1-2246",
    ),
)
UNFINISHED = Step(name="kill -9", settings=ReplicaCut(server="mysql"), status="stopped")
RUN = Run(id="abc123", started_at="2026-11-22T15:00:00+00:00", version="0", steps=(ENDED, UNFINISHED))


def test_every_end_is_a_row_with_the_clients_count_and_both_positions() -> None:
    text = plain.render(RUN)
    assert "MySQL 9.7.4 · 4 clients" in text
    assert "semi-sync low, power cut  2 239             78        0     0        81" in text
    assert "…:1-2165" in text and SERVER not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "| semi-sync low, power cut | 2 239 | 78 | 0 | 0 | 81 |" in markdown.render(RUN)


def test_a_spreadsheet_has_them_by_name() -> None:
    ended, unfinished = spreadsheet.DictReader(StringIO(csv.render(RUN)))
    assert (ended["acknowledged"], ended["lost_on_primary"], ended["on_replica_alone"]) == ("2239", "78", "81")
    assert ended["gtid_replica"] == f"{SERVER}:1-2246"
    assert (unfinished["cut"], unfinished["acknowledged"]) == ("kill -9", "")
