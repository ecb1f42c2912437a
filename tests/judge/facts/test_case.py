"""A case computes each fact once."""

import pytest

from fstui.judge import Case
from fstui.judge.rules import all_rules
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from tests.factories.evidence import busy, evidence
from tests.factories.steps import flushed, step, traced, write
from tests.factories.storage import disk, filesystem, on_disk, on_loop


def test_accounts_of_a_step_are_computed_once() -> None:
    case = Case(evidence(on_loop(), flushed(200), write(20)))
    first = [case.flushes.accounts(done) for done in case.steps.measured]
    for rule in all_rules():
        list(rule(case))
    assert all(
        case.flushes.accounts(done) is accounts for done, accounts in zip(case.steps.measured, first, strict=True)
    )


def test_facts_are_cached() -> None:
    case = Case(evidence(None, step()))
    for facts in (case.flushes, case.configuration, case.costs, case.rotation, case.commits, case.steps, case.stack):
        kept = {name: getattr(facts, name) for name in vars(type(facts)) if not name.startswith("_")}
        properties = {name for name in kept if name in vars(facts)}
        assert all(getattr(facts, name) is kept[name] for name in properties)
        assert properties


def test_empty_evidence_has_no_facts() -> None:
    case = Case(Evidence())
    assert not case.configuration.breaks_sync
    assert (case.commit_devices, case.flush_growth, case.flushes.synced, case.stack.levels) == ((), (), (), ())
    assert case.flushes.proven is None and case.rotation.platter is None and case.costs.write is None
    assert case.received(step(), step().settings) is None
    assert not case.commits_are_safe


@pytest.mark.parametrize(
    ("where", "measured", "flushes"),
    [
        pytest.param(None, step(flushes=0.5), (1000, 1000), id="missing flushes"),
        pytest.param(None, step(share=0.5), (2000, 2000), id="missing bytes"),
        pytest.param(on_disk(filesystem(barrier="nobarrier")), step(flushes=0.25), (500, 500), id="barriers off"),
        pytest.param(on_disk(None, disk(write_cache="write through")), step(flushes=0), (0, 0), id="write through"),
        pytest.param(
            None,
            step(flushes=3, share=2, changes={"trace": (traced(us=2000, others=4000),)}),
            (2000, 2000),
            id="traced",
        ),
    ],
)
def test_received_flushes_are_those_of_the_findings(
    where: Target | None, measured: Step, flushes: tuple[int, int]
) -> None:
    found = Case(evidence(where, measured)).received(measured, measured.settings)
    assert found is not None and found.flushes == flushes


def test_step_is_shared_by_the_idle_rate_or_the_trace() -> None:
    measured, noisy = step(), step(flushes=3, share=2, changes={"trace": (traced(us=2000, others=4000),)})
    assert not Case(evidence(None, measured)).shared_with_others(measured)
    assert Case(evidence(None, measured, idle=busy("sda", 101))).shared_with_others(measured)
    assert Case(evidence(None, noisy)).shared_with_others(noisy)
    assert not Case(Evidence()).shared_with_others(measured)


def test_circular_stack_ends() -> None:
    one = Node(id="mount:/a", layer="filesystem", kind="ext4", name="/a", below=("dm-0",))
    other = Node(id="dm-0", layer="block", kind="dm-linear", name="dm-0", below=("mount:/a",))
    where = on_loop()
    case = Case(evidence(where.__class__(path="/a", mount_point="/a", fstype="ext4", source="x", stack=(one, other))))
    assert [level.filesystem.id for level in case.stack.levels] == ["mount:/a"]
