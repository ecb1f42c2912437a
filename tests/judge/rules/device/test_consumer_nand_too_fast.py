"""Flushes that are quicker than NAND."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.storage import Medium
from tests.factories.evidence import rules, verdict
from tests.factories.steps import flushed, write
from tests.factories.storage import readings
from tests.judge.rules.device.drives import NAND, PLP, consumer, over_cache


@pytest.mark.parametrize(
    ("tw", "ts", "hit"),
    [(60, 99, True), (60, 100.5, False), (40, 59, True), (90, 134, True), (90, 136, False), (60, 800, False)],
    ids=["10 101/s", "9 950/s", "both", "flush 44 of 90", "flush 46 of 90", "honest"],
)
def test_its_boundaries(tw: float, ts: float, hit: bool) -> None:
    judgement = verdict(consumer(), write(tw), flushed(ts))
    assert ("consumer-nand-too-fast" in rules(judgement)) is hit
    if hit:
        assert (judgement.verdict, judgement.confidence) == ("suspicious", "medium")
        assert ("a flush adding" in judgement.sentence) is (ts - tw < tw / 2)


def test_a_write_that_took_as_long_as_nand_takes_leaves_the_flush_nothing_to_do() -> None:
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
def test_not_rotating_alone_is_no_consumer_drive(changes: dict[str, Any]) -> None:
    steps = write(60, flushes=0), flushed(80, flushes=0 if "write_cache" in changes else 1)
    assert "consumer-nand-too-fast" not in rules(verdict(consumer(**changes), *steps))


def test_each_step_is_held_against_its_own_count() -> None:
    uncounted = flushed(90, flushes=None, share=None)
    assert "consumer-nand-too-fast" in rules(verdict(consumer(), uncounted, write(60), flushed(80)))


def test_where_no_flush_is_counted_it_is_not_known_whether_any_arrived() -> None:
    blind = consumer(counted=False)
    assert "consumer-nand-too-fast" not in rules(verdict(blind, write(60, flushes=None), flushed(80, flushes=None)))


def test_without_a_flush_that_was_measured_nothing_is_said() -> None:
    assert "consumer-nand-too-fast" not in rules(verdict(consumer(), write(60)))


def test_declared_it_counts_without_a_model() -> None:
    declared = consumer(readings=(), medium=Medium(class_="ssd", write_cache="volatile", declared=True))
    assert verdict(declared, write(60), flushed(80)).verdict == "suspicious"


def test_where_the_flushes_are_missing_that_is_the_finding() -> None:
    judgement = verdict(consumer(), write(60), flushed(80, flushes=0))
    assert judgement.verdict == "not-durable"
    assert "consumer-nand-too-fast" not in rules(judgement)


def test_a_protected_drive_that_caches_for_it_may_be_fast() -> None:
    stack = over_cache("bcache", "writeback", PLP, NAND, readings=readings(grade="consumer"))
    assert "consumer-nand-too-fast" not in rules(verdict(stack, write(20), flushed(30)))
