"""Every format prints any report: one registry, safe names, the same content."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import click
import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from fstui.cli.commands import group
from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode
from fstui.model.run import Run
from fstui.report import formats
from fstui.report.characters import escape_controls
from fstui.report.sections import Cell, Report, Section, glyph_cell, number_cell, speed_cell, verdict_cell
from fstui.report.text import fold, speed_label, wrap
from tests.factories import screens
from tests.factories.samples import FAILED_RUN, RUN
from tests.hostile import NAME, assert_safe, everywhere
from tests.printing import as_text, csv_rows, run_as_text


def choices(*names: str) -> list[str]:
    command: click.Command | None = group
    for name in names:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    (option,) = [each for each in command.params if each.name == "format_"]
    assert isinstance(option.type, click.Choice)
    return list(option.type.choices)


def test_every_command_that_prints_a_run_offers_every_format() -> None:
    for command in (["show"], ["powercut", "verify"]):
        assert choices(*command) == list(formats.names())
    assert choices("run") == [*formats.names(), "events"]
    assert formats.names()[0] == formats.PLAIN


def test_every_format_has_its_own_file_extension() -> None:
    endings = {name: formats.format_of(name).EXTENSION for name in formats.names()}
    assert {name for name, ending in endings.items() if not ending} <= {formats.PLAIN, "brief", "seconds"}
    own = list(filter(None, endings.values()))
    assert len(set(own)) == len(own) and all(map(str.isalnum, own))


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "＝1+1"])
def test_no_spreadsheet_calculates_a_name(name: str) -> None:
    run = replace(RUN, steps=(replace(RUN.steps[1], name=name, elapsed_s=-1.0),))
    (row,) = csv_rows(run_as_text(run, "csv"))
    assert row["name"] == ("\\x09=1+1" if name[0] == "\t" else f"'{name}")
    assert row["elapsed_s"] == "-1.0"  # a number is one, whatever it begins with


TABLE = Section(
    "Boxes",
    ("", "NAME", "VERDICT", "RATE/S", "SPEED", "FLAG"),
    (
        (
            glyph_cell("suspicious"),
            "db1",
            verdict_cell("suspicious", "stopped"),
            number_cell(840.0, lambda n: f"{n:.0f}"),
            speed_cell("slow"),
            "a flag",
        ),
        (glyph_cell(None), "=db2", verdict_cell(None), number_cell(None, str), speed_cell(None), ""),
    ),
    lines=("One sentence.",),
    points=(("next", ("Do this.",)),),
    drawn=("a  drawing",),
)
REPORT = Report("Two boxes", (TABLE, Section("Nothing")), document={"boxes": 2}, runs=(RUN,))


def shown(name: str, report: Report = REPORT, width: int | None = None) -> str:
    return as_text(report, name, width)


def test_only_a_document_calls_the_speed_normal() -> None:
    assert speed_cell("normal")[:2] == ("✓ not slow", "normal")
    assert (speed_label("normal"), speed_label("unknown")) == ("NOT SLOW", "SPEED UNKNOWN")


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


def test_csv_has_the_records_or_else_the_first_table() -> None:
    records = (("name", "per_s"), ("db1", 840.0), ("=db2", None))
    rows = csv_rows(shown("csv", REPORT._replace(records=records)))
    assert rows == [{"name": "db1", "per_s": "840.0"}, {"name": "'=db2", "per_s": ""}]
    assert csv_rows(shown("csv"))[0]["rate/s"] == "840"
    assert json.loads(shown("json")) == {"boxes": 2}


def test_markdown_and_html_have_the_table_with_its_verdicts() -> None:
    markdown, html = shown("markdown"), shown("html")
    assert "| --- | --- | --- | ---: | --- | --- |" in markdown and "Nothing" not in markdown
    assert '<td class="suspicious">suspicious · stopped</td>' in html and 'id="run-0"' in html


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


class Elements(HTMLParser):
    """Every element with its attributes, and what each data block holds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script":
            self.data.append(data)


def test_the_page_contains_the_answers_charts_and_document() -> None:
    page = run_as_text(screens.RUN, "html")
    assert "! SUSPICIOUS  high confidence" in page
    assert "I/O path: same block, fdatasync" in page and "✓ all arrived" in page
    assert page.count("<svg ") == len(screens.STEPS)
    renamed = tuple(replace(step, name=step.name.upper()) for step in screens.STEPS)
    findings = tuple(replace(f, steps=tuple(map(str.upper, f.steps))) for f in screens.RUN.findings)
    shouting = replace(screens.RUN, steps=renamed, findings=findings)
    assert "I/O path: SAME BLOCK, FDATASYNC" in run_as_text(shouting, "html")
    elements = Elements(page)
    assert decode_run("".join(elements.data).encode()) == screens.RUN


@pytest.mark.parametrize("name", [NAME, HOSTILE], ids=["control characters", "elements"])
def test_the_page_fetches_and_runs_nothing(name: str) -> None:
    steps = tuple(replace(step, name=name + step.name) for step in screens.STEPS)
    host = replace(screens.HOST, hostname=name)
    run = replace(screens.RUN, steps=steps, sentence=name, simulated=name, host=host)
    elements = Elements(run_as_text(run, "html"))
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "run-0"}]
    assert json.loads("".join(elements.data))["sentence"] == json.loads(encode(run))["sentence"]
    for tag, attributes in elements.found:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form", "a"}
        assert not {"src", "href", "style"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)


def test_a_run_without_steps_is_a_valid_page() -> None:
    page = run_as_text(replace(screens.RUN, steps=(), target=None, scenario=None, findings=()), "html")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert not re.search(r"<table><thead>.*</thead><tbody></tbody>", page)


def samples(run: Run, name: str = "fstui_") -> Iterator[Sample]:
    for family in text_string_to_metric_families(str(formats.render("prometheus", run))):
        assert family.documentation and family.type == ("summary" if "latency" in family.name else "gauge")
        yield from (sample for sample in family.samples if sample.name.startswith(name))


def of_step(run: Run, name: str) -> dict[str, float]:
    return {sample.labels["step"]: sample.value for sample in samples(run, name)}


def test_one_verdict_is_1_and_every_other_is_0() -> None:
    found = {sample.labels["verdict"]: sample.value for sample in samples(RUN, "fstui_verdict")}
    assert len(found) == 7 and [word for word, value in found.items() if value] == ["suspicious"]


def test_confidence_is_a_metric_of_its_own() -> None:
    """A label of every verdict would read as "not lost, with high confidence"."""
    found = {sample.labels["confidence"]: sample.value for sample in samples(RUN, "fstui_confidence")}
    assert found == {"low": 0, "medium": 0, "high": 1}
    assert not any("confidence" in sample.labels for sample in samples(RUN, "fstui_verdict"))


def test_each_step_has_metrics_in_base_units() -> None:
    assert of_step(RUN, "fstui_step_operations_per_second") == {"write, no sync": 211402.0, "fdatasync": 840.0}
    assert of_step(RUN, "fstui_step_flushes_per_sync") == {"fdatasync": 1.0}
    synced = [each for each in samples(RUN, "fstui_step_latency") if each.labels["step"] == "fdatasync"]
    quantiles = {each.labels["quantile"]: each.value for each in synced if "quantile" in each.labels}
    assert quantiles == {"0.5": 0.0012, "0.9": 0.002, "0.95": 0.003, "0.99": 0.0059, "1": 0.028}
    assert [each.value for each in synced if each.name.endswith("_count")] == [1680.0]
    assert [each.value for each in synced if each.name.endswith("_sum")] == [pytest.approx(1680 * 0.00123)]


def test_what_failed_or_was_not_counted_is_left_out() -> None:
    assert "O_DIRECT" not in of_step(FAILED_RUN, "fstui_step_")
    empty = Run(id="a", started_at="no time")
    assert {each.name for each in samples(empty)} == {
        "fstui_verdict", "fstui_confidence", "fstui_run_duration_seconds", "fstui_run_written_bytes",
    }  # fmt: skip


def test_every_value_has_its_labels() -> None:
    for sample in samples(replace(RUN, simulated="a lying disk")):
        labels = {"scenario": "odirect-truth", "target": "/srv/data", "simulated": "a lying disk"}
        assert labels.items() <= sample.labels.items()
    assert not any("simulated" in sample.labels for sample in samples(RUN))


def test_any_name_can_be_a_label() -> None:
    for sample in samples(everywhere(RUN)):
        assert sample.labels["target"] == escape_controls(f"/srv/data{NAME}")


def test_no_value_is_repeated() -> None:
    told = [(sample.name, frozenset(sample.labels.items())) for sample in samples(RUN)]
    assert len(set(told)) == len(told)


def test_numbers_are_not_broken_when_a_sentence_is_wrapped() -> None:
    assert wrap("It took 1\xa0234\xa0567 operations.", 14) == ["It took", "1\xa0234\xa0567", "operations."]


def test_commands_in_quotes_are_not_broken() -> None:
    sentence = "Switch the drive's cache off ('hdparm -W 0 /dev/sda'), then run again."
    assert wrap(sentence, 41) == ["Switch the drive's cache off", "('hdparm -W 0 /dev/sda'), then run again."]


def test_a_command_longer_than_a_line_breaks_at_its_spaces() -> None:
    lines = fold("Run 'mount -o remount,barrier=1 /srv/bad'.", 24)
    assert lines == ["Run 'mount -o", "remount,barrier=1", "/srv/bad'."]
