"""The report of a power-cut campaign: its verdict, its bound in words, and its cuts."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.powercut import CutKind, PowerCutFigures
from fstui.powercut.campaign import CampaignCut, CampaignSettings, CampaignStore
from fstui.report import campaign
from fstui.report.sections import Cell, Report
from tests.powercut.host import MadeUpHost
from tests.printing import as_text, csv_rows


@pytest.fixture
def settings(tmp_path: Path) -> CampaignSettings:
    return MadeUpHost(tmp_path / "host").settings(off="plug -p secret off", cuts=4)


def cut(number: int, outcome: str, **changes: object) -> CampaignCut:
    made: dict[str, object] = {"number": number, "pattern": "SQLite", "wait_s": 1.5, "started_at": "2026-11-26"}
    return CampaignCut(**made | {"outcome": outcome, "step": "done"} | changes)  # type: ignore[arg-type]


def report_of(settings: CampaignSettings, *cuts: CampaignCut, stop_reason: str = "") -> Report:
    return campaign.campaign_report(campaign.document(CampaignStore(Path(), settings, list(cuts), -1), stop_reason))


@pytest.mark.parametrize(
    ("kind", "lost", "cuts", "sentence"),
    [
        ("power", 0, 412, "412 cuts, 0 losses; with 95\xa0% confidence fewer than 0.73\xa0% of cuts lose data"),
        ("reset", 0, 100, "100 resets, 0 losses; with 95\xa0% confidence fewer than 3.0\xa0% of resets lose data"),
        ("host-stop", 1, 1, "1 stop, 1 loss; with 95\xa0% confidence more than 5.0\xa0% of stops lose data"),
        ("power", 2, 100, "100 cuts, 2 losses; with 95\xa0% confidence 0.24\xa0% to 7.1\xa0% of cuts lose data"),
        ("power", 100, 100, "100 cuts, 100 losses; with 95\xa0% confidence more than 97\xa0% of cuts lose data"),
        ("power", 0, 0, "no cut happened, so nothing is proven"),
    ],
)
def test_sentence_has_the_bound(kind: CutKind, lost: int, cuts: int, sentence: str) -> None:
    assert campaign.sentence(kind, lost, cuts) == sentence + (" (Clopper-Pearson)" if cuts else "")


@pytest.mark.parametrize(
    ("kind", "outcomes", "verdict"),
    [
        ("power", ["intact", "no-cut"], "kept"),
        ("power", ["intact", "lost"], "lost"),
        ("power", ["no-cut", "refused"], "cannot-tell"),
        ("reset", ["intact"], "plausible"),
        ("host-stop", ["intact"], "plausible"),
        ("reset", ["lost"], "lost"),
    ],
)
def test_verdict_depends_on_what_was_cut(
    settings: CampaignSettings, kind: str, outcomes: list[str], verdict: str
) -> None:
    made = [cut(number, outcome) for number, outcome in enumerate(outcomes, 1)]
    found = campaign.document(CampaignStore(Path(), replace(settings, kind=kind), made, -1), "")
    assert found.verdict == verdict


def test_reset_says_what_it_does_not_test(settings: CampaignSettings) -> None:
    shown = as_text(report_of(replace(settings, kind="reset"), cut(1, "intact")), width=80)
    assert "its write cache was not tested" in " ".join(shown.split())


def test_only_a_power_cut_is_kept(settings: CampaignSettings) -> None:
    assert campaign.line(cut(1, "intact"), "power") == "✓ cut 1: kept, SQLite"
    assert campaign.line(cut(1, "intact"), "reset").endswith("cut 1: no loss, SQLite")
    rows = report_of(replace(settings, kind="host-stop"), cut(1, "intact")).sections[-1].rows
    assert [cell.text for cell in rows[0] if isinstance(cell, Cell)][1] == "no loss"


def test_bound_names_its_method_and_the_rule_of_three(settings: CampaignSettings) -> None:
    shown = as_text(report_of(settings, cut(1, "intact"), cut(2, "intact")), "markdown")
    assert "The interval is exact (Clopper-Pearson)" in shown
    assert "After 2 cuts without a loss, it ends at 1 − 0.05^(1/2). The rule of three gives 3/2." in shown


def test_interim_verdict_has_its_bound(settings: CampaignSettings) -> None:
    made = [cut(number, "intact") for number in range(1, 4)]
    interim = campaign.verdict_so_far(CampaignStore(Path(), settings, made, -1))
    assert interim == "✓ 3 of 4 cuts, 0 lost: fewer than 64\xa0% lose data"
    assert campaign.verdict_so_far(CampaignStore(Path(), settings, [], -1)).endswith(" 0 of 4 cuts")


def test_server_that_did_not_start_again_is_named(settings: CampaignSettings) -> None:
    figures = PowerCutFigures(cut="c", identity="i", rebooted=True, unreadable=9, not_recovered="PANIC: no checkpoint")
    shown = campaign.line(cut(1, "lost", figures=figures), "power")
    assert shown.endswith("the database server did not start again: PANIC: no checkpoint")


def test_every_cut_is_a_row_of_the_page_and_of_the_table(settings: CampaignSettings) -> None:
    report = report_of(settings, cut(1, "intact"), cut(2, "no-cut", reason="<b>[red]"), stop_reason="db1: \x1b[2J")
    page = as_text(report, "html")
    assert page.count("2026-11-26") == 3  # a cut that did not happen is shown twice
    assert "&lt;b&gt;[red]" in page and "\x1b" not in page and "<b>" not in page
    rows = csv_rows(as_text(report, "csv"))
    assert [row["outcome"] for row in rows] == ["intact", "no-cut"]


def test_commands_are_not_in_the_document(settings: CampaignSettings) -> None:
    document = as_text(report_of(settings, cut(1, "intact")), "json")
    assert json.loads(document)["schema"] == "fstui.powercut-campaign/1"
    assert "secret" not in document


def test_directory_that_is_gone_is_named(settings: CampaignSettings) -> None:
    gone = cut(1, "lost", figures=PowerCutFigures(cut="c", identity="i", gone=True, rebooted=True, acknowledged=9))
    assert campaign.line(gone, "power").endswith("the directory with all records is gone")
    page = as_text(report_of(settings, gone), "markdown")
    assert "The directory with all records was gone after 1 cut." in page
    assert "9 records were acknowledged." in page and "were compared" not in page
