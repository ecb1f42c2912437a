"""What the kernel counted of fstui's own in one step."""

import pytest

from fstui.judge import Case
from fstui.judge.facts.step_counts import StepCounts
from fstui.model.counters import DeviceCounters
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.evidence import busy, evidence
from tests.factories.steps import step, traced
from tests.factories.storage import disk, filesystem, on_disk


@pytest.mark.parametrize(
    ("where", "measured", "flushes"),
    [
        pytest.param(None, step(flushes=0.5), 1000, id="missing flushes"),
        pytest.param(None, step(share=0.5), 2000, id="missing bytes"),
        pytest.param(on_disk(filesystem(barrier="nobarrier")), step(flushes=0.25), 500, id="barriers off"),
        pytest.param(on_disk(None, disk(write_cache="write through")), step(flushes=0), 0, id="write through"),
        pytest.param(
            None,
            step(flushes=3, share=2, changes={"trace": (traced(us=2000, others=4000),)}),
            2000,
            id="traced",
        ),
    ],
)
def test_flushes_are_those_of_the_findings(where: Target | None, measured: Step, flushes: int) -> None:
    counts = StepCounts(Case(evidence(where, measured)))
    assert counts.flushes_at_most(measured) == flushes


def test_flushes_that_the_trace_saw_from_others_are_not_fstuis() -> None:
    """One or two flushes per sync are expected, so the counters show no surplus."""
    trace = traced(us=2000, others=240)
    measured = step(flushes=1.12, sync="fsync", changes={"trace": (trace,)})
    counts = StepCounts(Case(evidence(None, measured)))
    assert counts.flushes_per_sync(measured, measured.settings) == 1.0


def test_no_flush_of_any_process_is_no_flush_of_fstui() -> None:
    measured = step(flushes=0)
    counts = StepCounts(Case(evidence(on_disk(filesystem(barrier="nobarrier")), measured, idle=busy("sda", 900))))
    assert counts.flushes(measured, measured.settings) == 0


def test_without_a_stack_nothing_is_counted() -> None:
    counts = StepCounts(Case(Evidence()))
    assert counts.flushes_at_most(step()) is None and counts.shared_devices([step()]) == ()


def test_flushes_of_others_are_compared_with_those_of_one_device() -> None:
    """Without barriers, fstui sends no flushes. Those of the disk below may all be those of others."""
    counts = StepCounts(Case(evidence(on_disk(filesystem(barrier="nobarrier")), step(), idle=busy("sda", 575))))
    assert counts.others_flushed(disk(), DeviceCounters(device="sda", flushes=167), 0.3)
    assert not counts.others_flushed(disk(), DeviceCounters(device="sda", flushes=4000), 0.3)
    assert not counts.others_flushed(disk("sdb"), DeviceCounters(device="sdb", flushes=0), 0.3)


def test_step_is_shared_by_the_idle_rate_or_the_trace() -> None:
    measured, noisy = step(), step(flushes=3, share=2, changes={"trace": (traced(us=2000, others=4000),)})
    assert not StepCounts(Case(evidence(None, measured))).shared_with_others(measured)
    assert StepCounts(Case(evidence(None, measured, idle=busy("sda", 101)))).shared_with_others(measured)
    assert StepCounts(Case(evidence(None, noisy))).shared_with_others(noisy)
    assert not StepCounts(Case(Evidence())).shared_with_others(measured)
