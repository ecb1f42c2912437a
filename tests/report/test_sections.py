"""A report of sections in every format."""

import csv
import io
import json

import pytest

from fstui.report import formats
from fstui.report.sections import Cell, Report, Section, glyph, number, speed, verdict
from tests.factories.samples import RUN
from tests.hostile import NAME, assert_safe

TABLE = Section(
    "Boxes",
    ("", "NAME", "VERDICT", "RATE/S", "SLOW?", "FLAG"),
    (
        (
            glyph("suspicious"),
            "db1",
            verdict("suspicious", "stopped"),
            number(840.0, lambda n: f"{n:.0f}"),
            speed("slow"),
            "a flag",
        ),
        (glyph(None), "=db2", verdict(None), number(None, str), speed(None), ""),
    ),
    lines=("One sentence.",),
    points=(("next", ("Do this.",)),),
    drawn=("a  drawing",),
)
REPORT = Report("Two boxes", (TABLE, Section("Nothing")), document={"boxes": 2}, runs=(RUN,))


def shown(name: str, report: Report = REPORT, width: int | None = None) -> str:
    text = formats.render_report(name, report, width)
    return text if isinstance(text, str) else text.decode()


@pytest.mark.parametrize("name", formats.names())
def test_every_format_prints_any_report_and_escapes_names(name: str) -> None:
    hostile = Section(NAME, ("N", NAME), ((NAME, Cell(NAME, NAME)),), (NAME,), (("next", (NAME,)),))
    assert_safe(shown(name, Report(NAME, (hostile,), document=[NAME])))
    assert shown(name)


def test_numbers_are_right_aligned_and_empty_sections_omitted() -> None:
    lines = shown("plain").splitlines()
    assert lines[4] == "!  db1   suspicious · stopped     840  ! slow  a flag"
    assert lines[5] == "   =db2  –                          –  –"
    assert lines[6:] == ["  a  drawing", "  One sentence.", "  next     Do this."]


def test_a_narrow_terminal_has_other_columns_below() -> None:
    lines = shown("plain", width=48).splitlines()
    assert max(map(len, lines)) <= 48 and "     a flag" in lines


def test_programs_read_values_and_no_column_without_a_name() -> None:
    rows = list(csv.DictReader(io.StringIO(shown("csv"))))
    assert rows[0] == {
        "name": "db1", "verdict": "suspicious", "rate/s": "840.0", "slow?": "slow", "flag": "a flag",
    }  # fmt: skip
    assert rows[1]["name"] == "'=db2" and rows[1]["rate/s"] == ""
    assert json.loads(shown("json")) == {"boxes": 2}


def test_markdown_and_html_have_the_table_with_its_verdicts() -> None:
    markdown, html = shown("markdown"), shown("html")
    assert "| --- | --- | --- | ---: | --- | --- |" in markdown and "Nothing" not in markdown
    assert '<td class="suspicious">suspicious · stopped</td>' in html and 'id="run-0"' in html
