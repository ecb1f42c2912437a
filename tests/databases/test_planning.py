"""What is planned where not everything is installed, or where the server is there already."""

from __future__ import annotations

import pytest

from fstui import scenario
from fstui.databases import planning
from fstui.databases.programs import Installed
from fstui.measures.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep


def planned(**settings: str) -> tuple[PlannedStep, ...]:
    return scenario.expand(scenario.load("sysbench-oltp"), settings)[1]


HERE = Installed(servers=frozenset({"mariadb"}), sysbench=True)
NO_SERVER = Installed(servers=frozenset(), sysbench=True)


def test_what_is_not_installed_is_one_skipped_step_with_its_package() -> None:
    steps = planning.arranged(planned(), HERE, chosen_by_user=False)
    skipped = {step.name: step.skip for step in steps if step.skip}
    assert set(skipped) == {"mysql", "postgresql"}
    assert skipped["postgresql"] and "apt-get install postgresql" in skipped["postgresql"]
    assert sum(isinstance(step.settings, Sysbench) and not step.skip for step in steps) == 6


def test_what_was_asked_for_by_name_is_refused() -> None:
    with pytest.raises(Refused, match="MySQL is not installed"):
        planning.arranged(planned(server="mariadb,mysql"), HERE, chosen_by_user=True)


def test_without_any_server_all_packages_are_named() -> None:
    with pytest.raises(Refused, match=r"MariaDB is not installed.*MySQL is not installed.*PostgreSQL is not"):
        planning.arranged(planned(), NO_SERVER, chosen_by_user=False)


def test_on_a_server_that_is_there_only_workloads_and_clients_vary() -> None:
    steps = planning.arranged(planned(server="mariadb", host="db7", threads="1,8"), HERE, chosen_by_user=True)
    names = [step.name for step in steps if isinstance(step.settings, Sysbench)]
    assert names[:2] == ["oltp_read_write", "oltp_update_index"]
    assert "oltp_read_only threads 8" in names and len(names) == 6
    assert not any(step.settings.options for step in steps if isinstance(step.settings, Sysbench))


def test_its_kind_has_to_be_said() -> None:
    with pytest.raises(Refused, match="--set server=KIND"):
        planning.arranged(planned(host="db7"), HERE, chosen_by_user=False)


def test_other_scenarios_want_nothing() -> None:
    steps = scenario.expand(scenario.load("fsync-rate"), {})[1]
    assert planning.arranged(steps, NO_SERVER, chosen_by_user=False) is steps


def test_starting_and_filling_takes_its_time_once_per_server() -> None:
    one = planned(server="mariadb", durability="high")
    two = planned(server="mariadb")
    assert planning.preparing_s(two) == 2 * planning.preparing_s(one) > 0


def test_without_sysbench_the_classic_steps_are_skipped_and_a_server_is_of_no_use() -> None:
    nothing = Installed(servers=frozenset(), sysbench=False, no_oltp="sysbench is not installed")
    steps = scenario.expand(scenario.load("fileio-classic"), {})[1]
    skipped = {step.settings.probe for step in planning.arranged(steps, nothing, chosen_by_user=False) if step.skip}
    assert skipped == {"sysbench_fileio"}
    with pytest.raises(Refused, match="sysbench is not installed"):
        planning.arranged(planned(), nothing, chosen_by_user=False)
