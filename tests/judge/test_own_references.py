"""The user's own references: which runs they are made of, and where they are used."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from fstui.judge import Case, judge
from fstui.judge.references import applicable, of_runs, placed
from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.model.rate_limit import RateLimit
from fstui.model.run import Run
from fstui.model.storage import Medium, MediumClass, Reading
from fstui.report import ruler
from tests.factories.evidence import evidence
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk


def on(class_: MediumClass, model: str | None = None, rate: float = 2000) -> Run:
    where = on_disk(filesystem(), disk(medium=Medium(class_=class_, write_cache="volatile"), model=model))
    seen = msgspec.structs.asdict(evidence(where, step(rate=rate)))
    return judged(Run(id="x", started_at="", **seen))


def judged(found: Run) -> Run:
    return found.judged(judge(found))


def test_runs_are_grouped_by_operation_and_storage() -> None:
    ssds = [on("ssd", "EVO", rate) for rate in (1800, 2000, 2600)]
    (first, other) = of_runs("db hosts", [*ssds, on("ssd-plp", "P4510", 9000)])
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
            "an io limit applied",
        ),
        (replace(on("ssd"), steps=()), "it has no rate of a synced write"),
        (on("unknown"), "its class of medium and its model are not known"),
    ],
)
def test_unsuitable_run_is_refused_with_the_reason(unfit: Run, reason: str) -> None:
    with pytest.raises(Refused, match=f"run {unfit.id} cannot be a reference: {reason}"):
        of_runs("x", [unfit])


def test_references_apply_to_the_same_class_or_model() -> None:
    ssd, unknown = of_runs("a", [on("ssd", "EVO")]), of_runs("b", [on("unknown", "QEMU")])
    assert applicable((*ssd, *unknown), Case(on("ssd", "another"))) == ssd
    assert applicable((*ssd, *unknown), Case(on("unknown", "QEMU"))) == unknown
    assert applicable((*ssd, *unknown), Case(on("unknown", "another"))) == ()
    assert applicable((*ssd, *unknown), Case(on("optane", "EVO"))) == ()


def test_own_references_come_before_published_ones() -> None:
    own = of_runs("db hosts", [on("ssd", rate=9000)])
    slow = judged(replace(on("ssd", rate=2000), own=own))  # normal among the published
    assert (on("ssd", rate=2000).speed.answer, slow.speed.answer) == ("normal", "slow")
    assert slow.speed.yardstick == "your own db hosts"
    (note,) = (finding for finding in slow.findings if finding.rule == "slower-than-class")
    assert note.title == "2 000/s, slowest of your own db hosts 9 000/s"
    same = judged(replace(on("ssd", rate=8500), own=own))
    assert (same.speed.answer, same.speed.yardstick) == ("normal", "your own db hosts")
    assert slow.verdict == on("ssd").verdict


def test_ruler_shows_own_and_published_references() -> None:
    held = replace(on("ssd", rate=4500), own=of_runs("db hosts", [on("ssd", rate=9000)]))
    (first, *_) = placed(held)
    assert [one.per_s for one in first.own] == [9000]
    lines = ruler.of_run(held)
    assert lines[0].startswith("fdatasync: 0.50 × your own db hosts, faster than ")
    assert any(line.startswith("  db hosts") and "▲" in line for line in lines)
