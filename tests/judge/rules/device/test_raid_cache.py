"""The pace of a controller's cache."""

from __future__ import annotations

import pytest

from tests.factories.evidence import rules, verdict
from tests.factories.steps import flushed
from tests.factories.storage import filesystem, on_disk
from tests.judge.rules.device.drives import CONTROLLER, drive


@pytest.mark.parametrize(
    ("per_s", "hit"), [(4_999, False), (5_000, True), (23_000, True), (30_000, True), (30_001, False)]
)
def test_its_boundaries(per_s: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), drive(CONTROLLER)), flushed(1e6 / per_s))
    assert ("raid-cache" in rules(judgement)) is hit
    if hit:
        assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
        assert "battery" in judgement.sentence


def test_one_that_flushes_down_to_its_drives_is_no_fault() -> None:
    judgement = verdict(on_disk(filesystem(), drive(CONTROLLER)), flushed(8_000))
    assert judgement.verdict == "consistent"


def test_a_single_drive_at_that_pace_is_none() -> None:
    assert "raid-cache" not in rules(verdict(None, flushed(100)))


def test_many_writers_are_not_its_pace() -> None:
    stack = on_disk(filesystem(), drive(CONTROLLER))
    assert "raid-cache" not in rules(verdict(stack, flushed(100, writers=16)))
