import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.judgement import Speed
from fstui.model.plan import Plan, PlannedStep
from fstui.model.run import Run, ScenarioRef
from fstui.model.steps import TracedPart
from fstui.report import compare, formats, history, plans
from fstui.report.characters import printable
from fstui.report.figures import Counts, step_line
from fstui.report.formats import json as json_report
from fstui.state.runs import Summary
from tests.factories import samples, screens
from tests.factories.samples import FAILED, FAILED_RUN, RUN, SYNCED, TARGET
from tests.factories.steps import traced
from tests.hostile import everywhere
from tests.printing import as_text, csv_rows, run_as_text


def test_the_whole_result_in_plain_text() -> None:
    assert run_as_text(RUN, saved_to="/home/ann/k3f9a1.json").splitlines() == [
        "odirect-truth on /srv/data",
        "",
        "ext4 › sda1 › sda",
        "db7, Linux 6.8.0-45 · 20 Nov 2026 03:12 · 14.6 s · run k3f9a1",
        "",
        "! SUSPICIOUS  high confidence",
        "  One 16 KiB block was rewritten and synced 840 times a second. A 7200 rpm disk",
        "  turns 120 times a second.",
        "  because  same block, fdatasync  840/s, limit 120/s",
        "           sda                    1\xa0680 flushes for 1\xa0680 syncs",
        "  next     VirtualBox: set IgnoreFlush to 0 for this disk, then run again.",
        "",
        "2 findings",
        "   FINDING              VERDICT     CONFIDENCE  WHAT",
        "!  same-block-rotation  suspicious  high        840/s, 7200 rpm allows 120",
        "   odirect-alone        note        high        0 flushes: not durable by itself",
        "",
        "STEP             RATE/S     P50     P99      MAX  FLUSH/SYNC  W-AMP",
        "write, no sync  211\xa0402  1.2 ms  5.9 ms  28.0 ms           –   0.00",
        "fdatasync           840  1.2 ms  5.9 ms  28.0 ms        1.00   1.00",
        "",
        "I/O path: fdatasync",
        "  fstui requested 1\xa0680 writes, 26.2 MiB, 1\xa0680 syncs",
        "  │",
        "  ext4 /srv   expects 1 per sync",
        "  │ 26.2 MiB (1.00), flushes not counted",
        "  sda1  partition",
        "  │ 26.2 MiB (1.00), 1\xa0680 flushes (1.00 per sync), ✓ all arrived",
        "  sda  VBOX HARDDISK, hdd-7200",
        "",
        "Devices: sda: VBOX HARDDISK hdd-7200 (declared) · fstui 0.1.0",
        "",
        "saved /home/ann/k3f9a1.json",
    ]


SKIPPED = replace(FAILED, status="skipped", error=None, reason="no O_DIRECT on tmpfs")
PARTLY_TRACED = replace(
    SYNCED,
    trace=(traced(us=168),),
    traced_part=TracedPart(elapsed_s=SYNCED.elapsed_s / 10, ops=168, syncs=168),
)
ENOUGH = replace(SYNCED, ops=500, elapsed_s=0.0053, settings=SyncWrites(seconds=1.4, enough_ops=500))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": (PARTLY_TRACED,)}, "so it ran for only 10\xa0% of the time of"),
        ({"steps": (FAILED,)}, "O_DIRECT failed: pwrite: Input/output error"),
        ({"steps": (SKIPPED,)}, "O_DIRECT skipped: no O_DIRECT on tmpfs"),
        ({"steps": (ENOUGH,)}, "fdatasync: ended after 500 operations in 5.3 ms, as planned"),
        ({"verdict": "cannot-tell", "findings": ()}, "? CANNOT TELL"),
        ({"status": "failed"}, "· failed ·"),
        ({"simulated": "a lying disk"}, "SIMULATED: a lying disk."),
        ({"left_behind": ("/srv/.fstui-k3f9a1",)}, "  /srv/.fstui-k3f9a1"),
    ],
)
def test_what_is_unusual_about_a_run_is_named(changes: dict[str, Any], words: str) -> None:
    assert words in run_as_text(replace(RUN, **changes))
    assert words not in run_as_text(RUN)


def test_steps_that_ended_alike_are_named_in_one_line() -> None:
    early = [replace(step, status="finished", reason="ended early") for step in RUN.steps[:2]]
    names = ", ".join(f"'{step.name}'" for step in early)
    assert f"{names}: ended early" in run_as_text(replace(RUN, steps=(*early, replace(SYNCED, reason=None))))
    assert "all steps: ended early" in run_as_text(replace(RUN, steps=tuple(early)))


def test_a_simulated_run_is_not_saved_and_not_named() -> None:
    run = replace(RUN, simulated="a lying disk")
    assert run_as_text(run).endswith("not saved: simulated disk\n")
    assert run_as_text(run, "brief").endswith("not saved\n")
    assert "not saved" not in run_as_text(RUN)


def test_a_step_in_one_line() -> None:
    assert step_line(SYNCED, Counts(RUN)) == (
        "fdatasync 840/s · p50 1.2 ms  p99 5.9 ms  max 28.0 ms · 1.00 flushes per sync"
    )
    assert step_line(FAILED, Counts(RUN)) == "O_DIRECT: failed, pwrite: Input/output error"


@pytest.mark.parametrize(
    ("seconds_", "words"), [(14.0, "about 14.0 s, longer on slow storage"), (None, "until stopped")]
)
def test_a_plan_says_where_how_long_and_how_much(seconds_: float | None, words: str) -> None:
    planned = Plan(
        scenario=ScenarioRef(name="fsync-rate", title="t"), question="How many durable commits a second?", help="",
        steps=(PlannedStep(name="fsync", settings=SyncWrites()),
               PlannedStep(name="O_DIRECT", settings=SyncWrites(), skip="tmpfs cannot")),
        seconds=seconds_, max_bytes=2**30, peak_bytes=2**20, command="fstui run fsync-rate /srv/data",
    )  # fmt: skip
    text = as_text(plans.plan_report(planned, TARGET))
    assert words in text
    assert "/srv/data" in text and "1.0 G" in text
    assert "skipped: tmpfs cannot" in text


def test_a_plan_names_the_options_of_its_servers() -> None:
    loads = Sysbench(server="postgresql", options={"shared_preload_libraries": "x", "fsync": False})
    named = replace(loads, host="db7")
    planned = Plan(
        scenario=ScenarioRef(name="mine", title="t"), question="", help="", seconds=1.0, max_bytes=1, peak_bytes=1,
        steps=tuple(PlannedStep(name=str(at), settings=each) for at, each in enumerate((loads, named, loads), 1)),
        command="fstui run mine.toml /srv/data",
    )  # fmt: skip
    text = as_text(plans.plan_report(planned, TARGET))
    assert "  step 1, 3: shared_preload_libraries = x, fsync = False" in text.splitlines()
    assert "get these options" not in as_text(plans.plan_report(replace(planned, steps=planned.steps[1:2]), TARGET))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_ascii(encoding: str) -> None:
    text = printable(run_as_text(RUN), encoding)
    text.encode(encoding)
    assert "\\u" not in text and "\\x" not in text
    assert printable("✓ 4 µs", "utf-8") == "✓ 4 µs"


def test_json_is_the_run_document_on_one_line() -> None:
    line = json_report.line(RUN)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode_run(line) == RUN
    assert json.loads(line)["target"]["stack"][2]["medium"]["class"] == "hdd-7200"


def test_csv_has_one_row_per_step_with_units_in_its_names() -> None:
    first, second = csv_rows(run_as_text(RUN, "csv"))
    assert (second["name"], second["rate_per_s"], second["latency_p99_ns"]) == ("fdatasync", "840.0", "5900000")
    assert (second["flushes_per_sync"], second["bytes_ratio"]) == ("1.0", "1.0")
    assert (first["flushes"], first["flushes_per_sync"]) == ("0", "")
    assert second["latency_p99_9_ns"] == ""


def test_csv_has_errors_and_a_header_without_steps() -> None:
    assert csv_rows(run_as_text(FAILED_RUN, "csv"))[1]["error"] == "pwrite: Input/output error"
    assert run_as_text(replace(RUN, steps=()), "csv").splitlines() == run_as_text(RUN, "csv").splitlines()[:1]


def test_markdown_has_the_verdict_before_the_tables() -> None:
    text = run_as_text(RUN, "markdown")
    order = ["### odirect", "**! SUSPICIOUS", "One 16 KiB block", "**Because**", "**Next**", "FINDING", "| STEP"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "VBOX HARDDISK hdd-7200 (declared)" in text


def test_every_row_of_a_markdown_table_has_all_cells() -> None:
    for run in (RUN, FAILED_RUN, everywhere(RUN)):
        for table in re.findall(r"(?:^\|.*\n)+", run_as_text(run, "markdown"), re.M):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_names_from_the_system_are_no_markup() -> None:
    text = re.sub("```text.*?```", "", run_as_text(everywhere(RUN), "markdown"), flags=re.DOTALL)
    assert "<b>" not in text and r"\<b\>" in text
    assert not re.search(r"(?<!\\)\*x", text)


def test_both_answers_why_what_next_and_where_to_look() -> None:
    run = replace(screens.RUN, speed=Speed(answer="stalls", title="412 ms for one operation of fdatasync"))
    lines = run_as_text(run, "brief").splitlines()
    assert 6 <= len(lines) <= 9
    assert lines[0].startswith("! SUSPICIOUS  high confidence · odirect-truth on /srv/data")
    assert lines[1] == "▲ STALLS  412 ms for one operation of fdatasync"
    assert [line.split()[0] for line in lines[3:5]] == ["because", "next"]
    assert "812/s" in lines[5] and lines[-1].endswith("fstui show k3f9a1")


def test_slow_storage_gets_the_next_step_about_its_speed() -> None:
    run = replace(screens.RUN, verdict="consistent", speed=SLOW)
    assert f"next     {SLOW.next[0]}" in run_as_text(run, "brief").splitlines()


def test_a_stopped_run_is_never_shown_as_a_whole_one() -> None:
    assert run_as_text(screens.RUN, "brief").endswith(" · 14.6 s · fstui show k3f9a1\n")
    stopped = run_as_text(replace(screens.RUN, status="stopped"), "brief")
    assert stopped.endswith(" · 14.6 s · stopped · fstui show k3f9a1\n")


def test_any_run_has_few_lines() -> None:
    for run in (samples.RUN, samples.FAILED_RUN, screens.RUN, Run(id="x", started_at="")):
        assert len(run_as_text(run, "brief").splitlines()) <= 9


SLOW = Speed(
    answer="slow",
    yardstick="5 earlier runs",
    title="12.0/s, slower than 5 earlier runs: an I/O limit of the cgroup applies",
    sentence="fdatasync did 12.0/s in 1.0 s.",
    evidence=("fdatasync: 12.0/s; the median is 840/s",),
    next=("Raise the limit, or run in another cgroup.",),
)
SLOW_RUN = replace(RUN, speed=SLOW)


def test_plain_has_both_headlines_then_their_reasons() -> None:
    lines = run_as_text(SLOW_RUN).splitlines()
    at = lines.index("! SUSPICIOUS  high confidence")
    assert lines[at + 1] == "  ! SLOW  12.0/s, slower than 5 earlier runs: an I/O limit of the cgroup applies"
    second = lines.index("Is it slow?")
    assert lines[second + 1 : second + 4] == [
        "  fdatasync did 12.0/s in 1.0 s.",
        "  because  fdatasync  12.0/s; the median is 840/s",
        "  next     Raise the limit, or run in another cgroup.",
    ]
    assert max(map(len, lines)) <= 80


def test_every_format_shows_the_speed() -> None:
    assert "- ! SLOW" in run_as_text(SLOW_RUN, "markdown") and "**Is it slow?**" in run_as_text(SLOW_RUN, "markdown")
    assert {row["speed"] for row in csv_rows(run_as_text(SLOW_RUN, "csv"))} == {"slow"}
    assert json.loads(run_as_text(SLOW_RUN, "json"))["speed"]["answer"] == "slow"
    assert 'speed="slow"} 1.0' in run_as_text(SLOW_RUN, "prometheus")
    assert 'speed="normal"} 0.0' in run_as_text(SLOW_RUN, "prometheus")


def test_steps_that_the_verdict_is_based_on_are_marked() -> None:
    *others, leading = RUN.findings
    names = tuple(step.name for step in RUN.steps)
    some, all_ = (replace(RUN, findings=(*others, replace(leading, steps=steps))) for steps in (names[1:], names))
    lines = run_as_text(some).splitlines()
    assert [line.split("  ")[0] for line in lines if line.startswith(names)] == ["write, no sync", "fdatasync\xa0*"]
    assert "* the verdict is based on these steps" in lines
    assert "| fdatasync\xa0\\* |" in run_as_text(some, "markdown")
    assert "*" not in run_as_text(all_)


def test_the_mark_of_a_step_stays_with_its_name() -> None:
    *others, leading = RUN.findings
    named = replace(SYNCED, name="overwrite 8 KiB, fdatasync")
    findings = (*others, replace(leading, steps=(named.name,)))
    lines = run_as_text(replace(RUN, steps=(*RUN.steps, named), findings=findings)).splitlines()
    assert "fdatasync\xa0*" in lines


def test_an_older_document_shows_no_speed() -> None:
    assert "slow?" not in run_as_text(RUN).lower()
    assert "fstui_speed" not in str(formats.render("prometheus", RUN))
    assert "speed" not in as_text(compare.comparison_report([RUN, RUN])).lower()


def test_a_comparison_and_the_history_show_the_speed() -> None:
    assert "SPEED" in (compared := as_text(compare.comparison_report([RUN, SLOW_RUN]))) and "! slow" in compared
    line = Summary(path="/x", id="k3f9a1", started_at="2026-11-20T03:12:44+01:00", verdict="consistent")
    _, first, second = as_text(history.history_report([replace(line, speed="stalls"), line])).splitlines()
    assert "▲ stalls" in first and "stalls" not in second
