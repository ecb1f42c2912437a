"""Which flushes the trace attributes to fstui, and what follows from that."""

from typing import Any

import msgspec
import pytest

from fstui.judge import Case, judge
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.step_counts import StepCounts
from fstui.model.counters import DeviceTrace
from fstui.model.steps import Step, TracedPart
from fstui.model.storage import Target
from tests.factories.evidence import busy, evidence
from tests.factories.steps import step, traced
from tests.factories.storage import block, disk, filesystem, on_disk, target

SYNCS = 2000
ON_LVM = target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())
LOST = msgspec.structs.replace(traced(), requested_by_us=None, requested_by_others=None, lost=1)


def seen(*found: DeviceTrace, flushes: float = 3.0, **more: Any) -> Step:
    """A step next to other processes: three flushes were counted for each sync."""
    return step(flushes=flushes, share=2.0, changes={"trace": found}, **more)


def top(storage: Target, *found: DeviceTrace, **more: Any) -> FlushAccount:
    return Case(evidence(storage, seen(*found, **more), idle=busy("sda", 900))).flushes.synced_accounts[0][0]


BTRFS = on_disk(filesystem("btrfs"))
APPEND, FSYNC = {"offsets": "append"}, {"sync": "fsync"}
BY_OTHERS, FEW = traced(others=2 * SYNCS), traced(others=10)


@pytest.mark.parametrize(
    ("storage", "trace", "how", "outcome"),
    [
        pytest.param(None, traced(us=1900, others=4000), {}, "missing", id="five percent are missing"),
        pytest.param(None, traced(us=1999, others=4000), {}, "complete", id="one is missing"),
        pytest.param(None, traced(kernel=SYNCS), {}, "noisy", id="journal thread, or worker of an io limit"),
        pytest.param(None, traced(kernel=None, others=SYNCS), {}, "noisy", id="in a pid namespace"),
        pytest.param(None, traced(fua_in_all=SYNCS), {}, "noisy", id="FUA writes of any process"),
        pytest.param(None, LOST, {}, "noisy", id="an event was lost"),
        # the commit of another process may carry fstui's own
        pytest.param(None, BY_OTHERS, APPEND, "noisy", id="append"),
        pytest.param(None, BY_OTHERS, FSYNC, "noisy", id="fsync"),
        pytest.param(BTRFS, BY_OTHERS, {}, "noisy", id="btrfs"),
        pytest.param(None, FEW, APPEND, "missing", id="append, too few"),
        pytest.param(None, FEW, FSYNC, "missing", id="fsync, too few"),
        pytest.param(BTRFS, FEW, {}, "missing", id="btrfs, too few"),
    ],
)
def test_flushes_are_own_only_if_no_other_may_be(
    storage: Target | None, trace: DeviceTrace, how: dict[str, Any], outcome: str
) -> None:
    assert top(storage or on_disk(), trace, **how).outcome == outcome


def start_traced(*, own: int, others: int, flushes: float, busy_per_s: int, kernel: int = 0) -> Case:
    """Return a step next to another process that writes. Its first 200 syncs were traced."""
    done = seen(traced(us=own, kernel=kernel, others=others), flushes=flushes)
    part = TracedPart(elapsed_s=done.elapsed_s / 10, ops=200, syncs=200)
    step = msgspec.structs.replace(done, traced_part=part)
    return Case(evidence(on_disk(), step, idle=busy("sda", busy_per_s)))


@pytest.mark.parametrize(
    ("own", "others", "flushes", "outcome", "per_sync"),
    [
        pytest.param(200, 10, 1.0, "complete", 1.0, id="all"),
        pytest.param(190, 400, 3.0, "missing", 0.95, id="ten are missing"),
    ],
)
def test_a_part_that_was_traced_decides_for_the_step(
    own: int, others: int, flushes: float, outcome: str, per_sync: float
) -> None:
    case = start_traced(own=own, others=others, flushes=flushes, busy_per_s=0)
    account = case.flushes.synced_accounts[0][0]
    assert (account.outcome, account.arrival.per_sync) == (outcome, per_sync)
    (step,) = case.steps.all
    counts = StepCounts(case)
    assert counts.flushes(step, step.settings) == per_sync * SYNCS
    assert counts.shared_with_others(step) == (others > 10)
    sentence = judge(case.evidence).sentence
    assert step.traced_part
    assert "200 traced syncs" in sentence and f"{step.traced_part.elapsed_s:.1f} s" in sentence
    assert outcome == "complete" or f"produced {own} flushes" in sentence


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"flushes": 1.5}, id="more than expected were counted"),
        pytest.param({"busy_per_s": 900}, id="others flush while fstui is idle"),
        pytest.param({"others": 20}, id="others flush in the traced part"),
        pytest.param({"kernel": 20}, id="a journal commits for others in the traced part"),
    ],
)
def test_a_traced_start_proves_nothing_about_a_shared_rest(how: dict[str, Any]) -> None:
    case = start_traced(**{"own": 200, "others": 0, "flushes": 1.0, "busy_per_s": 0, **how})
    judgement = judge(case.evidence)
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "low")
    assert "covers only the start of fast steps" in judgement.sentence


def test_bios_of_a_partition_are_traced_at_the_disk() -> None:
    storage = target(filesystem(below=("sda1",)), block("sda1", "partition", "sda"), disk())
    found = top(storage, traced("sda1"), traced(us=SYNCS, others=4000))
    assert found.trace_is_complete
    twice = target(
        filesystem("btrfs", below=("sda1", "sda2")),
        block("sda1", "partition", "sda"),
        block("sda2", "partition", "sda"),
        disk(),
    )
    both = top(twice, traced("sda1"), traced("sda2"), traced(us=4 * SYNCS))
    assert both.trace is None, "two members are traced at one disk"


@pytest.mark.parametrize(
    "storage",
    [
        pytest.param(
            on_disk(None, disk(write_cache="write through")), id="the kernel drops them before they are traced"
        ),
        pytest.param(on_disk(None, disk(write_cache=None)), id="cache not known"),
        pytest.param(ON_LVM, id="a layer that was not traced"),
    ],
)
def test_flushes_that_cannot_be_traced_show_nothing(storage: Target) -> None:
    assert top(storage, traced(us=0)).trace is None
    assert top(on_disk(), LOST).trace is None
