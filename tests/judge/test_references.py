"""The library of published rates, and where a run is placed in it."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.judge.references import comparable, library, operation_of, placed, published
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.host import Process
from fstui.model.judgement import Verdict
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import MEDIA, Medium, Node, Target
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, readings


def run(*steps: Step, device: Node | None = None, **fields: Any) -> Run:
    where: Target = on_disk(filesystem(), device or disk(medium=Medium(class_="ssd")))
    return Run(id="x", started_at="", steps=steps, **{"target": where, **fields})


def test_every_row_has_a_rate_a_known_class_and_a_source() -> None:
    assert len(library()) > 100
    for reference in library():
        assert reference.per_s > 0 and reference.source and reference.medium in MEDIA
        if reference.latency_us:
            assert reference.per_s == pytest.approx(1e6 / reference.latency_us, rel=0.1)


def test_no_row_is_repeated() -> None:
    keys = [(r.device, r.setup, r.operation, r.block_bytes, r.per_s, r.source) for r in library()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("operation", "medium", "per_s"),
    [
        ("fsync", "optane", 20_000),
        ("fsync", "raid-cache", 23_000),
        ("fsync", "hdd-7200", 22.35),
        ("O_DIRECT", "hdd-7200", 564.98),
    ],
)
def test_rates_of_the_field_reports_are_included(operation: Any, medium: Any, per_s: float) -> None:
    assert per_s in [reference.per_s for reference in published(operation, [medium])]


def test_published_disks_are_no_faster_than_their_revolutions() -> None:
    """Rewrites of one block, by pg_test_fsync."""
    for operation in ("fdatasync", "O_DIRECT+O_DSYNC"):
        assert published(operation, ["hdd-5400"])
        assert all(reference.per_s <= 90 for reference in published(operation, ["hdd-5400"]))
        assert all(reference.per_s <= 120 for reference in published(operation, ["hdd-7200"]))


@pytest.mark.parametrize(
    ("settings", "operation"),
    [
        ({}, "fdatasync"),
        ({"sync": "fsync"}, "fsync"),
        ({"open_flags": ("direct",)}, "O_DIRECT+fdatasync"),
        ({"open_flags": ("direct", "dsync"), "sync": "none"}, "O_DIRECT+O_DSYNC"),
        ({"open_flags": ("dsync",), "sync": "none"}, "O_DSYNC"),
        ({"offsets": "same"}, "fdatasync"),
        ({"offsets": "append", "prefill": "none"}, "append+fdatasync"),
        ({"offsets": "sequential", "prefill": "fallocate"}, "append+fdatasync"),
        ({"offsets": "sequential"}, None),
        ({"sync": "none"}, None),
        ({"sync_every": 10}, None),
        ({"ops_per_s": 5.0}, None),
        ({"prefill": "none"}, None),
        ({"open_flags": ("sync",), "sync": "none"}, None),
    ],
)
def test_operations_are_named_like_the_steps(settings: dict[str, Any], operation: str | None) -> None:
    assert operation_of(SyncWrites(**settings)) == operation


def test_rate_is_placed_among_its_operation_and_class() -> None:
    (placement,) = placed(run(step(rate=1500)))
    assert placement.operation == "fdatasync"
    assert {reference.medium for reference in placement.published} == {"ssd"}
    assert placement.slower == sum(reference.per_s < 1500 for reference in published("fdatasync", ["ssd"]))


def test_operation_with_most_references_comes_first() -> None:
    steps = (
        step("O_DIRECT", sync="none", open_flags=("direct",)),
        step("fsync", sync="fsync"),
        step("O_DIRECT+fdatasync", open_flags=("direct",)),
    )
    assert [placement.operation for placement in placed(run(*steps))] == ["O_DIRECT+fdatasync", "fsync", "O_DIRECT"]


def test_unknown_medium_is_placed_among_all() -> None:
    (placement,) = placed(run(step(), device=disk()))
    assert placement.media == frozenset()
    assert len({reference.medium for reference in placement.published}) > 1


def test_rotating_disks_are_compared_at_any_speed() -> None:
    assert comparable(frozenset({"hdd-10000"})) == {"hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000"}


@pytest.mark.parametrize("verdict", ["lost", "not-durable"])
def test_run_that_is_not_durable_is_not_placed(verdict: Verdict) -> None:
    assert placed(run(step(), verdict=verdict)) == ()


@pytest.mark.parametrize(
    ("steps", "fields"),
    [
        ((step(status="disturbed"),), {}),
        ((step(writers=4),), {}),
        ((step(ops=5),), {}),
        ((step(),), {"target": None}),
        ((step(),), {"process": Process(pipe_fsync_fails=False)}),
        ((step(),), {"device": disk(medium=Medium(class_="memory"), readings=readings())}),
    ],
    ids=["disturbed", "several writers", "too few", "no target", "stubbed", "nothing published"],
)
def test_step_without_a_rate_of_the_disk_is_not_placed(steps: tuple[Step, ...], fields: dict[str, Any]) -> None:
    assert placed(run(*steps, **fields)) == ()
