"""The point at which a rate changes permanently."""

from fstui.judge.facts.rate_change import RateChange, rate_change
from fstui.judge.facts.steps import SyncStep
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.steps import Step
from tests.judge.rules.notes.test_rates import lasting


def change(step: Step) -> RateChange | None:
    assert isinstance(step.settings, SyncWrites)
    return rate_change(SyncStep(step, step.settings))


def test_change_has_both_medians_and_its_time_and_bytes() -> None:
    found = change(lasting([1000.0] * 20 + [100.0] * 40))
    assert found == RateChange(1000.0, 100.0, 200.0, 200_000 * 16384)


def test_idle_interval_has_a_rate_of_zero() -> None:
    found = change(lasting([1000.0] * 20 + [0.0] * 40))
    assert found is not None and found.after_per_s == 0.0


def test_damaged_timeline_has_no_change() -> None:
    assert change(lasting([1000.0, 10.0] * 600)) is None
