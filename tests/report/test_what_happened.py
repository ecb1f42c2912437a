"""The answer of ``fstui what-happened`` in each format."""

import json
from datetime import date, datetime, time, timedelta
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from msgspec.structs import replace

from fstui.model.recording import WhatHappened
from fstui.report import documents, text
from fstui.report import what_happened as report
from fstui.runs import recordings
from fstui.state.recording import Recording
from tests import hostile, printing
from tests.factories.recorded import BEGIN, ETCD, RSYNC, at, between, calm, disk, stalled

SLOW = between(596, 608, disk(900.0, writes=20, written_kib=310_000))


def answer(period: tuple[float, float] | None = (BEGIN + 500, BEGIN + 700)) -> WhatHappened:
    records = calm(SLOW, at((600, 610), stalled(), processes=(RSYNC,)))
    return recordings.what_happened(Recording(Path("/x"), records), period)


def printed(format_: str, found: WhatHappened) -> str:
    return printing.as_text(report.what_happened_report(found), format_, 80)


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def test_a_terminal_gets_the_answer_first_and_a_timeline() -> None:
    lines = printed("plain", answer()).splitlines()
    assert lines[0].startswith("db1, 2025-11-26 ")
    assert "etcd (pid 812) waited 8.0 s (at most 4.0 s at a time) in fdatasync" in " ".join(lines[1:5])
    assert any(line.split()[:2] == ["longest", "wait"] and "peak 4.0 s" in line for line in lines)
    assert len(lines) < 24


@pytest.mark.parametrize(("days_ago", "named"), [(0, False), (1, True), (2, False)])
def test_first_line_names_yesterday(days_ago: int, named: bool) -> None:
    """A time of day that is later than now means yesterday, perhaps to the surprise of the user."""
    noon = datetime.combine(date.today() - timedelta(days=days_ago), time(12))
    found = replace(answer(), start=noon.timestamp(), end=noon.timestamp() + 600)
    first_line = printed("plain", found).splitlines()[0]
    assert first_line.startswith(f"db1, yesterday, {noon:%Y-%m-%d} 12:00:00–12:10:00") == named
    assert ("yesterday" in first_line) == named


def test_several_incidents_have_a_heading_with_their_order() -> None:
    other = stalled(replace(ETCD, program="mariadbd", device="vdb", below=("vdb",)), ms=9000)
    records = calm(windows=at((600,), stalled(), other))
    found = recordings.what_happened(Recording(Path("/x"), records), None)
    assert "Incidents, the longest waits first" in printed("plain", found)
    assert "longest waits first" not in printed("plain", answer())


def test_the_timeline_names_the_devices_of_its_columns() -> None:
    other = between(640, 649, disk(), disk(900.0, name="vdb"))
    found = recordings.what_happened(Recording(Path("/x"), calm(other)), (BEGIN + 600, BEGIN + 660))
    assert "Timeline (writes: vda, vdb, one device per column)" in printed("plain", found)
    assert "Timeline (writes: vda)" in printed("plain", answer())


def test_pressure_has_a_scale_to_100_percent() -> None:
    charts = {chart.name: chart for chart in report.CHARTS}
    assert charts["CPU pressure"].heights([None, 0.0, 0.05, 1.2]) == [None, 0.0, 0.05, 1.0]
    assert charts["written/s"].heights([1.0, 5.0]) == [0.2, 1.0]
    (line,) = (line for line in printed("plain", answer()).splitlines() if "CPU pressure" in line)
    assert set(line.split()[2]) == {"▁"} and "█" in text.sparkline([1.2], 1.0)


def test_documents_have_the_whole_table() -> None:
    text = printed("markdown", answer())
    assert "| TIME " in text and "etcd: /var/lib/etcd/wal/0.wal" in text


def test_only_a_terminal_names_the_formats_with_all_rows() -> None:
    hint = "to see all 20 rows"
    assert hint in printed("plain", answer())
    assert hint not in printed("markdown", answer()) + printed("html", answer())


def test_csv_has_one_row_per_bucket() -> None:
    rows = printing.csv_rows(printed("csv", answer()))
    assert len(rows) == len(answer().buckets)
    assert {row["program"] for row in rows} == {"etcd"}
    assert max(float(row["longest_ms"]) for row in rows) == 4000


def test_json_matches_its_schema() -> None:
    found = json.loads(printed("json", answer()))
    jsonschema.validate(found, documents.schema(*documents.DOCUMENTS["what-happened"]))
    assert found["incidents"][0]["cause"] == "writer"


def test_a_page_has_a_chart_for_each_figure() -> None:
    text = printed("html", answer())
    charts = text.split("<svg")[1:]
    assert len(charts) == 6  # there was no memory pressure
    for chart in charts:
        ElementTree.fromstring("<svg" + chart.partition("</svg>")[0] + "</svg>")


def test_calm_times_and_gaps_are_reported() -> None:
    records = [one for one in calm() if not BEGIN + 300 < one.at < BEGIN + 400]
    text = " ".join(printed("plain", recordings.what_happened(Recording(Path("/x"), records), None)).split())
    assert "No unusual wait for a sync" in text and "records are missing" in text


@pytest.mark.parametrize("format_", ["plain", "markdown", "html"])
def test_hostile_names_reach_no_format(format_: str) -> None:
    hostile.assert_safe(printed(format_, hostile.everywhere(answer())))
