import pytest
from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.plan import Plan, PlannedStep
from fstui.model.run import Run, ScenarioRef
from fstui.report import plans, ruler
from fstui.report.characters import printable
from fstui.report.figures import Counts, step_line
from tests.factories.samples import FAILED, FAILED_RUN, RUN, SYNCED, TARGET, nasty
from tests.printing import printed, printed_run


def test_the_whole_result_in_plain_text() -> None:
    assert printed_run(RUN, saved_to="/home/ann/k3f9a1.json").splitlines() == [
        "odirect-truth on /srv/data",
        "",
        "ext4 › sda1 › sda",
        "db7, Linux 6.8.0-45 · 20 Nov 2026 03:12 · 14.6 s · run k3f9a1",
        "",
        "! SUSPICIOUS  high confidence",
        "  One 16 KiB block was rewritten and synced 840 times a second. A 7200 rpm disk",
        "  turns 120 times a second.",
        "  because  same block, fdatasync  840/s, limit 120/s",
        "           sda                    1 680 flushes for 1 680 syncs",
        "  next     VirtualBox: set IgnoreFlush to 0 for this disk, then run again.",
        "",
        "2 findings",
        "   FINDING              VERDICT     CONFIDENCE  WHAT",
        "!  same-block-rotation  suspicious  high        840/s, 7200 rpm allows 120",
        "   odirect-alone        note        high        0 flushes: not durable by itself",
        "",
        "STEP             RATE/S     P50     P99      MAX  FLUSH/SYNC  BYTES",
        "write, no sync  211 402  1.2 ms  5.9 ms  28.0 ms           –   0.00",
        "fdatasync           840  1.2 ms  5.9 ms  28.0 ms        1.00   1.00",
        "",
        "I/O path of fdatasync",
        "  fstui requested 1 680 writes, 26.2 MiB, 1 680 syncs",
        "  │",
        "  ext4 /srv   expects 1 for each sync",
        "  │ 26.2 MiB (1.00), flushes not counted",
        "  sda1  partition",
        "  │ 26.2 MiB (1.00), 1 680 flushes (1.00 a sync), ? other processes wrote",
        "  sda  VBOX HARDDISK, hdd-7200",
        "",
        *ruler.of_run(RUN),
        "",
        "Devices: sda: VBOX HARDDISK hdd-7200 (declared) · fstui 0.1.0",
        "",
        "saved /home/ann/k3f9a1.json",
    ]


def test_a_failed_step_says_which_call_failed_and_how() -> None:
    text = printed_run(FAILED_RUN)
    assert "O_DIRECT failed: pwrite: Input/output error" in text
    assert "? CANNOT-TELL" in text
    assert "· failed ·" in text


def test_a_skipped_step_says_why() -> None:
    step = replace(FAILED, status="skipped", error=None, reason="no O_DIRECT on tmpfs")
    assert "O_DIRECT skipped: no O_DIRECT on tmpfs" in printed_run(replace(RUN, steps=(step,)))


def test_simulation_and_leftovers_are_named() -> None:
    text = printed_run(replace(RUN, simulated="a lying disk", left_behind=("/srv/.fstui-k3f9a1",)))
    assert "SIMULATED: a lying disk." in text
    assert "  /srv/.fstui-k3f9a1" in text


def test_a_run_without_steps_can_be_shown() -> None:
    text = printed_run(Run(id="a", started_at="2026-11-20T03:12:44+01:00"))
    assert "? CANNOT-TELL" in text


def test_no_line_of_a_usual_run_is_wider_than_a_terminal() -> None:
    assert max(map(len, printed_run(RUN).splitlines())) <= 80


def test_names_are_escaped() -> None:
    assert all(character.isprintable() or character == "\n" for character in printed_run(nasty()))


def test_a_step_in_one_line() -> None:
    assert step_line(SYNCED, Counts(RUN)) == (
        "fdatasync 840/s · p50 1.2 ms  p99 5.9 ms  max 28.0 ms · 1.00 flushes per sync"
    )
    assert step_line(FAILED, Counts(RUN)) == "O_DIRECT: failed, pwrite: Input/output error"


@pytest.mark.parametrize(("seconds_", "words"), [(14.0, "about 14.0 s"), (None, "until it is stopped")])
def test_a_plan_says_where_how_long_and_how_much(seconds_: float | None, words: str) -> None:
    planned = Plan(
        scenario=ScenarioRef(name="fsync-rate", title="t"), question="How many durable commits a second?", help="",
        steps=(PlannedStep(name="fsync", settings=SyncWrites()),
               PlannedStep(name="O_DIRECT", settings=SyncWrites(), skip="tmpfs cannot")),
        seconds=seconds_, max_bytes=2**30, room_bytes=2**20, command="fstui run fsync-rate /srv/data",
    )  # fmt: skip
    text = printed(plans.of_plan(planned, TARGET))
    assert words in text
    assert "/srv/data" in text and "1.0 G" in text
    assert "skipped: tmpfs cannot" in text


def test_a_plan_names_the_options_of_its_servers() -> None:
    loads = Sysbench(server="postgresql", options={"shared_preload_libraries": "x", "fsync": False})
    named = replace(loads, host="db7")
    planned = Plan(
        scenario=ScenarioRef(name="mine", title="t"), question="", help="", seconds=1.0, max_bytes=1, room_bytes=1,
        steps=tuple(PlannedStep(name=str(at), settings=each) for at, each in enumerate((loads, named, loads), 1)),
        command="fstui run mine.toml /srv/data",
    )  # fmt: skip
    text = printed(plans.of_plan(planned, TARGET))
    assert "  step 1, 3: shared_preload_libraries = x, fsync = False" in text.splitlines()
    assert "get these options" not in printed(plans.of_plan(replace(planned, steps=planned.steps[1:2]), TARGET))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_ascii(encoding: str) -> None:
    text = printable(printed_run(RUN), encoding)
    text.encode(encoding)
    assert "\\u" not in text and "\\x" not in text
    assert printable("✓ 4 µs", "utf-8") == "✓ 4 µs"
