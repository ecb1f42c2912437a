"""Rules 13, 14 and 15."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model import Medium, Node, Target
from tests.unit.judge.evidence import (
    GUEST,
    block,
    disk,
    filesystem,
    on_disk,
    readings,
    rules,
    target,
    verdict,
)
from tests.unit.judge.timing import flushed, write

NAND = Medium(class_="ssd", write_cache="volatile")
PLP = Medium(class_="ssd-plp", write_cache="plp", because="the model says so")
OPTANE = Medium(class_="optane", write_cache="none")
CONTROLLER = Medium(class_="raid-cache")


def drive(medium: Medium, name: str = "sda", **changes: Any) -> Node:
    return disk(name, medium=medium, **changes)


def consumer(**changes: Any) -> Target:
    return on_disk(filesystem(), drive(**{"medium": NAND, "readings": readings(grade="consumer"), **changes}))


def over_cache(kind: str, mode: str | None, fast: Medium, slow: Medium, **changes: Any) -> Target:
    """sda caches for sdb."""
    layer = block("top", kind, "sda1", "sdb1", readings=readings(**({"cache_mode": mode} if mode else {})))
    below = (
        block("sda1", "partition", "sda", readings=readings(role="cache")),
        block("sdb1", "partition", "sdb", readings=readings(role="origin")),
    )
    return target(filesystem(below=("top",)), layer, *below, drive(fast, **changes), drive(slow, "sdb", **changes))


class TestConsumerNandTooFast:
    @pytest.mark.parametrize(
        ("tw", "ts", "hit"),
        [(60, 99, True), (60, 100.5, False), (40, 59, True), (90, 134, True), (90, 136, False), (60, 800, False)],
        ids=["10 101/s", "9 950/s", "both", "flush 44 of 90", "flush 46 of 90", "honest"],
    )
    def test_its_boundaries(self, tw: float, ts: float, hit: bool) -> None:
        judgement = verdict(consumer(), write(tw), flushed(ts))
        assert ("consumer-nand-too-fast" in rules(judgement)) is hit
        if hit:
            assert (judgement.verdict, judgement.confidence) == ("suspicious", "medium")

    def test_a_write_that_took_as_long_as_nand_takes_leaves_the_flush_nothing_to_do(self) -> None:
        assert verdict(consumer(), write(400), flushed(500)).verdict == "consistent"

    @pytest.mark.parametrize(
        "changes",
        [
            {"readings": ()},
            {"readings": readings(grade="data centre")},
            {"medium": PLP},
            {"medium": Medium(class_="ssd", write_cache="none")},
            {"write_cache": "write through"},
            {"medium": Medium(class_="unknown")},
        ],
        ids=["model unknown", "data centre", "protected", "cache off", "write through", "medium unknown"],
    )
    def test_not_rotating_alone_is_no_consumer_drive(self, changes: dict[str, Any]) -> None:
        steps = write(60, flushes=0), flushed(80, flushes=0 if "write_cache" in changes else 1)
        assert "consumer-nand-too-fast" not in rules(verdict(consumer(**changes), *steps))

    def test_declared_it_counts_without_a_model(self) -> None:
        declared = consumer(readings=(), medium=Medium(class_="ssd", write_cache="volatile", declared=True))
        assert verdict(declared, write(60), flushed(80)).verdict == "suspicious"

    def test_where_the_flushes_are_missing_that_is_the_finding(self) -> None:
        judgement = verdict(consumer(), write(60), flushed(80, flushes=0))
        assert judgement.verdict == "not-durable"
        assert "consumer-nand-too-fast" not in rules(judgement)

    def test_a_protected_drive_that_caches_for_it_may_be_fast(self) -> None:
        stack = over_cache("bcache", "writeback", PLP, NAND, readings=readings(grade="consumer"))
        assert "consumer-nand-too-fast" not in rules(verdict(stack, write(20), flushed(30)))


class TestProtectedCache:
    @pytest.mark.parametrize(
        ("medium", "confidence"),
        [(PLP, "high"), (OPTANE, "high"), (Medium(class_="ssd-plp", declared=True), "medium")],
    )
    def test_a_cheap_flush_is_as_it_should_be(self, medium: Medium, confidence: str) -> None:
        judgement = verdict(on_disk(filesystem(), drive(medium)), write(20), flushed(40))
        assert (judgement.verdict, judgement.confidence) == ("plausible", confidence)

    def test_a_guest_is_told_so_with_less_confidence(self) -> None:
        judgement = verdict(on_disk(filesystem(), drive(PLP)), write(20), flushed(40), host=GUEST)
        assert (judgement.verdict, judgement.confidence) == ("plausible", "medium")

    def test_a_drive_without_a_volatile_cache_says_so_itself(self) -> None:
        stack = on_disk(
            filesystem(),
            drive(Medium(class_="network"), write_cache="write through", readings=readings(vwc="absent")),
        )
        judgement = verdict(stack, write(500, flushes=0), flushed(600, flushes=0))
        assert (judgement.verdict, judgement.confidence) == ("plausible", "medium")
        assert "a drive without a volatile cache" in judgement.sentence

    @pytest.mark.parametrize(
        ("tw", "ts", "hit"), [(20, 59, True), (20, 60, False), (5, 9.9, False)], ids=["cheap", "dear", "101 010/s"]
    )
    def test_its_boundaries(self, tw: float, ts: float, hit: bool) -> None:
        judgement = verdict(on_disk(filesystem(), drive(PLP)), write(tw), flushed(ts))
        assert ("protected-cache" in rules(judgement)) is hit

    def test_one_leg_without_protection_is_not_protected(self) -> None:
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
    def test_a_write_back_cache_is_judged_by_its_fast_device(self, kind: str, mode: str | None, hit: bool) -> None:
        stack = over_cache(kind, mode, PLP, NAND)
        shares: dict[str, Any] = {"share": {"sda": 1.0, "sdb": 0.0}}
        steps = (
            write(20, flushes={"sda": 0, "sdb": 0}, **shares),
            flushed(40, flushes={"sda": 1, "sdb": 0}, **shares),
        )
        assert ("protected-cache" in rules(verdict(stack, *steps))) is hit


class TestRaidCache:
    @pytest.mark.parametrize(
        ("per_s", "hit"), [(4_999, False), (5_000, True), (23_000, True), (30_000, True), (30_001, False)]
    )
    def test_its_boundaries(self, per_s: float, hit: bool) -> None:
        judgement = verdict(on_disk(filesystem(), drive(CONTROLLER)), flushed(1e6 / per_s))
        assert ("raid-cache" in rules(judgement)) is hit
        if hit:
            assert judgement.verdict == "plausible"
            assert "battery" in judgement.sentence

    def test_one_that_flushes_down_to_its_drives_is_no_fault(self) -> None:
        judgement = verdict(on_disk(filesystem(), drive(CONTROLLER)), flushed(8_000))
        assert judgement.verdict == "consistent"

    def test_a_single_drive_at_that_pace_is_none(self) -> None:
        assert "raid-cache" not in rules(verdict(None, flushed(100)))

    def test_many_writers_are_not_its_pace(self) -> None:
        stack = on_disk(filesystem(), drive(CONTROLLER))
        assert "raid-cache" not in rules(verdict(stack, flushed(100, writers=16)))
