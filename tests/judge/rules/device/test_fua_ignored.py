"""Forced writes that cost nothing."""

from __future__ import annotations

import pytest

from fstui.model.storage import Medium, MediumClass, Node
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import flushed, forced, latency, timed, write
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

DRIVE = on_disk(filesystem(), disk(fua=True))


def test_the_published_case() -> None:
    steps = write(1e6 / 94_385), forced(1e6 / 91_375), flushed(1e6 / 2_767)
    judgement = verdict(DRIVE, *steps)
    found = finding(judgement, "fua-ignored")
    assert (judgement.verdict, found.confidence) == ("suspicious", "medium")
    assert "33.0 × as long" in judgement.sentence
    assert found.steps == ("O_DIRECT", "O_DIRECT+O_DSYNC", "fdatasync")


@pytest.mark.parametrize(
    ("tw", "td", "ts", "hit"),
    [(10, 14, 71, True), (10, 14, 70, False), (10, 15, 200, False), (20, 400, 90, False), (15, 16, 18, False)],
    ids=["hit", "flush not dear enough", "forced costs more", "the reverse is normal", "protected: all cheap"],
)
def test_its_boundaries(tw: float, td: float, ts: float, hit: bool) -> None:
    judgement = verdict(DRIVE, write(tw), forced(td), flushed(ts))
    assert ("fua-ignored" in rules(judgement)) is hit


@pytest.mark.parametrize(
    "device",
    [
        disk(fua=False),
        disk(fua=True, write_cache="write through"),
        disk(fua=True, medium=Medium(class_="ssd-plp", write_cache="plp")),
        disk(fua=True, medium=Medium(class_="raid-cache")),
        disk(fua=True, medium=Medium(class_="network")),
        disk(fua=True, readings=readings(transport="tcp")),
        disk(fua=True, link="hyper-v"),
        disk(fua=True, link="scsi"),
        disk(fua=True, medium=Medium(class_="hdd-7200", rpm=7200), readings=readings(controller="aacraid")),
        disk(fua=True, link=None),
        disk(fua=True, link=None, medium=None),
    ],
    ids=[
        "no FUA",
        "write through",
        "protected",
        "controller",
        "a network's volume",
        "NVMe over TCP",
        "Hyper-V",
        "a controller of no known name",
        "a controller that states turns",
        "what nobody knows",
        "what nobody asked",
    ],
)
def test_a_device_that_may_answer_so_is_left_alone(device: Node) -> None:
    steps = write(10), forced(11, flushes=1), flushed(400)
    assert "fua-ignored" not in rules(verdict(on_disk(filesystem(), device), *steps))


@pytest.mark.parametrize(("class_", "td", "hit"), [("ssd", 199, True), ("ssd", 200, False), ("unknown", 400, True)])
def test_flash_that_takes_as_long_as_to_be_programmed_may_have_it(class_: MediumClass, td: float, hit: bool) -> None:
    """Forced or not; what a flush costs besides is the writing of its map. Of a virtual disk no flash is known."""
    where = on_disk(filesystem(), disk(fua=True, medium=Medium(class_=class_)))
    assert ("fua-ignored" in rules(verdict(where, write(td - 10), forced(td), flushed(6 * td)))) is hit


@pytest.mark.parametrize(("ts", "hit"), [(95, False), (213, False), (214, True)])
def test_a_flush_that_programs_no_flash_is_no_measure(ts: float, hit: bool) -> None:
    """A protected drive that no table knows: its flush is dearer than its writes, and still writes nothing."""
    where = on_disk(filesystem(), disk(fua=True, medium=Medium(class_="ssd")))
    assert ("fua-ignored" in rules(verdict(where, write(14), forced(15), flushed(ts)))) is hit


def test_md_always_claims_fua_so_only_the_lowest_devices_count() -> None:
    claims = block("md0", "md", "sda", fua=True, write_cache="write back", readings=readings(level="linear"))
    stack = target(filesystem(below=("md0",)), claims, disk(fua=False))
    assert "fua-ignored" not in rules(verdict(stack, write(10), forced(11, flushes=1), flushed(400)))


def test_where_no_device_is_seen_nothing_is_known_to_take_fua() -> None:
    """In a container whose upper directory lies out of sight."""
    hidden = target(filesystem("overlay", "/", below=()))
    assert "fua-ignored" not in rules(verdict(hidden, write(10), forced(11), flushed(400)))


def test_a_neighbour_that_slowed_one_of_two_flushed_steps_makes_no_case() -> None:
    quick = timed("O_DIRECT+fdatasync", 60, open_flags=("direct",))
    assert "fua-ignored" not in rules(verdict(DRIVE, write(10), forced(12), flushed(400), quick))


def test_a_log_that_grows_is_no_measure_of_a_flush() -> None:
    growing = flushed(400, offsets="append", prefill="none")
    assert "fua-ignored" not in rules(verdict(DRIVE, write(10), forced(11), growing))


def test_the_write_part_of_a_flushed_step_stands_in_for_a_write_alone() -> None:
    parts = {"write_ns": latency(10_000), "sync_ns": latency(390_000)}
    both = timed("O_DIRECT+fdatasync", 400, open_flags=("direct",), changes=parts)
    found = finding(verdict(DRIVE, forced(11), both), "fua-ignored")
    assert "O_DIRECT+fdatasync, its write: 10.0 µs" in found.because


def test_a_write_that_the_mount_syncs_is_forced_itself_and_stands_in_for_none() -> None:
    parts = {"write_ns": latency(10_000), "sync_ns": latency(390_000)}
    both = timed("O_DIRECT+fdatasync", 400, open_flags=("direct",), changes=parts)
    drive = on_disk(filesystem(sync_option="sync"), disk(fua=True))
    assert "fua-ignored" not in rules(verdict(drive, forced(11), both))
