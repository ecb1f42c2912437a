"""What one turn of a platter allows."""

from __future__ import annotations

import pytest

from fstui.judge.facts.limits import rewrites_per_s, rpm, turn_ns
from fstui.model.storage import Medium, MediumClass


@pytest.mark.parametrize(
    ("class_", "turns", "per_s"),
    [("hdd-5400", 5400, 90), ("hdd-7200", 7200, 120), ("hdd-10000", 10_000, 166), ("hdd-15000", 15_000, 250)],
)
def test_a_class_names_its_revolutions(class_: MediumClass, turns: int, per_s: int) -> None:
    assert rpm(Medium(class_=class_)) == turns
    assert int(rewrites_per_s(turns)) == per_s


def test_what_the_drive_states_beats_its_class() -> None:
    assert rpm(Medium(class_="hdd-5400", rpm=5900)) == 5900


def test_a_turn_at_7200_rpm_takes_a_hundred_and_twentieth_of_a_second() -> None:
    assert turn_ns(Medium(class_="hdd-7200", declared=True)) == 8_333_333


@pytest.mark.parametrize("class_", ["ssd", "ssd-plp", "optane", "raid-cache", "network", "memory", "unknown"])
def test_what_does_not_turn_has_no_limit(class_: MediumClass) -> None:
    assert turn_ns(Medium(class_=class_)) is None
