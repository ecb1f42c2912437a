"""A case computes each fact once."""

from fstui.judge import Case
from fstui.judge.rules import all_rules
from fstui.model.run import Evidence
from tests.factories.evidence import evidence
from tests.factories.steps import flushed, step, write
from tests.factories.storage import on_loop


def test_accounts_of_a_step_are_computed_once() -> None:
    case = Case(evidence(on_loop(), flushed(200), write(20)))
    first = [case.flushes.accounts(done) for done in case.steps.measured]
    for rule in all_rules():
        list(rule(case))
    assert all(case.flushes.accounts(done) is found for done, found in zip(case.steps.measured, first, strict=True))


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
    assert (case.stack.commit_devices, case.flush_growth, case.flushes.synced_accounts, case.stack.levels) == (
        (),
        (),
        (),
        (),
    )
    assert case.flushes.proof is None
    assert case.rotation.platters is None and case.costs.write is None
    assert not case.commits_are_safe
