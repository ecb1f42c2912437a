from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.model import DeviceCounters, Node, Reading, Run, Target
from fstui.report import compare, csv, figures, markdown, plain
from fstui.report.text import NONE, step_cells
from tests.unit.report.samples import DISK, FAILED, FILESYSTEM, NOTE, ROTATION, RUN, SYNCED, TARGET, UNSYNCED


def stacked(*nodes: Node) -> Target:
    return replace(TARGET, stack=nodes)


def test_flushes_and_bytes_are_read_at_the_lowest_devices() -> None:
    assert figures.flushes_per_sync(SYNCED, TARGET) == 1.0
    assert figures.bytes_ratio(SYNCED, TARGET) == 1.0


def test_they_are_added_up_over_several_lowest_devices() -> None:
    target = stacked(FILESYSTEM, DISK, replace(DISK, id="sdb", name="sdb"))
    halves = tuple(
        DeviceCounters(device=name, flushes=840, written_bytes=840 * 16384, writes=840) for name in ("sda", "sdb")
    )
    step = replace(SYNCED, counters=halves)
    assert figures.flushes_per_sync(step, target) == 1.0
    assert figures.bytes_ratio(step, target) == 1.0


@pytest.mark.parametrize(
    ("raid", "per_sync", "arrived"), [("raid1", 1.0, 1.0), ("raid10", 1.0, 2.0), ("raid0", 2.0, 2.0)]
)
def test_each_leg_of_a_mirror_stands_by_itself(raid: str, per_sync: float, arrived: float) -> None:
    level = Reading(what="level", value=raid, path="/sys/block/md0/md/level")
    md = Node(id="md0", layer="block", kind="md", name="md0", below=("sda", "sdb"), readings=(level,))
    target = stacked(replace(FILESYSTEM, below=("md0",)), md, DISK, replace(DISK, id="sdb", name="sdb"))
    every = DeviceCounters(device="sda", flushes=1680, written_bytes=1680 * 16384)
    step = replace(SYNCED, counters=(every, replace(every, device="sdb", flushes=1700)))
    assert figures.flushes_per_sync(step, target) == pytest.approx(per_sync, abs=0.02)
    assert figures.bytes_ratio(step, target) == arrived


def test_a_device_that_does_not_count_is_left_out_and_is_not_zero() -> None:
    silent = replace(SYNCED, counters=(DeviceCounters(device="sda"),))
    assert figures.flushes_per_sync(silent, TARGET) is None
    assert figures.bytes_ratio(silent, TARGET) is None
    zero = replace(SYNCED, counters=(DeviceCounters(device="sda", flushes=0, written_bytes=0),))
    assert figures.flushes_per_sync(zero, TARGET) == 0.0
    assert figures.bytes_ratio(zero, TARGET) == 0.0


def test_without_syncs_or_operations_there_is_no_ratio() -> None:
    assert figures.flushes_per_sync(UNSYNCED, TARGET) is None
    assert figures.bytes_ratio(FAILED, TARGET) is None
    assert figures.flushes_per_sync(SYNCED, None) is None


def test_the_leading_finding_is_the_one_the_verdict_rests_on() -> None:
    weaker = replace(ROTATION, rule="weaker", confidence="low")
    one_step = replace(ROTATION, rule="step", scope="step")
    assert figures.leading(replace(RUN, findings=(NOTE, one_step, weaker, ROTATION))) == ROTATION
    assert figures.leading(replace(RUN, findings=(NOTE,))) is None


def test_the_stack_is_one_line_from_the_filesystem_down() -> None:
    assert figures.stack_line(TARGET) == "ext4 › sda1 › sda"
    md = Node(id="md0", layer="block", kind="md", name="md0", below=("sda", "sdb"))
    legs = (DISK, replace(DISK, id="sdb", name="sdb"))
    assert figures.stack_line(stacked(replace(FILESYSTEM, below=("md0",)), md, *legs)) == "ext4 › md0 › sda + sdb"
    assert figures.stack_line(None) == ""


def test_many_devices_at_one_level_are_counted_and_a_loop_in_the_graph_ends() -> None:
    disks = [replace(DISK, id=f"sd{n}", name=f"sd{n}", below=("mount:/srv",)) for n in range(6)]
    pool = replace(FILESYSTEM, kind="btrfs", below=tuple(disk.id for disk in disks))
    assert figures.stack_line(stacked(pool, *disks)) == "btrfs › sd0 + 5 more"


GROWTH = replace(
    SYNCED,
    name="flush of unsynced writes",
    probe="dirty_flush",
    figures={
        "sequential": {"slope_ns_per_mib": 400_000, "intercept_ns": 124_000, "points": []},
        "scattered": {"slope_ns_per_mib": -1_200, "intercept_ns": 130_000, "points": []},
    },
)


def test_flush_growth_has_words_of_its_own_and_neither_a_rate_nor_flushes_per_sync() -> None:
    assert figures.growth(GROWTH.figures) == "flush 124 µs, +400 µs per MiB, scattered −1.2 µs"
    assert figures.flushes_per_sync(GROWTH, TARGET) is None
    assert not figures.rated(GROWTH.probe) and figures.rated(SYNCED.probe)
    assert step_cells(GROWTH, TARGET) == (GROWTH.name, NONE, NONE, NONE, NONE, NONE, "1.00")
    assert plain.step_line(GROWTH, TARGET) == f"{GROWTH.name}: {figures.growth(GROWTH.figures)}"


@pytest.mark.parametrize("render", [plain.render, markdown.render, csv.render, lambda run: compare.render([run, run])])
def test_every_face_says_it_so(render: Callable[[Run], str]) -> None:
    text = render(replace(RUN, steps=(GROWTH,)))
    assert "840" not in text.partition("STEP")[2]
    assert render is csv.render or "124 µs, +400 µs per MiB" in text


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({}, ""),
        ({"sequential": "a damaged document"}, ""),
        ({"scattered": {"slope_ns_per_mib": 0, "intercept_ns": 1_000}}, "flush 1.0 µs, +0 ns per MiB"),
        ({"sequential": {"slope_ns_per_mib": 5e6, "intercept_ns": -3_000}}, "flush +5.0 ms per MiB"),
    ],
)
def test_flush_growth_is_told_as_far_as_it_was_measured(measured: dict[str, Any], words: str) -> None:
    assert figures.growth(measured) == words
