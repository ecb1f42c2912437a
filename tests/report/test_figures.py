from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fstui.judge import judge
from fstui.measure.kinds.dirty_flush import DirtyFlush, DirtyFlushFigures, Growth
from fstui.model.counters import DeviceCounters, Idle
from fstui.model.host import OtherWriter
from fstui.model.run import Evidence
from fstui.model.steps import Failure, Snapshot, Step
from fstui.model.storage import Node, Reading, Target
from fstui.report import compare, figures, findings
from fstui.report.figures import Counts
from fstui.report.stack import stack_line
from fstui.report.text import NONE
from tests.factories import steps as made
from tests.factories import storage
from tests.factories.evidence import evidence
from tests.factories.samples import DISK, FAILED, FILESYSTEM, NOTE, ROTATION, RUN, SYNCED, TARGET, UNSYNCED
from tests.printing import as_text, run_as_text


def stacked(*nodes: Node) -> Target:
    return replace(TARGET, stack=nodes)


def ratios(seen: Evidence) -> tuple[float | None, float | None]:
    """Return the flushes per sync, and the share of the bytes that arrived."""
    (step,) = seen.steps
    counts = Counts(seen)
    return counts.flushes_per_sync(step, step.settings), counts.bytes_ratio(step)


def counted(step: Step, target: Target | None = TARGET) -> tuple[float | None, float | None]:
    return ratios(Evidence(target=target, steps=(step,)))


def on_sda(step: Step, **device: Any) -> Evidence:
    return evidence(storage.on_disk(storage.filesystem(), storage.disk(**device)), step)


def test_the_reason_of_a_failure_contains_no_errno() -> None:
    gone = Failure(call="chdir", errno=2, message="[Errno 2] another process removed it: '/srv/.fstui-1'")
    assert figures.failure(replace(SYNCED, error=gone)) == "chdir: another process removed it: '/srv/.fstui-1'"


@pytest.mark.parametrize(("raid", "share"), [("raid1", 1.0), ("raid10", 1.0), ("raid0", 0.5)])
def test_raid_members_share_bytes_but_not_flushes(raid: str, share: float) -> None:
    level = Reading(what="level", value=raid, path="/sys/block/md0/md/level")
    md = Node(id="md0", layer="block", kind="md", name="md0", below=("sda", "sdb"), readings=(level,))
    target = stacked(replace(FILESYSTEM, below=("md0",)), md, DISK, replace(DISK, id="sdb", name="sdb"))
    every = DeviceCounters(device="sda", flushes=1680, written_bytes=int(share * 1680 * 16384))
    step = replace(SYNCED, counters=(every, replace(every, device="sdb", flushes=1700)))
    per_sync, arrived = counted(step, target)
    assert per_sync == pytest.approx(1.0, abs=0.02) and arrived == 1.0


def test_a_loop_on_a_busy_disk_is_counted_at_the_loop() -> None:
    seen = evidence(storage.on_loop(), made.step(flushes={"loop0": 1, "sda": 2.7}))
    assert "sent one flush to loop0" in judge(seen).sentence
    assert ratios(seen)[0] == 1.0


@pytest.mark.parametrize(
    ("ours", "flushes", "each"),
    [
        pytest.param(2000, 3.0, 1.0, id="with other writers, as many as expected"),
        pytest.param(0, 3.0, 0.0, id="with other writers, none"),
        pytest.param(2000, 1.0, 1.0, id="alone"),
    ],
)
def test_fstuis_own_flushes_are_counted_as_the_judge_does(ours: int, flushes: float, each: float) -> None:
    step = made.step(flushes=flushes, share=flushes, changes={"trace": (made.traced(us=ours, others=4000),)})
    assert ratios(on_sda(step))[0] == each


def test_what_other_processes_may_have_added_is_not_fstuis_own() -> None:
    seen = on_sda(step := made.step(flushes=3.0, share=3.0))
    assert ratios(seen) == (None, None)
    assert Counts(seen).flushes_at_most(step) == 3 * step.syncs
    assert Counts(seen).shared_devices(seen.steps) == ("sda",)


def test_too_few_flushes_are_shown_whoever_else_wrote() -> None:
    assert ratios(on_sda(made.step(flushes=0.5, share=3.0)))[0] == 0.5


def test_bytes_of_a_busy_device_are_not_fstuis_own() -> None:
    alone = on_sda(made.step(sync="fsync", share=40.0))
    busy = Idle(elapsed_s=1.0, counters=(DeviceCounters(device="sda", written_bytes=1 << 30, writes=9, flushes=0),))
    assert (ratios(alone)[1], ratios(replace(alone, idle=busy))[1]) == (40.0, None)
    fewer = on_sda(made.step(sync="fsync", share=0.98))
    assert ratios(fewer)[1] == pytest.approx(0.98) and ratios(replace(fewer, idle=busy))[1] is None


def test_a_traced_fua_write_is_counted() -> None:
    trace = {"trace": (made.traced(fua=2000),)}
    forced = made.step(flushes=0, sync="none", open_flags=("direct", "dsync"), changes=trace)
    assert ratios(on_sda(forced, fua=True))[0] == 1.0


def test_a_running_step_is_counted_too() -> None:
    seen = evidence(storage.on_loop(), made.step(flushes={"loop0": 1, "sda": 2.7}))
    counters = made.counted("loop0", 40, 1 << 20), made.counted("sda", 90, 1 << 20)
    now = Snapshot(
        index=1, name="x", elapsed_s=0.1, length_s=1.0, ops=40, syncs=40, bytes=1, rate_per_s=1.0, counters=counters
    )
    assert Counts(seen).flushes_per_sync(now, SYNCED.settings) == 1.0


def test_a_device_without_counters_is_not_zero() -> None:
    assert counted(replace(SYNCED, counters=(DeviceCounters(device="sda"),))) == (None, None)
    zero = DeviceCounters(device="sda", flushes=0, written_bytes=0)
    assert counted(replace(SYNCED, counters=(zero,))) == (0.0, 0.0)


def test_without_syncs_or_operations_there_is_no_ratio() -> None:
    assert (counted(UNSYNCED)[0], counted(FAILED)[1], counted(SYNCED, None)[0]) == (None, None, None)


def test_the_leading_finding_decides_the_verdict() -> None:
    weaker = replace(ROTATION, rule="weaker", confidence="low")
    one_step = replace(ROTATION, rule="step", scope="step")
    assert findings.leading_finding(replace(RUN, findings=(NOTE, one_step, weaker, ROTATION))) == ROTATION
    assert findings.leading_finding(replace(RUN, findings=(NOTE,))) is None


def test_the_stack_is_one_line_from_the_filesystem_down() -> None:
    assert stack_line(TARGET) == "ext4 › sda1 › sda"
    md = Node(id="md0", layer="block", kind="md", name="md0", below=("sda", "sdb"))
    legs = (DISK, replace(DISK, id="sdb", name="sdb"))
    assert stack_line(stacked(replace(FILESYSTEM, below=("md0",)), md, *legs)) == "ext4 › md0 › sda + sdb"
    assert stack_line(None) == ""


def test_a_wide_or_circular_stack_is_one_line() -> None:
    disks = [replace(DISK, id=f"sd{n}", name=f"sd{n}", below=("mount:/srv",)) for n in range(6)]
    pool = replace(FILESYSTEM, kind="btrfs", below=tuple(disk.id for disk in disks))
    assert stack_line(stacked(pool, *disks)) == "btrfs › sd0 + 5 more"


GROWTH = replace(
    SYNCED,
    name="flush of unsynced writes",
    settings=DirtyFlush(),
    figures=DirtyFlushFigures(
        sequential=Growth(slope_ns_per_mib=400_000, intercept_ns=124_000),
        scattered=Growth(slope_ns_per_mib=-1_200, intercept_ns=130_000),
    ),
)


def test_flush_growth_has_words_instead_of_a_rate() -> None:
    assert figures.figures_text(GROWTH) == "flush 124 µs, +400 µs/MiB, scattered no growth"
    assert counted(GROWTH)[0] is None
    assert not GROWTH.settings.uniform and SYNCED.settings.uniform
    cells = figures.step_cells(GROWTH, GROWTH.settings, Counts(RUN))
    assert cells.pop("W-AMP") == "1.00" and set(cells.values()) == {NONE}
    assert figures.step_line(GROWTH, Counts(RUN)) == f"{GROWTH.name}: {figures.figures_text(GROWTH)}"


@pytest.mark.parametrize("name", ["plain", "markdown", "csv"])
def test_every_format_shows_the_growth_and_no_rate(name: str) -> None:
    text = run_as_text(replace(RUN, steps=(GROWTH,)), name)
    assert "840" not in text.partition("STEP")[2]
    assert name == "csv" or "124 µs, +400 µs/MiB" in text


def test_a_comparison_shows_the_growth() -> None:
    run = replace(RUN, steps=(GROWTH,))
    assert "124 µs, +400 µs/MiB" in as_text(compare.comparison_report([run, run]))


NO_BYTES, ONE_MIB = {"bytes": 0, "sync_ns": 1_000_000}, {"bytes": 1 << 20, "sync_ns": 7_000_000}


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({}, ""),
        ({"scattered": {"slope_ns_per_mib": 0, "intercept_ns": 1_000}}, "flush 1.0 µs, no growth"),
        ({"sequential": {"slope_ns_per_mib": 5e6, "intercept_ns": -3_000}}, "flush +5.0 ms/MiB"),
        (
            {"sequential": {"slope_ns_per_mib": 5e6, "intercept_ns": 0, "points": [NO_BYTES, ONE_MIB]}},
            "flush +6.0 ms/MiB",  # from the first point to the last, as in the finding
        ),
    ],
)
def test_partly_measured_flush_growth_has_words(measured: dict[str, Any], words: str) -> None:
    assert msgspec.convert(measured, DirtyFlushFigures).text == words


def test_programs_are_named_before_kernel_workers() -> None:
    worker = OtherWriter(pid=1, name="kworker/u8:4+loop4", written_bytes=900)
    assert figures.program_names([worker, OtherWriter(pid=2, name="mysqld", written_bytes=10)]) == "mysqld"
    assert figures.program_names([worker]) == "kworker/u8:4+loop4"
