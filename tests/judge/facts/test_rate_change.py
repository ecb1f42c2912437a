"""The one point at which a rate changes for good."""

from __future__ import annotations

from fstui.judge.facts.rate_change import RateChange, rate_change
from fstui.judge.facts.steps import SyncStep
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.steps import Step
from tests.judge.rules.notes.test_rates import lasting


def change(step: Step) -> RateChange | None:
    assert isinstance(step.settings, SyncWrites)
    return rate_change(SyncStep(step, step.settings))


def test_both_medians_the_time_and_the_bytes_until_then_are_told() -> None:
    found = change(lasting([1000.0] * 20 + [100.0] * 40))
    assert found == RateChange(1000.0, 100.0, 200.0, 200_000 * 16384)


def test_a_stretch_in_which_nothing_ended_counts_as_none() -> None:
    found = change(lasting([1000.0] * 20 + [0.0] * 40))
    assert found is not None and found.after_per_s == 0.0


def test_a_damaged_timeline_with_any_number_of_stretches_is_no_change() -> None:
    assert change(lasting([1000.0, 10.0] * 600)) is None
