"""Plans of replica-cut."""

from __future__ import annotations

import pytest

from fstui.databases import planning, replicas
from fstui.databases.programs import Installed
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.runs import scenarios

HERE = Installed(servers=frozenset({"mariadb"}), sysbench=True)


def planned(**settings: str) -> tuple[PlannedStep, ...]:
    return scenarios.expand(scenarios.load("replica-cut"), settings)[1]


def test_each_combination_is_a_step() -> None:
    steps = [step for step in planned(server="mariadb") if isinstance(step.settings, ReplicaCut)]
    assert len(steps) == 2 * 2 * 3
    assert steps[0].name == "kill -9 asynchronous high"


def test_missing_server_is_one_skipped_step() -> None:
    steps = planning.arranged(planned(), HERE, chosen_by_user=False)
    (skipped,) = (step for step in steps if step.skip)
    assert skipped.name == "mysql" and "apt-get install" in (skipped.skip or "")
    assert sum(isinstance(step.settings, ReplicaCut) and not step.skip for step in steps) == 12


def test_missing_server_that_was_named_is_refused() -> None:
    with pytest.raises(Refused, match="MySQL is not installed"):
        planning.arranged(planned(server="mysql"), HERE, chosen_by_user=True)


def test_replica_cut_requires_root() -> None:
    steps = planning.arranged(planned(server="mariadb"), HERE._replace(as_root=False), chosen_by_user=True)
    assert {step.skip for step in steps} == {None, replicas.NEEDS_ROOT}


def test_replica_is_as_durable_as_its_primary_by_default() -> None:
    assert ReplicaCut(server="mysql", durability="low").of_replica == "low"
    assert ReplicaCut(server="mysql", durability="low", replica_durability="high").of_replica == "high"
