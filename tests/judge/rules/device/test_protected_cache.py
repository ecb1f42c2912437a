"""Caches that may answer a flush at once."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.storage import Medium, Node
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import flushed, write
from tests.factories.storage import block, filesystem, on_disk, readings, target
from tests.judge.rules.device.drives import NAND, OPTANE, PLP, drive, over_cache


@pytest.mark.parametrize(
    ("medium", "confidence", "kind"),
    [
        (PLP, "high", "a power-loss-protected drive"),
        (OPTANE, "high", "Optane"),
        (Medium(class_="ssd-plp", declared=True), "medium", "a power-loss-protected drive"),
    ],
)
def test_a_cheap_flush_is_as_it_should_be(medium: Medium, confidence: str, kind: str) -> None:
    judgement = verdict(on_disk(filesystem(), drive(medium)), write(20), flushed(40))
    assert (judgement.verdict, judgement.confidence) == ("plausible", confidence)
    assert finding(judgement, "protected-cache").title == f"a flush adds 20.0 µs, on {kind}"


def test_without_a_flush_to_hold_a_write_against_nothing_is_said() -> None:
    assert "protected-cache" not in rules(verdict(on_disk(filesystem(), drive(PLP)), write(20)))


def test_a_guest_is_told_so_with_less_confidence() -> None:
    judgement = verdict(on_disk(filesystem(), drive(PLP)), write(20), flushed(40), host=GUEST)
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "What becomes of it beneath sda, on the host, cannot be seen from here." in judgement.sentence


def test_where_the_bytes_were_not_counted_they_may_be_in_a_memory_above() -> None:
    uncounted = on_disk(filesystem(), drive(PLP, counted=False))
    found = finding(verdict(uncounted, write(20, share=None), flushed(40, share=None)), "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")


@pytest.mark.parametrize(
    ("top", "share"), [("ntfs3", 1.0), ("ext4", 0.5)], ids=["it may have compressed them", "some are missing"]
)
def test_bytes_that_are_not_all_seen_leave_it_low(top: str, share: float) -> None:
    where = on_disk(filesystem(top), drive(PLP))
    found = finding(verdict(where, write(20), flushed(40, share=share)), "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")


def test_what_a_protected_log_is_emptied_to_has_to_keep_it_too() -> None:
    pool = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda", "sdb"))
    log = drive(PLP, readings=readings(role="slog"))
    stack = target(filesystem("zfs", "/tank", below=("pool:tank",)), pool, log, drive(NAND, "sdb"))
    judgement = verdict(stack, write(20, flushes=0), flushed(40))
    found = finding(judgement, "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")
    assert found.sentence.endswith("Of sdb it does not show: no work of its own was seen there.")


@pytest.mark.parametrize(
    "medium",
    [Medium(class_="ssd"), Medium(class_="network"), Medium(class_="ssd", ephemeral=True)],
    ids=["a drive of this box", "the other end of a network", "an instance's own"],
)
def test_a_drive_without_a_volatile_cache_says_so_itself_and_that_is_its_word_alone(medium: Medium) -> None:
    stack = on_disk(filesystem(), drive(medium, write_cache="write through", readings=readings(vwc="absent")))
    judgement = verdict(stack, write(500, flushes=0), flushed(600, flushes=0))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "a drive without a volatile cache" in judgement.sentence


@pytest.mark.parametrize(
    ("tw", "ts", "hit"), [(20, 59, True), (20, 60, False), (5, 9.9, False)], ids=["cheap", "dear", "101 010/s"]
)
def test_its_boundaries(tw: float, ts: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), drive(PLP)), write(tw), flushed(ts))
    assert ("protected-cache" in rules(judgement)) is hit


def test_one_leg_without_protection_is_not_protected() -> None:
    legs = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    stack = target(filesystem(below=("md0",)), legs, drive(PLP), drive(NAND, "sdb"))
    both: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}}
    judgement = verdict(stack, write(20, flushes={"sda": 0, "sdb": 0}), flushed(40, **both))
    assert "protected-cache" not in rules(judgement)


@pytest.mark.parametrize(
    ("kind", "mode", "hit"),
    [
        ("bcache", "writeback", True),
        ("bcache", "writethrough", False),
        ("dm-cache", "writeback", True),
        ("dm-cache", None, False),
        ("dm-writecache", None, True),
    ],
)
def test_a_write_back_cache_is_judged_by_its_fast_device(kind: str, mode: str | None, hit: bool) -> None:
    stack = over_cache(kind, mode, PLP, NAND)
    shares: dict[str, Any] = {"share": {"sda": 1.0, "sdb": 0.0}}
    steps = (
        write(20, flushes={"sda": 0, "sdb": 0}, **shares),
        flushed(40, flushes={"sda": 1, "sdb": 0}, **shares),
    )
    assert ("protected-cache" in rules(verdict(stack, *steps))) is hit
