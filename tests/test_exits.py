"""Names are data: whatever they contain, terminals and files receive plain text only."""

import ast
import csv
import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import fstui
from fstui.model.documents import encode
from fstui.model.events import RunFinished
from fstui.model.forms import Setting
from fstui.model.judgement import Judgement
from fstui.model.run import Run
from fstui.powercut import plan as power_cut
from fstui.report import compare, formats, history, inventory, plans
from fstui.report.characters import CONTROL, escape_controls, escape_lines
from fstui.report.formats import json as json_report
from fstui.report.text import columns, wrapped_columns
from fstui.runs.scenarios import Scenario
from fstui.state.runs import Summary
from tests.factories import screens
from tests.factories.samples import FAILED_RUN, RUN
from tests.hostile import NAME, assert_safe, everywhere
from tests.printing import as_text, run_as_text

PACKAGE = Path(fstui.__file__).parent
HOSTILE = everywhere(replace(screens.RUN, simulated="made up", left_behind=("/srv/.fstui-x",)))
FAILED = everywhere(FAILED_RUN)


def test_control_and_format_characters_are_escaped_and_no_others() -> None:
    kinds = {letter: unicodedata.category(letter) for letter in map(chr, range(0x110000))}
    escaped = set(CONTROL.findall("".join(kinds)))
    assert {letter for letter, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")} <= escaped
    assert all(kinds[letter] in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn") for letter in escaped)  # Cn: not assigned yet


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("db7", "db7"),
        ("Größe 測試 é", "Größe 測試 é"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\r", "a\\x0ab\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        (b"\xff\xfe".decode(errors="surrogateescape"), "\\xff\\xfe"),
        ("right\u202eleft", "right\\u202eleft"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
    ],
)
def test_names_are_shown_as(name: str, shown: str) -> None:
    assert escape_controls(name) == shown


@given(st.text() | st.binary().map(lambda name: name.decode(errors="surrogateescape")))
def test_escaped_text_is_printable_and_escaped_once(name: str) -> None:
    shown = escape_controls(name)
    assert escape_controls(shown) == shown
    assert escape_lines(f"{name}\n{shown}").split("\n")[-1] == shown
    shown.encode()


@pytest.mark.parametrize("run", [HOSTILE, FAILED, everywhere(RUN)], ids=["prepared", "failed", "short"])
def test_run_with_hostile_names_is_printed_as_text(run: Run) -> None:
    for name in formats.names():
        text = formats.render(name, run, f"/home/{NAME}")
        assert_safe(text if isinstance(text, str) else text.decode())
        # the seconds of a run without a database consist of the header only
        assert name == "seconds" or "x1b" in str(text) or "u001b" in str(text)
    assert_safe(as_text(compare.comparison_report([run, HOSTILE])))


def test_columns_are_as_wide_as_their_visible_text() -> None:
    assert columns([("a\x1b", "1"), ("bcd", "12")], "<>") == ["a\\x1b   1", "bcd    12"]
    assert wrapped_columns([("a\x1b", "1\n2"), ("bcd", "3")]) == ["a\\x1b  1\\x0a2", "bcd    3"]


@pytest.mark.parametrize("run", [HOSTILE, FAILED], ids=["prepared", "failed"])
def test_table_of_cells_has_one_row_per_step(run: Run) -> None:
    text = run_as_text(run, "csv")
    assert_safe(text)
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 1 + len(run.steps) and len({len(row) for row in rows}) == 1


def test_json_contains_names_in_printable_characters() -> None:
    run = replace(HOSTILE, sentence=NAME.replace("\udcff", ""))
    for text in (json_report.line(run), json_report.indented(run)):
        assert_safe(text.decode())
        assert json.loads(text) == json.loads(encode(run))
    assert json.loads(json_report.line(run))["sentence"] == NAME.replace("\udcff", "")
    assert_safe(json_report.line(RunFinished(run=run)).decode())


def test_list_is_text() -> None:
    box = everywhere(screens.INVENTORY)
    flags = {mount + NAME: everywhere(judgement) for mount, judgement in screens.FLAGS.items()}
    assert isinstance(flags["/dev/shm" + NAME], Judgement)
    text = as_text(inventory.inventory_report(box, flags))
    assert_safe(text)
    assert "/srv/queue\\x1b[31m" in text
    assert_safe(as_text(inventory.inventory_report(box, flags), "json"))


def test_history_is_text_with_one_line_per_run_and_note() -> None:
    good = everywhere(Summary(path="a", id="a", started_at="2026-11-20T03:12:44+01:00", scenario="b", target="c"))
    text = as_text(history.history_report([good, Summary(path="b", unreadable=NAME)]))
    assert_safe(text)
    assert text.count("unreadable:") == 1 and len(text.split("unreadable:")[0].splitlines()) == 2


def test_scenarios_and_plans_are_text() -> None:
    setting = Setting(value=NAME, choices=[NAME, "b"], unit=NAME, help=NAME)
    mine = Scenario(name=NAME, title=NAME, question=NAME, help=NAME, settings={NAME: setting}, steps=[])
    planned, cut = everywhere(screens.PLAN), everywhere(power_cut.make_plan({}))
    for text in (
        as_text(plans.scenarios_report([(mine, planned)], cut)),
        as_text(plans.scenario_report(mine, planned)),
        as_text(plans.power_cut_report(cut)),
        as_text(plans.plan_report(planned, everywhere(screens.DATA))),
    ):
        assert_safe(text)


EXITS = {
    "report/text.py",
    "tui/drawing/cells.py",
    "tui/terminal.py",
    "tui/app.py",
    "tui/palette.py",
    "cli/output.py",
    "cli/powercut.py",
}  # fmt: skip  the last compares a typed host name with the printed one


def test_only_output_functions_escape() -> None:
    found = set()
    for file in PACKAGE.rglob("*.py"):
        if "fstui.report.characters" not in (text := file.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "fstui.report.characters":
                named = {alias.name for alias in node.names}
                found |= {str(file.relative_to(PACKAGE))} if named & {"escape_controls", "CONTROL"} else set()
    assert {file for file in found if not file.startswith("report/formats/")} == EXITS
