import csv
import io
import json
import re

from msgspec.structs import replace

from fstui.measure.kinds.documents import decode_run
from fstui.model.events import FindingsChanged, RunFinished
from fstui.model.judgement import Judgement
from fstui.model.run import Run
from fstui.report import json as json_report
from tests.factories.samples import FAILED_RUN, RUN, nasty
from tests.printing import printed_run


def rows(run: Run) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(printed_run(run, "csv"))))


def test_json_is_the_run_document_on_one_line() -> None:
    line = json_report.line(RUN)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode_run(line) == RUN
    assert json.loads(line)["target"]["stack"][2]["medium"]["class"] == "hdd-7200"


def test_an_event_names_itself() -> None:
    judgement = Judgement(verdict="suspicious", confidence="high", sentence="s")
    assert json.loads(json_report.line(FindingsChanged(judgement=judgement)))["event"] == "FindingsChanged"
    assert json.loads(json_report.line(RunFinished(run=RUN, saved_to="/x")))["run"]["schema"] == "fstui.run/2"


def test_the_schema_describes_the_document() -> None:
    schema = json.loads(json_report.schema())
    described = schema["$defs"]["Run"]["properties"]
    assert set(json.loads(json_report.line(RUN))) == set(described)


def test_csv_has_one_row_per_step_with_units_in_its_names() -> None:
    first, second = rows(RUN)
    assert (second["name"], second["rate_per_s"], second["latency_p99_ns"]) == ("fdatasync", "840.0", "5900000")
    assert (second["flushes_per_sync"], second["bytes_ratio"]) == ("1.0", "1.0")
    assert (first["flushes"], first["flushes_per_sync"]) == ("0", "")
    assert second["latency_p99_9_ns"] == ""


def test_csv_has_errors_and_a_header_without_steps() -> None:
    assert rows(FAILED_RUN)[1]["error"] == "pwrite: Input/output error"
    assert printed_run(replace(RUN, steps=()), "csv").splitlines() == printed_run(RUN, "csv").splitlines()[:1]


def test_csv_with_hostile_names_has_one_line_per_step() -> None:
    text = printed_run(nasty(), "csv")
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text


def test_markdown_has_the_verdict_before_the_tables() -> None:
    text = printed_run(RUN, "markdown")
    order = [
        "### odirect",
        "**! SUSPICIOUS",
        "One 16 KiB block",
        "**Because**",
        "**Next**",
        "FINDING",
        "| STEP",
        "LAYER",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "|  | sda, lowest | 1 690 | 26.2 MiB |  | 1 680 | 1.00 |" in text
    assert "|  | sda1 | 1 690 | 26.2 MiB |  | not counted | – |" in text
    assert "VBOX HARDDISK hdd-7200 (declared)" in text


def test_every_row_of_a_markdown_table_has_all_cells() -> None:
    for run in (RUN, FAILED_RUN, nasty()):
        for table in re.findall(r"(?:^\|.*\n)+", printed_run(run, "markdown"), re.M):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_names_from_the_system_are_no_markup() -> None:
    text = re.sub("```text.*?```", "", printed_run(nasty(), "markdown"), flags=re.DOTALL)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "<b>" not in text and r"\<b\>" in text
    assert not re.search(r"(?<!\\)\*x", text)
