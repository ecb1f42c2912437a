import json

import pytest
from msgspec.structs import replace

from fstui.model.judgement import Finding, Fit, Fitness
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import check, fit, history
from fstui.report.check import Check, CheckRow
from fstui.report.compare import comparison_report
from fstui.report.run import run_report
from fstui.report.sections import cell_text
from fstui.state.runs import Summary
from tests.factories.samples import RUN
from tests.hostile import NAME, assert_safe, everywhere
from tests.printing import as_text, csv_rows
from tests.report.test_run import SLOW

ARRIVE = Finding(rule="flushes-arrive", verdict="consistent", confidence="low", scope="storage", title="1.00 per sync")
HONEST = replace(RUN, id="aaaaaa", verdict="consistent", confidence="low", findings=(ARRIVE,))
SLOW_ONE = replace(HONEST, id="bbbbbb", speed=SLOW)
ALL = Check(
    rows=(
        CheckRow("/srv/queue", RUN),
        CheckRow("/", HONEST),
        CheckRow("/slow", SLOW_ONE),
        CheckRow("/full", None, "/full is too full"),
    ),
    left_out={"stores no data": ("/proc", "/sys", "/dev/pts", "/sys/fs/cgroup"), "read-only": ("/mnt",)},
    elapsed_s=6.2,
)


def test_rows_come_first_then_actions_then_omissions() -> None:
    rows = as_text(check.check_report(ALL)).splitlines()
    assert rows[0].startswith("3 filesystems checked in 6.2 s")
    assert rows[3].split()[:5] == ["!", "/srv/queue", "suspicious", "high", "840"]
    assert rows[4].split()[:5] == ["✓", "/", "consistent", "low", "840"]
    assert "5.9 ms" in rows[3] and "! slow" in rows[5]
    assert "not checked" in rows[6] and rows[6].endswith("/full is too full")
    assert "  next     VirtualBox: set IgnoreFlush to 0 for this disk, then run again." in rows
    assert "  next     Raise the limit, or run in another cgroup." in rows
    assert any("/proc, /sys, /dev/pts and 1 more" in row and "stores no data" in row for row in rows)
    assert not any("fstui show aaaaaa" in row for row in rows), "what is sound and quick needs no more words"


def test_next_step_of_a_sound_filesystem_shows_its_run() -> None:
    one = as_text(check.check_report(Check((CheckRow("/", HONEST),), {}, 1.0)))
    assert "Details: fstui show aaaaaa" in one.splitlines()
    assert "Details: fstui show RUN ('fstui history' lists the runs)" in as_text(check.check_report(ALL)).splitlines()


def test_json_has_the_runs_and_what_was_not_checked() -> None:
    found = json.loads(as_text(check.check_report(ALL), "json"))
    assert [run["id"] for run in found["runs"]] == [RUN.id, "aaaaaa", "bbbbbb"]
    assert {run["schema"] for run in found["runs"]} == {"fstui.run/2"}
    assert found["failed"] == [{"filesystem": "/full", "reason": "/full is too full"}]
    assert found["left_out"][0] == {"filesystem": "/proc", "reason": "stores no data"} and len(found["left_out"]) == 5
    assert json.loads(as_text(fit.fit_report(ALL), "json"))["left_out"] == found["left_out"]


def test_metrics_of_all_runs_share_their_names() -> None:
    text = as_text(check.check_report(ALL), "prometheus")
    assert text.count("# TYPE fstui_verdict gauge") == 1
    assert sum(line.startswith("fstui_verdict{") for line in text.splitlines()) == 3 * 7


def test_csv_and_markdown_have_a_row_for_each() -> None:
    rows = csv_rows(as_text(check.check_report(ALL), "csv"))
    assert [row["filesystem"] for row in rows] == ["/srv/queue", "/", "/slow", "/full"]
    assert (rows[2]["speed"], rows[3]["trouble"]) == ("slow", "/full is too full")
    table = [line for line in as_text(check.check_report(ALL), "markdown").splitlines() if line.startswith("|")]
    assert len(table) == 2 + 4


@pytest.mark.parametrize("format_", ["plain", "markdown", "csv", "prometheus"])
def test_names_are_escaped(format_: str) -> None:
    rows = (CheckRow(NAME, everywhere(replace(RUN, speed=SLOW))), CheckRow(NAME, None, NAME))
    assert_safe(as_text(check.check_report(Check(rows, {NAME: (NAME,)}, 1.0)), format_))


SETTINGS = RUN.steps[1].settings
LIMITED = replace(
    HONEST,
    status="stopped",
    time_limit_s=20.0,
    steps=(RUN.steps[1], Step(name="O_DIRECT+O_DSYNC", settings=SETTINGS, status="stopped", prepare_s=9.0)),
)


def test_time_limit_is_named_with_what_was_measured() -> None:
    row = CheckRow("/slow", LIMITED)
    words = " ".join(as_text(check.check_report(Check((row,), {}, 21.0))).split())
    assert (
        "✓ /slow The time limit of 20.0 s ended this measurement. Until then, fdatasync: 1 680 operations in 2.0 s; "
        "O_DIRECT+O_DSYNC: no operation, because its file was not prepared within 9.0 s." in words
    )
    assert "· stopped at its time limit of 20.0 s" in check.line(row)
    for format_ in ("plain", "brief"):
        assert "stopped at its time limit of 20.0 s" in " ".join(as_text(run_report(LIMITED), format_).split())
    (record,) = csv_rows(as_text(check.check_report(Check((row,), {}, 21.0)), "csv"))
    assert record["trouble"].startswith("The time limit of 20.0 s")
    assert "time limit" in as_text(fit.fit_report(Check((row,), {}, 21.0)))


def test_time_limit_explains_only_steps_that_it_stopped() -> None:
    hung = replace(RUN.steps[1], status="stopped", ops=0, elapsed_s=15.0)
    unmeasured = (Step(name=status, settings=SETTINGS, status=status) for status in ("skipped", "failed"))
    run = replace(LIMITED, steps=(*unmeasured, hung))
    assert check.limit_sentence(run).endswith("Until then, fdatasync: 0 operations in 15.0 s.")


def test_time_limit_does_not_hide_a_failure() -> None:
    failed = replace(LIMITED, status="failed")
    assert failed.status_text == "failed"
    assert history.remarks(Summary(path="/x", status="failed", time_limit_s=20.0)) == ["failed"]
    assert cell_text(comparison_report([HONEST, failed]).sections[1].rows[1][-1]) == "failed"


def fit_run(*fits: tuple[str, Fitness, tuple[str, ...]]) -> Run:
    return replace(
        RUN,
        fit=tuple(
            Fit(product=name, does="", answer=answer, measured="", required="", step="", source="", reasons=reasons)
            for name, answer, reasons in fits
        ),
    )


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((("a", "not-known", ()),), ""),
        (
            (("a", "within-limit", ()), ("b", "light-load", ()), ("c", "fits", ())),
            "fits c, b · within the limits of a",
        ),
        ((("a", "does-not-fit", ("load",)), ("b", "does-not-fit", ())), "too slow for a, b"),
        ((("a", "does-not-fit", ("load",)), ("b", "does-not-fit", ("load",))), "too slow now for a, b"),
    ],
)
def test_headline_of_fit(answers: tuple[tuple[str, Fitness, tuple[str, ...]], ...], expected: str) -> None:
    assert fit.headline(fit_run(*answers)) == expected


def test_a_check_in_one_line() -> None:
    assert check.line(ALL.rows[0]).startswith(
        "/srv/queue: ! suspicious, high confidence · 840 commits/s, p99 5.9 ms · "
    )
    assert check.line(ALL.rows[3]) == "/full: not checked: /full is too full"


def test_a_narrow_terminal_has_the_flags_below() -> None:
    lines = as_text(check.check_report(ALL), "plain", 60).splitlines()
    assert lines[2].split() == ["FILESYSTEM", "VERDICT", "CONFIDENCE", "COMMITS/S", "P99"]
    assert lines[4].endswith("840/s, 7200 rpm allows 120")
    assert max(map(len, lines[2:10])) <= 60


def test_simulated_numbers_are_marked_everywhere() -> None:
    played = Check(rows=(CheckRow("/simulated/x", replace(RUN, simulated="hdd-7200")),), left_out={}, elapsed_s=1.0)
    words = "SIMULATED: hdd-7200. No real storage was measured."
    plain, markdown = as_text(check.check_report(played)), as_text(check.check_report(played), "markdown")
    assert words in plain and words in markdown and check.line(played.rows[0]).endswith("SIMULATED")
    assert "fstui show" not in plain, "it was not saved"


def test_fit_says_why_a_verdict_is_doubtful_and_what_to_do() -> None:
    run = fit_run(("etcd", "fits", ()))
    text = " ".join(as_text(fit.fit_report(Check((CheckRow("/srv/queue", run),), {}, 1.0))).split())
    assert (
        " ".join(run.sentence.split()) in text and " ".join(check.next_step(run).split()) in text.partition(" next ")[2]
    )


def test_layer_of_a_container_says_to_measure_in_the_volume() -> None:
    sentence = "/ is the writable layer of a container."
    layer = Finding(
        rule="container-layer", verdict=None, confidence="high", scope="storage", title="deleted", sentence=sentence,
        next=("Put the data on a volume, and run fsync-rate in the directory where it is mounted.",),
    )  # fmt: skip
    inside = replace(HONEST, findings=(*HONEST.findings, layer))
    text = as_text(check.check_report(ALL._replace(rows=(CheckRow("/", inside),))))
    assert sentence in text and "Put the data on a volume" in text


def test_check_and_fit_shorten_the_list_of_what_was_left_out() -> None:
    names = tuple(f"/sys/{number}" for number in range(9))
    done = Check((), {"stores no data": names}, 1.0)
    for report in (check.check_report(done), fit.fit_report(done)):
        assert "/sys/0, /sys/1, /sys/2 and 6 more: stores no data" in as_text(report)
