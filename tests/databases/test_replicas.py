"""What is planned of a primary and its replica, and what their probe is told."""

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


def test_every_end_of_every_pair_is_a_step() -> None:
    steps = [step for step in planned(server="mariadb") if isinstance(step.settings, ReplicaCut)]
    assert len(steps) == 2 * 2 * 3
    assert steps[0].name == "kill -9 asynchronous high"


def test_a_server_that_is_not_installed_is_one_skipped_step() -> None:
    steps = planning.arranged(planned(), HERE, chosen_by_user=False)
    (skipped,) = (step for step in steps if step.skip)
    assert skipped.name == "mysql" and "apt-get install" in (skipped.skip or "")
    assert sum(isinstance(step.settings, ReplicaCut) and not step.skip for step in steps) == 12


def test_one_that_was_asked_for_by_name_is_refused() -> None:
    with pytest.raises(Refused, match="MySQL is not installed"):
        planning.arranged(planned(server="mysql"), HERE, chosen_by_user=True)


def test_an_ordinary_user_cannot_mount_and_is_told_so() -> None:
    steps = planning.arranged(planned(server="mariadb"), HERE._replace(as_root=False), chosen_by_user=True)
    assert {step.skip for step in steps} == {None, replicas.NEEDS_ROOT}


def test_a_replica_is_as_durable_as_its_primary_unless_it_is_set_otherwise() -> None:
    assert ReplicaCut(server="mysql", durability="low").of_replica == "low"
    assert ReplicaCut(server="mysql", durability="low", replica_durability="high").of_replica == "high"
