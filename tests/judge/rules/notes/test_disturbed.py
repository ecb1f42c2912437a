"""A probe that was held up."""

from __future__ import annotations

from tests.factories.evidence import finding, verdict
from tests.factories.steps import step


def test_disturbed() -> None:
    held = step(status="disturbed", changes={"held_ns": 50_000_000})
    found = finding(verdict(None, held, step("other")), "disturbed")
    assert found.steps == ("fdatasync",)
    assert "1 of 2 steps" in found.title


def test_what_went_to_and_fro_is_told_briefly() -> None:
    flapped = step(changes={"changed": ("sda: FUA yes → no → yes → no → yes → no",)})
    assert "(sda: FUA yes → no → yes → …)" in finding(verdict(None, flapped), "disturbed").sentence


def test_a_step_whose_storage_changed_is_not_said_to_have_been_held_up_too() -> None:
    changed = step(status="disturbed", changes={"changed": ("sda: FUA yes → no → yes",)})
    found = finding(verdict(None, changed, step("other")), "disturbed")
    assert found.title == "the storage changed in 1 of its steps: sda: FUA yes → no → yes"
