import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import DeviceCounters, Idle
from fstui.model.judgement import Finding, Fit, Speed, Verdict
from fstui.model.run import Run
from fstui.model.steps import Failure, Step
from fstui.report import formats
from fstui.report.findings import ordered
from fstui.tui.drawing import report
from fstui.tui.drawing import result as drawing
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.page_screen import PageScreen
from fstui.tui.screens.result import ResultScreen
from tests.factories import saved_runs, screens
from tests.factories.databases import database
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines

SAVED = "/home/me/.local/state/fstui/runs/20261120-031244-k3f9a1.json"


@asynccontextmanager
async def opened(
    run: Run = screens.RUN, saved_to: str | None = SAVED, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Pilot[int]]:
    app = PreparedApp()
    async with app.run_test(size=size) as pilot:
        app.open_result(run, saved_to, "/srv/data")
        await pilot.pause()
        yield pilot


async def test_selecting_a_finding_moves_nothing_below() -> None:
    async with opened() as pilot:
        before = screen_lines(pilot.app)
        await pilot.press("down", "down")
        after = screen_lines(pilot.app)
        assert after[2] == "   0.99 to 1.03 flushes per sync at sda"
        assert [at for at, line in enumerate(before) if "findings" in line] == [
            at for at, line in enumerate(after) if "findings" in line
        ]
        assert any(line.startswith("▌  flushes-arrive") for line in after)


async def test_a_low_explanation_has_a_sentence_next_and_evidence() -> None:
    finding = msgspec.structs.replace(
        screens.TOO_FAST,
        sentence=f"The rate is too high. {'Nothing is proven further down. ' * 30}",
        next=("Switch the cache off.", "Run again."),
        evidence=("sda: 5 400/s (limit 90/s)", *(f"sd{letter}: {'x' * 40} (limit 90/s)" for letter in "bcdefgh")),
    )
    run = msgspec.structs.replace(screens.RUN, findings=(finding,), sentence=finding.sentence)
    async with opened(run) as pilot:
        lines = [line.strip() for line in screen_lines(pilot.app)]
        assert lines[2:4] == ["The rate is too high.", "next     Switch the cache off."]
        assert lines[4].split() == ["because", "sda", "5", "400/s"] and "more (PgDn)" in "".join(lines[5:14])
        await pilot.press("pagedown")
        assert "Nothing is proven" in screen_lines(pilot.app)[2]


async def test_published_rates_are_below_the_steps() -> None:
    async with opened(msgspec.structs.replace(screens.RUN, verdict="consistent")) as pilot:
        assert not any("Samsung" in line for line in screen_lines(pilot.app))
        await pilot.press("end")
        lines = screen_lines(pilot.app)
        assert any(line.startswith("▌- published rates") for line in lines)
        assert "published rates for" in lines[2]
        await pilot.press("v")
        page = screen_lines(pilot.app)
        assert any("here, 16 KiB" in line and "▸" in line for line in page)
        assert max(map(len, page)) <= 80
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_products_that_it_is_fast_enough_for_are_below() -> None:
    etcd = Fit(product="etcd", does="", answer="fits", measured="900/s", required="50/s", step="log", source="etcd.io")
    async with opened(msgspec.structs.replace(screens.RUN, verdict="consistent", fit=(etcd,))) as pilot:
        await pilot.press("end", "up", "up", "v")
        assert any(line.split() == ["etcd", "✓", "fits", "900/s", "50/s"] for line in screen_lines(pilot.app))


NORMAL = Speed(answer="normal", title="fsync 797/s; enough for etcd")
DURABLE, LOSSY = (database("oltp_read_write", tps, 90, durable=tps < 50) for tps in (15.49, 102.0))


async def test_tables_of_databases_are_below_the_steps() -> None:
    async with opened(msgspec.structs.replace(screens.RUN, steps=(DURABLE, LOSSY))) as pilot:
        assert isinstance(pilot.app.screen, ResultScreen)
        names = [detail.title for detail in pilot.app.screen.details]
        assert names[:2] == ["Durable against not durable", "Workloads by configuration"]
        await pilot.press("end", "v")
        page = "\n".join(screen_lines(pilot.app))
        assert isinstance(pilot.app.screen, PageScreen) and "MariaDB 10.11.19" in page
        assert "Durable against not durable" in [title for title, _ in pilot.app.screen.cards]


async def test_a_run_of_databases_opens_with_their_rates() -> None:
    run = msgspec.structs.replace(screens.RUN, verdict="consistent", speed=NORMAL, steps=(DURABLE, LOSSY))
    async with opened(run) as pilot:
        lines = screen_lines(pilot.app)
        assert "MariaDB 10.11.19: 15.5 tx/s synced, 102 tx/s unsynced" in lines[2]
        assert lines[4].split()[:5] == ["MariaDB", "10.11.19", "read_write", "durable", "15.5"]
        assert lines[5].split()[2:6] == ["read_write", "not", "durable", "102"]


@pytest.mark.parametrize(("verdict", "section"), [("consistent", True), ("cannot-tell", True), ("not-durable", False)])
async def test_a_slow_result_opens_with_the_reason(verdict: Verdict, section: bool) -> None:
    run = msgspec.structs.replace(screens.RUN, verdict=verdict, speed=STALLED)
    async with opened(run) as pilot:
        assert isinstance(pilot.app.screen, ResultScreen)
        assert (pilot.app.screen.chosen == pilot.app.screen.details[0]) == section


async def test_a_fit_opens_with_the_products() -> None:
    etcd = Fit(product="etcd", does="", answer="fits", measured="900/s", required="50/s", step="log", source="etcd.io")
    fit = msgspec.structs.replace(screens.SCENARIO, name="fit")
    run = msgspec.structs.replace(screens.RUN, verdict="consistent", speed=NORMAL, scenario=fit, fit=(etcd,))
    async with opened(run) as pilot:
        lines = screen_lines(pilot.app)
        assert "fits etcd" in lines[2] and lines[4].split() == ["etcd", "✓", "fits", "900/s", "50/s"]


async def test_a_step_without_a_rate_is_shown_in_words() -> None:
    async with opened(msgspec.structs.replace(screens.RUN, steps=(screens.FLUSHING,))) as pilot:
        await pilot.press("end", "up")
        lines = screen_lines(pilot.app)
        assert any(line.startswith("▌  flush of") and line.endswith("flush 124 µs, +400 µs/MiB") for line in lines)
        assert any("124 µs, +400 µs/MiB" in line and "measured" not in line for line in lines[3:8])
        assert not any("whole operation" in line for line in lines)


async def test_a_failed_step_names_its_call() -> None:
    failed = Step(
        name="fsync", settings=SyncWrites(), status="failed", error=Failure(call="fsync", errno=5, message="I/O error")
    )
    async with opened(msgspec.structs.replace(screens.RUN, steps=(failed,), status="failed")) as pilot:
        await pilot.press("end")
        assert any("fsync: failed. fsync: I/O error" in line for line in screen_lines(pilot.app))
        assert screen_lines(pilot.app)[0].endswith("failed")


async def test_a_failure_to_save_or_remove_is_shown() -> None:
    async with opened(saved_to=None) as pilot:
        assert "not saved" in screen_lines(pilot.app)[-2]
    async with opened(msgspec.structs.replace(screens.RUN, left_behind=("/srv/data/.fstui-k3f9a1",))) as pilot:
        assert "could not be removed: /srv/data/.fstui-k3f9a1" in screen_lines(pilot.app)[-2]


async def test_copying_a_summary_or_everything() -> None:
    async with opened() as pilot:
        await pilot.press("y")
        assert pilot.app.clipboard.startswith("! SUSPICIOUS")
        assert 6 <= len(pilot.app.clipboard.splitlines()) <= 9
        await pilot.press("Y")
        assert pilot.app.clipboard.startswith("### ")


def test_a_hostile_name_cannot_choose_the_export_directory() -> None:
    scenario = msgspec.structs.replace(screens.SCENARIO, name="x/../../there\0")
    files = formats.files(msgspec.structs.replace(screens.RUN, scenario=scenario))
    assert files and not any("/" in name or "\0" in name for name in files)


async def test_export_names_the_directory_before_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", str(tmp_path))
    async with opened() as pilot:
        await pilot.press("e", "escape", "e")
        assert f"files into {tmp_path}" in "".join(screen_lines(pilot.app)[-4:]) and not os.listdir(tmp_path)
        await pilot.press("e")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert any(line.startswith(" Exported") for line in screen_lines(pilot.app))
    endings = sorted(filter(None, (formats.format_of(name).EXTENSION for name in formats.names())))
    assert {"csv", "json", "md"} <= set(endings)
    assert sorted(os.listdir(tmp_path)) == [f"fstui-odirect-truth-k3f9a1.{ending}" for ending in endings]
    with open(tmp_path / "fstui-odirect-truth-k3f9a1.json", "rb") as exported:  # noqa: ASYNC230
        assert decode_run(exported.read()) == screens.RUN


@pytest.mark.parametrize("downs", [0, len(screens.RUN.findings)], ids=["a finding", "a step"])
async def test_x_explains_the_selected_or_the_first_finding(downs: int) -> None:
    async with opened() as pilot:
        await pilot.press(*["down"] * downs, "x")
        assert isinstance(pilot.app.screen, PageScreen)
        assert "same-block-rotation" in screen_lines(pilot.app)[0]
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_a_rule_of_another_version_has_no_page() -> None:
    replace = msgspec.structs.replace
    other = replace(screens.RUN, findings=(replace(screens.RUN.findings[0], rule="rule-of-tomorrow"),))
    async with opened(other) as pilot:
        await pilot.press("x")
        assert isinstance(pilot.app.screen, ResultScreen)
        assert any("no rule rule-of-tomorrow" in line for line in screen_lines(pilot.app))


async def test_the_history_opens_a_saved_run() -> None:
    path = saved_runs.save(screens.RUN)
    (path.parent / "notes.json").write_text("{}")
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "h")
        assert isinstance(pilot.app.screen, HistoryScreen)
        assert any(line.startswith(" ! 20 Nov 03:12") and "suspicious" in line for line in lines)
        assert any("unreadable" in line for line in lines)
        lines = await press(pilot, "enter")
        assert isinstance(pilot.app.screen, ResultScreen)
        assert str(path)[-40:] in lines[-2]


async def test_the_history_marks_a_stopped_run() -> None:
    saved_runs.save(msgspec.structs.replace(screens.RUN, status="stopped"))
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await press(pilot, "h")
        assert lines[0].endswith(" 1 saved run")
        assert any("(stopped)" in line for line in lines)


def older() -> Run:
    steps = tuple(msgspec.structs.replace(step, rate_per_s=step.rate_per_s / 2) for step in screens.STEPS)
    return msgspec.structs.replace(screens.RUN, id="a1b2c3", started_at="2026-10-01T08:00:00+00:00", steps=steps)


async def test_the_page_of_a_step_shows_its_latency_once() -> None:
    async with opened(size=(100, 100)) as pilot:
        lines = await press(pilot, *["down"] * (len(screens.RUN.findings) + 3), "v")
        assert isinstance(pilot.app.screen, PageScreen)
        assert any("── latency: fdatasync ──" in line for line in lines)
        assert sum("  0 s  " in line for line in lines) == 1


async def test_another_saved_run_is_compared_with_this_one() -> None:
    saved_runs.save(older())
    async with opened() as pilot:
        assert "compare k3f9a1 with" in (await press(pilot, "c"))[0]
        lines = await press(pilot, "enter")
        assert isinstance(pilot.app.screen, PageScreen)
        assert lines[1].startswith(" With one run of each, B was faster in 7 of 7 steps")
        assert [line.split()[:2] for line in lines[4:6]] == [["A", "a1b2c3"], ["B", "k3f9a1"]]
        (row,) = [y for y, line in enumerate(lines) if line.startswith("   O_DIRECT  ")]
        assert "2.00 ×" in lines[row + 1], "the row of B is below that of A"
        assert max(map(len, screen_lines(pilot.app))) <= 80
        await pilot.press("escape", "escape")
        assert isinstance(pilot.app.screen, ResultScreen)


async def test_a_comparison_starts_on_the_run_before() -> None:
    assert screens.RUN.scenario
    scenario = msgspec.structs.replace(screens.RUN.scenario, name="fsync-rate")
    newer = msgspec.structs.replace(older(), id="d4e5f6", started_at="2026-12-01T08:00:00+00:00")
    other = msgspec.structs.replace(older(), id="g7h8i9", started_at="2026-10-02T08:00:00+00:00", scenario=scenario)
    for run in (older(), other, newer, screens.RUN):
        saved_runs.save(run)
    async with opened() as pilot:
        await press(pilot, "c")
        screen = pilot.app.screen
        assert isinstance(screen, HistoryScreen)
        assert screen.chosen is not None and screen.chosen.id == "a1b2c3"


async def test_a_comparison_in_the_history_can_be_cancelled() -> None:
    saved_runs.save(older())
    saved_runs.save(screens.RUN)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        assert "compare k3f9a1 with" in (await press(pilot, "h", "c"))[0]
        assert any("This is the same run" in line for line in await press(pilot, "up", "enter"))
        assert "history" in (await press(pilot, "escape"))[0]
        lines = await press(pilot, "c", "down", "c")
        assert [line.split()[1] for line in lines[4:6]] == ["a1b2c3", "k3f9a1"]


STALLED = Speed(
    answer="stalls",
    yardstick="the longest pause of a healthy device",
    title="412 ms for one operation of fdatasync",
    sentence="One operation of “fdatasync” took 412 ms: 1 stall in 1.0 s.",
    evidence=("fdatasync: 412 ms at worst, p50 1.1 ms",),
    next=("Look at dmesg.",),
)


@pytest.mark.parametrize("height", [4, 5])
def test_the_next_step_is_complete_if_there_is_little_room(height: int) -> None:
    sentence = f"{STALLED.sentence} sda itself never took longer than 7 ms. {'It was frozen. ' * 9}"
    finding = Finding(
        rule=report.IS_IT_SLOW, verdict=None, confidence="low", scope="storage", title="412 ms", sentence=sentence,
        next=("Find out what froze it: a backup, a snapshot, the hypervisor's guest agent, or fsfreeze.",),
    )  # fmt: skip
    lines = [text.plain.strip() for text in drawing.explanation(screens.RUN, finding, 80, height - 1)]
    assert lines[-2] == "guest agent, or fsfreeze." and lines[-1].endswith("more (PgDn)")
    assert (STALLED.sentence in lines) == (height == 5)
    long_sentence = msgspec.structs.replace(finding, sentence="A long sentence has many words. ".replace(". ", " ") * 9)
    lines = [text.plain for text in drawing.explanation(screens.RUN, long_sentence, 80, height)]
    assert (lines[height - 4].endswith(" …"), len(lines)) == (True, height)


@pytest.mark.parametrize(("width", "shown"), [
    (120, "412 ms for one operation of “fdatasync”: others flushed"), (54, "412 ms for one operation: others flushed"),
])  # fmt: skip
def test_a_short_stall_says_that_one_operation_took_this_time(width: int, shown: str) -> None:
    speed = msgspec.structs.replace(STALLED, title="412 ms for one operation of “fdatasync”: others flushed (a, b)")
    (line,) = drawing.speed(msgspec.structs.replace(screens.RUN, verdict="consistent", speed=speed), width)
    assert line.plain.removeprefix(" ▲ STALLS  ") == shown


async def test_the_speed_is_below_the_verdict() -> None:
    run = msgspec.structs.replace(screens.RUN, speed=STALLED)
    async with opened(run) as pilot:
        lines = screen_lines(pilot.app)
        assert lines[1].startswith(" ! SUSPICIOUS")
        assert lines[2] == " ▲ STALLS  412 ms for one operation of fdatasync"
        assert len(lines) == 24 and "saved" in lines[-2]
        for _ in range(len(run.findings) + len(run.steps)):
            await pilot.press("down")
        assert any("412 ms: 1 stall" in line for line in screen_lines(pilot.app))
        await pilot.press("x")
        await pilot.pause()
        await pilot.pause()
        assert isinstance(pilot.app.screen, PageScreen)
        assert any("compared the rates of synced writes" in line for line in screen_lines(pilot.app))


@pytest.mark.parametrize(("size", "row"), [
    ((80, 24), "+ is it slow?"), ((200, 60), "- is it slow?"), ((200, 60), "- I/O path: same block, fdatasync"),
])  # fmt: skip
async def test_rows_show_which_sections_are_open(size: tuple[int, int], row: str) -> None:
    speed = Speed(answer="normal", title="fsync 797/s", sentence="fsync did 797/s.", evidence=("fsync: 797/s",))
    async with opened(msgspec.structs.replace(screens.RUN, speed=speed), size=size) as pilot:
        await pilot.pause()
        listed = next(line for line in screen_lines(pilot.app) if row in line)
        assert ("open above" in listed) == row.startswith("-")


def test_a_column_of_bytes_without_values_is_omitted() -> None:
    def heading(run: Run) -> str:
        return drawing.steps(run, (), None, 120, 20)[0].plain

    steps = tuple(msgspec.structs.replace(step, counters=()) for step in screens.RUN.steps)
    assert "W-AMP" in heading(screens.RUN)
    assert "W-AMP" not in heading(msgspec.structs.replace(screens.RUN, steps=steps))


async def test_an_open_section_takes_the_room_of_the_io_path() -> None:
    async with opened(size=(120, 40)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        lines = screen_lines(pilot.app)
        assert sum("I/O path: " in line for line in lines[:20]) == 1, "the section itself, and no second path below"
        assert any("- I/O path: " in line and "open above" in line for line in lines)


async def test_the_map_of_a_slow_storage_shows_the_slow_step() -> None:
    speed = Speed(answer="stalls", title="412 ms for one operation of O_DIRECT", evidence=("O_DIRECT: 412 ms",))
    sentence = "barriers off: 797 syncs a second, and no flush reached sda."
    run = msgspec.structs.replace(screens.RUN, verdict="not-durable", sentence=sentence, speed=speed)
    async with opened(run, size=(120, 40)) as pilot:
        lines = screen_lines(pilot.app)
        assert any("── O_DIRECT ──" in line for line in lines), "the chart"
        assert any("── I/O path: fsync ──" in line for line in lines), "as quoted by the finding"


async def test_a_finding_about_one_step_has_no_verdict_colour() -> None:
    of_a_step = msgspec.structs.replace(screens.TOO_FAST, scope="step", verdict="not-durable", title="too fast")
    async with opened(msgspec.structs.replace(screens.RUN, findings=(of_a_step,))) as pilot:
        listed = next(line for line in screen_lines(pilot.app) if "too fast" in line)
        assert "same-block" in listed and "note" in listed and "not-durable" not in listed
    drawn = drawing.findings([of_a_step], None, 80, 5)[1]
    assert "red" not in " ".join(str(span.style) for span in drawn.spans)


async def test_a_comparison_has_help_and_can_be_copied() -> None:
    saved_runs.save(older())
    async with opened() as pilot:
        await press(pilot, "c", "enter", "y")
        assert "a1b2c3" in pilot.app.clipboard and "2.00 ×" in pilot.app.clipboard
        assert "Scroll" in "\n".join(await press(pilot, "question_mark"))
        await press(pilot, "q")
        assert isinstance(pilot.app.screen, PageScreen)


async def test_a_repeated_run_says_what_changed() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.repeated_run = older()
        app.open_run(screens.PreparedRun(screens.events()))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, ResultScreen)
        said = " ".join(screen_lines(app)[-3:])
        assert "since run a1b2c3: suspicious as before; rates 2.00 × the earlier ones" in said
        assert app.repeated_run is None
        for _ in range(len(screens.RUN.findings) + len(screens.RUN.steps)):
            await pilot.press("down")
        assert any("fdatasync" in line and line.endswith("2.00 ×") for line in await press(pilot, "v"))


async def test_enter_twice_shows_the_full_title_of_a_finding() -> None:
    title = "by others: vda 0.94 flushes/s, 3.76 writes/s, 2.10 MiB/s, and reads besides"
    finding = Finding(rule="other-writers", verdict=None, confidence="low", scope="storage", title=title)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_result(msgspec.structs.replace(screens.RUN, findings=(finding,)), None, None)
        await pilot.pause()
        assert any(line.endswith("by others: vda 0.94 flushes/s, 3.76 writes/s") for line in screen_lines(app))
        # the first Enter may have been meant for the run screen
        assert any("Enter again" in line for line in await press(pilot, "enter"))
        assert isinstance(app.screen, ResultScreen)
        lines = " ".join(" ".join(line.split()) for line in await press(pilot, "enter"))
        assert title in lines
        await press(pilot, "escape", "enter")  # as the help says, only the first time takes two
        assert not isinstance(app.screen, ResultScreen)


def test_steps_that_the_verdict_is_based_on_are_marked() -> None:
    lines = [line.plain.rstrip() for line in drawing.steps(screens.RUN, (), 0, 80, 12)]
    title, step = (line for line in lines if "*" in line)
    assert title.startswith("── STEP (* in verdict) ─") and step.startswith(" * same bloc")


@pytest.mark.parametrize("verdict", ["not-durable", "cannot-tell"])
def test_missing_flushes_are_red_if_not_durable(verdict: Verdict) -> None:
    step = screens.RUN.steps[2]
    unflushed = tuple(msgspec.structs.replace(device, flushes=0) for device in step.counters)
    step = msgspec.structs.replace(step, counters=unflushed)
    run = msgspec.structs.replace(screens.RUN, verdict=verdict, steps=(step,), findings=())
    drawn = drawing.steps(run, (), None, 80, 12)[1]
    red = [drawn.plain[span.start : span.end].strip() for span in drawn.spans if "red" in str(span.style)]
    assert red == (["0.00"] if verdict == "not-durable" else [])


def test_unknown_parts_of_counts_are_explained() -> None:
    busy = DeviceCounters(device="sda", writes=900, written_bytes=1 << 30, flushes=700, flush_ms=700)
    run = msgspec.structs.replace(screens.RUN, idle=Idle(elapsed_s=1.0, counters=(busy,)), findings=())
    lines = [line.plain.rstrip() for line in drawing.steps(run, (), 0, 140, 12)]
    reason = "fstui's share is unknown, because other processes or layers also wrote to sda"
    assert f"   – in FLUSH/SYNC: no syncs, or {reason}" in lines
    stalls = lines[0].index("STALLS")
    assert {line[stalls : stalls + 6].strip() for line in lines[1 : 1 + len(run.steps)]} == {"0"}
    detail = " ".join(line.plain for line in drawing.step_detail(run.steps[3], run, 120))
    assert "1\xa0680 flushes, of all processes" in detail
    alone = msgspec.structs.replace(run, idle=None)
    assert not any("other processes" in line.plain for line in drawing.steps(alone, (), 0, 80, 12))


def test_the_map_shows_the_step_of_the_speed() -> None:
    speed = Speed(answer="normal", title="fsync 797/s", evidence=("fsync: 797/s; 83/s is slow",))
    run = msgspec.structs.replace(screens.RUN, speed=speed)
    first, *others = ordered(run)
    for finding in (None, first):
        step = drawing.step_of_finding(run, finding)
        assert step and step.name == "fsync"
    other = msgspec.structs.replace(others[0], steps=("O_DIRECT",))
    step = drawing.step_of_finding(run, other)
    assert step and step.name == "O_DIRECT"


def test_the_map_shows_the_step_whose_rate_is_quoted() -> None:
    run = msgspec.structs.replace(screens.RUN, sentence="barriers off: 797 syncs a second, and no flush reached sda.")
    step = drawing.step_of_finding(run, None)
    assert step and step.name == "fsync"


def test_settings_of_a_step_are_in_words() -> None:
    step = screens.RUN.steps[2]
    detail = " ".join(" ".join(line.plain.split()) for line in drawing.step_detail(step, screens.RUN, 100))
    assert "settings 2 s, block 16 KiB, file 64.0 MiB, offsets random, O_DIRECT + O_DSYNC, 1 writer" in detail
    assert "at most 256.0 MiB/s" in detail and step.status not in detail


@pytest.mark.parametrize(("height", "shown"), [(24, False), (40, True)])
async def test_a_wide_result_shows_the_path_if_it_is_high(height: int, shown: bool) -> None:
    async with opened(size=(120, height)) as pilot:
        assert any("╭── I/O path: " in line for line in screen_lines(pilot.app)) == shown


async def test_empty_parts_of_a_frame_show_further_sections() -> None:
    async with opened(msgspec.structs.replace(screens.RUN, speed=STALLED), size=(120, 60)) as pilot:
        lines = screen_lines(pilot.app)
        assert any("├── is it slow? ──" in line for line in lines)
        assert lines == await press(pilot, "pagedown")


async def test_a_wide_terminal_shows_full_rule_names() -> None:
    finding = Finding(
        rule="odirect-before-platter", verdict="not-durable", confidence="high", scope="step", title="O_DIRECT 820/s"
    )
    app = PreparedApp()
    async with app.run_test(size=(200, 60)) as pilot:
        app.open_result(msgspec.structs.replace(screens.RUN, findings=(finding,)), None, None)
        await pilot.pause()
        assert any(line.startswith("│▌  odirect-before-platter  note") for line in screen_lines(app))


@pytest.mark.parametrize(
    ("simulated", "why"), [("hdd-7200", "simulated disk"), ("replay of k3f9a1", "the replay of a saved run")]
)
def test_the_reason_for_an_unsaved_run_is_named(simulated: str, why: str) -> None:
    run = msgspec.structs.replace(screens.RUN, simulated=simulated)
    assert drawing.saved(run, None, None, 80).plain.rstrip().endswith(why)


async def test_title_of_a_box_stays_while_it_is_scrolled() -> None:
    app = PreparedApp()
    async with app.run_test(size=(120, 24)) as pilot:
        app.open_result(screens.RUN, None, "/srv/data")
        await pilot.pause()
        before = screen_lines(app)
        await pilot.press("pagedown")
        await pilot.pause()
        after = screen_lines(app)
    assert before != after
    assert [line for line in before if "╭" in line] == [line for line in after if "╭" in line]
