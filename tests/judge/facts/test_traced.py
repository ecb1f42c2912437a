"""Whose flushes they were: what the trace proves, what it accuses, and where it leaves open whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from fstui.judge import Case
from fstui.judge.facts.flushes import FlushAccount
from fstui.model.counters import DeviceTrace
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.evidence import busy, evidence
from tests.factories.steps import step, traced
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, target

SYNCS = 2000
ON_LVM = target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())
LOST = msgspec.structs.replace(traced(), asked_by_us=None, asked_by_others=None, lost=1)


def seen(*found: DeviceTrace, flushes: float = 3.0, **more: Any) -> Step:
    """A step beside others, who make three flushes of one."""
    return step(flushes=flushes, share=2.0, changes={"trace": found}, **more)


def top(storage: Target, *found: DeviceTrace, **more: Any) -> FlushAccount:
    return Case(evidence(storage, seen(*found, **more), idle=busy("sda", 900))).flushes.synced[0][0]


@pytest.mark.parametrize("storage", [on_disk(), on_disk(filesystem("xfs")), ON_LVM], ids=["ext4", "xfs", "LVM"])
def test_as_many_of_ours_as_are_owed_prove_whoever_else_writes(storage: Target) -> None:
    devices = [node.id for node in storage.stack if node.layer == "block"]
    found = top(storage, *(traced(name, us=SYNCS, others=4000) for name in devices))
    assert found.traced
    assert (found.traced.least, found.traced.most, found.traced.others) == (SYNCS, SYNCS, 4000)
    assert [node.id for node in found.traced.devices] == devices[:1]
    assert (found.others_wrote, found.outcome, found.proves_by_counters) == (True, "complete", False)


def test_neither_others_nor_enough_at_the_counter_hide_that_ours_are_missing() -> None:
    found = top(on_disk(), traced(us=0, others=6000))
    assert (found.outcome, found.lacks_counted) == ("missing", False)


def test_one_in_twenty_that_was_dropped_is_missed_among_them() -> None:
    assert top(on_disk(), traced(us=1900, others=4000)).outcome == "missing"
    assert top(on_disk(), traced(us=1999, others=4000)).outcome != "missing"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"kernel": SYNCS}, id="a journal's thread, or a worker of an io limit"),
        pytest.param({"kernel": None, "others": SYNCS}, id="in a pid namespace all but ours are others"),
        pytest.param({"fua_in_all": SYNCS}, id="FUA writes of whoever it was"),
    ],
)
def test_what_may_be_ours_accuses_nobody_and_proves_nothing(asked: dict[str, Any]) -> None:
    found = top(on_disk(), traced(**asked))
    assert found.outcome == "noisy"


@pytest.mark.parametrize("way", ["append", "fsync", "btrfs"])
def test_where_one_commit_serves_all_who_wait_others_may_have_carried_ours(way: str) -> None:
    storage = on_disk(filesystem("btrfs") if way == "btrfs" else None)
    how: dict[str, Any] = {"append": {"offsets": "append"}, "fsync": {"sync": "fsync"}}.get(way, {})
    assert top(storage, traced(others=2 * SYNCS), **how).outcome != "missing"
    assert top(storage, traced(others=10), **how).outcome == "missing"  # too few even so


@pytest.mark.parametrize(("fua", "short"), [(SYNCS, False), (0, True)])
def test_a_fua_write_is_seen_where_no_device_counts_it(fua: int, short: bool) -> None:
    how: dict[str, Any] = {"sync": "none", "open_flags": ("direct", "dsync")}
    found = top(on_disk(None, disk(fua=True)), traced(fua=fua, others=4000), flushes=2.0, **how)
    assert found.outcome == ("missing" if short else "complete")


def test_bios_for_a_partition_are_told_of_as_the_disk_s() -> None:
    storage = target(filesystem(below=("sda1",)), block("sda1", "partition", "sda"), disk())
    found = top(storage, traced("sda1"), traced(us=SYNCS, others=4000))
    assert found.proves_by_trace
    twice = target(
        filesystem("btrfs", below=("sda1", "sda2")),
        block("sda1", "partition", "sda"),
        block("sda2", "partition", "sda"),
        disk(),
    )
    both = top(twice, traced("sda1"), traced("sda2"), traced(us=4 * SYNCS))
    assert both.traced is None, "whose is whose cannot be told"


@pytest.mark.parametrize(
    "storage",
    [
        pytest.param(
            on_disk(None, disk(write_cache="write through")), id="the kernel strips them before they are seen"
        ),
        pytest.param(on_disk(None, disk(write_cache=None)), id="whether it does is not known"),
        pytest.param(ON_LVM, id="a layer that was not traced"),
    ],
)
def test_where_they_cannot_be_seen_nothing_is_said(storage: Target) -> None:
    assert top(storage, traced(us=0)).traced is None


def test_an_event_that_was_lost_leaves_the_counters_alone() -> None:
    found = top(on_disk(), LOST)
    assert (found.traced, found.outcome) == (None, "noisy")


def test_beneath_a_loop_workers_ask_and_only_the_topmost_level_is_told() -> None:
    done = step(flushes={"loop0": 1, "sda": 1}, changes={"trace": (traced("loop0", us=SYNCS), traced(kernel=SYNCS))})
    ((loop, below),) = Case(evidence(on_loop(), done)).flushes.synced
    assert loop.traced and below.traced is None


def pairs(storage: Target, found: Sequence[DeviceTrace], **how: Any) -> list[str]:
    case = Case(evidence(storage, seen(*found, flushes=0, **how)))
    return [pair.because for pair in case.flushes.withheld]


def test_a_layer_that_was_asked_and_passed_nothing_on_is_named() -> None:
    told = "dm-0: fstui asked it for 2 000 flushes, sda was asked for 3 (the kernel's trace)"
    assert pairs(ON_LVM, [traced("dm-0", us=SYNCS), traced(kernel=3)]) == [told]
    assert pairs(ON_LVM, [traced("dm-0", us=SYNCS), traced(kernel=SYNCS)]) == []
    assert pairs(ON_LVM, [traced("dm-0", us=SYNCS)]) == []
    cached = target(filesystem(below=("dm-0",)), block("dm-0", "dm-writecache", "sda"), disk())
    assert pairs(cached, [traced("dm-0", us=SYNCS), traced()]) == [], "it may answer by itself"


def test_a_layer_that_holds_none_of_the_data_owes_nothing() -> None:
    """The origin of a snapshot: what is written goes to its store (Linux 6.12)."""
    snapshot = target(filesystem(below=("dm-0",)), block("dm-0", "dm-snapshot", "sda", "sdb"), disk(), disk("sdb"))
    found = (traced("dm-0", us=SYNCS), traced("sda"), traced("sdb", us=SYNCS))
    done = step(flushes={"sda": 0, "sdb": 1}, share={"sda": 0, "sdb": 2}, changes={"trace": found})
    assert Case(evidence(snapshot, done)).flushes.withheld == ()


def test_where_the_configuration_tells_a_line_says_how_many_were_ours() -> None:
    case = Case(evidence(on_disk(filesystem(barrier="nobarrier")), seen(traced(others=7))))
    assert case.flushes.of_ours == (
        "fdatasync: 2 000 syncs, 0 flushes by fstui at sda, 7 by others (the kernel's trace)",
    )
    assert Case(evidence(on_disk(), seen(traced(us=SYNCS)))).flushes.of_ours == ()
    assert Case(evidence(None, step())).flushes.of_ours == ()
