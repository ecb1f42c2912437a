"""The library of published rates, the user's own references, and the place of a run among them."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fstui.judge import Case, judge
from fstui.judge.references import (
    comparable_media,
    find_applicable,
    find_placements,
    find_published,
    library,
    make_references,
    operation_of,
)
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.model.rate_limit import RateLimit
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import MEDIA, Medium, MediumClass, Node, Reading, Target
from fstui.report import references
from tests.factories.evidence import evidence
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, readings


def run_with(*steps: Step, device: Node | None = None, **fields: Any) -> Run:
    where: Target = on_disk(filesystem(), device or disk(medium=Medium(class_="ssd")))
    return Run(id="x", started_at="", steps=steps, **{"target": where, **fields})


def test_every_row_has_a_rate_a_known_class_and_a_source() -> None:
    assert len(library()) > 100
    for reference in library():
        assert reference.per_s > 0 and reference.source and reference.medium in MEDIA
        if reference.latency_us:
            assert reference.per_s == pytest.approx(1e6 / reference.latency_us, rel=0.1)


def test_published_latencies_are_part_of_the_library() -> None:
    latencies_us = {(row.operation, row.per_s): row.latency_us for row in library() if row.latency_us}
    assert len(latencies_us) == 12 and latencies_us["O_DIRECT+fsync", 21200] == 47


def test_no_row_is_repeated() -> None:
    keys = [(r.device, r.setup, r.operation, r.block_bytes, r.per_s, r.source) for r in library()]
    assert len(set(keys)) == len(keys)


def test_published_disks_are_no_faster_than_their_revolutions() -> None:
    """Rewrites of one block, by pg_test_fsync."""
    for operation in ("fdatasync", "O_DIRECT+O_DSYNC"):
        assert find_published(operation, ["hdd-5400"])
        assert all(reference.per_s <= 90 for reference in find_published(operation, ["hdd-5400"]))
        assert all(reference.per_s <= 120 for reference in find_published(operation, ["hdd-7200"]))


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
    (placement,) = find_placements(run_with(step(rate=1500)))
    assert placement.operation == "fdatasync"
    assert {reference.medium for reference in placement.published} == {"ssd"}
    assert placement.slower_count == sum(reference.per_s < 1500 for reference in find_published("fdatasync", ["ssd"]))


def test_operation_with_most_references_comes_first() -> None:
    steps = (
        step("O_DIRECT", sync="none", open_flags=("direct",)),
        step("fsync", sync="fsync"),
        step("O_DIRECT+fdatasync", open_flags=("direct",)),
    )
    operations = [placement.operation for placement in find_placements(run_with(*steps))]
    assert operations == ["O_DIRECT+fdatasync", "fsync", "O_DIRECT"]


def test_other_media_are_compared_if_the_own_is_unknown() -> None:
    (placement,) = find_placements(run_with(step(), device=disk()))
    assert placement.media == frozenset()
    assert len({reference.medium for reference in placement.published}) > 1
    assert comparable_media(frozenset({"hdd-10000"})) == {"hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000"}


@pytest.mark.parametrize(
    ("steps", "fields"),
    [
        ((step(status="disturbed"),), {}),
        ((step(writers=4),), {}),
        ((step(ops=5),), {}),
        ((step(),), {"target": None}),
        ((step(),), {"verdict": "lost"}),
        ((step(),), {"verdict": "not-durable"}),
        ((step(),), {"process": Process(pipe_fsync_fails=False)}),
        ((step(),), {"device": disk(medium=Medium(class_="memory"), readings=readings())}),
    ],
    ids=["disturbed", "several writers", "too few", "no target", "lost", "not durable", "stubbed", "nothing published"],
)
def test_step_without_a_rate_of_the_disk_is_not_placed(steps: tuple[Step, ...], fields: dict[str, Any]) -> None:
    assert find_placements(run_with(*steps, **fields)) == ()


def on(class_: MediumClass, model: str | None = None, rate: float = 2000) -> Run:
    where = on_disk(filesystem(), disk(medium=Medium(class_=class_, write_cache="volatile"), model=model))
    seen = msgspec.structs.asdict(evidence(where, step(rate=rate)))
    return judged(Run(id="x", started_at="", **seen))


def judged(found: Run) -> Run:
    return found.with_judgement(judge(found))


def test_runs_are_grouped_by_operation_and_storage() -> None:
    ssds = [on("ssd", "EVO", rate) for rate in (1800, 2000, 2600)]
    (first, other) = make_references("db hosts", [*ssds, on("ssd-plp", "P4510", 9000)])
    assert (first.operation, first.media, first.models, first.runs) == ("fdatasync", ("ssd",), ("EVO",), 3)
    assert (first.slowest_per_s, first.per_s) == (1800, 2000)
    assert (other.media, other.runs, other.per_s) == (("ssd-plp",), 1, 9000)


@pytest.mark.parametrize(
    ("unfit", "reason"),
    [
        (replace(on("ssd"), verdict="not-durable"), "its verdict is not-durable"),
        (replace(on("ssd"), simulated="hdd-7200"), "it was simulated, not measured"),
        (replace(on("ssd"), rate_limit=RateLimit(idle=True)), "fstui limited its rate"),
        (replace(on("ssd"), status="stopped"), "it was stopped"),
        (
            replace(on("ssd"), process=Process(io_limits=(Reading(what="io", value="1", path="/x"),))),
            "an I/O limit was in force",
        ),
        (replace(on("ssd"), steps=()), "it has no rate of a synced write"),
        (on("unknown"), "its class of medium and its model are not known"),
    ],
)
def test_unsuitable_run_is_refused_with_the_reason(unfit: Run, reason: str) -> None:
    with pytest.raises(Refused, match=f"run {unfit.id} cannot be a reference: {reason}"):
        make_references("x", [unfit])


def test_references_apply_to_the_same_class_or_model() -> None:
    ssd, unknown = make_references("a", [on("ssd", "EVO")]), make_references("b", [on("unknown", "QEMU")])
    assert find_applicable((*ssd, *unknown), Case(on("ssd", "another"))) == ssd
    assert find_applicable((*ssd, *unknown), Case(on("unknown", "QEMU"))) == unknown
    assert find_applicable((*ssd, *unknown), Case(on("unknown", "another"))) == ()
    assert find_applicable((*ssd, *unknown), Case(on("optane", "EVO"))) == ()


def test_own_references_come_before_published_ones() -> None:
    own = make_references("db hosts", [on("ssd", rate=9000)])
    slow = judged(replace(on("ssd", rate=2000), own_references=own))  # normal among the published
    assert (on("ssd", rate=2000).speed.answer, slow.speed.answer) == ("normal", "slow")
    assert slow.speed.yardstick == "your own db hosts"
    same = judged(replace(on("ssd", rate=8500), own_references=own))
    assert (same.speed.answer, same.speed.yardstick) == ("normal", "your own db hosts")
    assert slow.verdict == on("ssd").verdict


def test_table_shows_own_and_published_references() -> None:
    held = replace(on("ssd", rate=4500), own_references=make_references("db hosts", [on("ssd", rate=9000)]))
    (first, *_) = find_placements(held)
    assert [one.per_s for one in first.own] == [9000]
    table = references.run_references(held)
    assert table.title.startswith("fdatasync: 0.50 × your own db hosts, faster than ")
    assert any(row[0] == "▲" and "db hosts" in str(row[2]) for row in table.rows)
