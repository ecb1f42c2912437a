"""What is planned where not everything is installed, or where the server is there already."""

from __future__ import annotations

import pytest

from fstui import scenario
from fstui.databases import planning, programs
from fstui.databases.programs import Program
from fstui.model import PlannedStep, Refused


def planned(**settings: str) -> tuple[PlannedStep, ...]:
    return scenario.expand(scenario.load("sysbench-oltp"), settings)[1]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kinds that this box seems to have."""
    kinds = {"mariadb"}

    async def find_server(kind: str) -> Program | None:
        return Program(kind, f"/usr/sbin/{kind}", kind, (1,)) if kind in kinds else None

    async def find_sysbench() -> str:
        return "/usr/bin/sysbench"

    monkeypatch.setattr(programs, "find_server", find_server)
    monkeypatch.setattr(programs, "find_sysbench", find_sysbench)
    return kinds


async def test_what_is_not_installed_is_one_skipped_step_with_its_package(installed: set[str]) -> None:
    steps = await planning.arranged(planned(), chosen_by_user=False)
    skipped = {step.name: step.skip for step in steps if step.skip}
    assert set(skipped) == {"mysql", "postgresql"}
    assert skipped["postgresql"] and "apt-get install postgresql" in skipped["postgresql"]
    assert sum(step.probe == "sysbench" and not step.skip for step in steps) == 6


async def test_what_was_asked_for_by_name_is_refused(installed: set[str]) -> None:
    with pytest.raises(Refused, match="MySQL is not installed"):
        await planning.arranged(planned(server="mariadb,mysql"), chosen_by_user=True)


async def test_without_any_server_all_packages_are_named(installed: set[str]) -> None:
    installed.clear()
    with pytest.raises(Refused, match=r"MariaDB is not installed.*MySQL is not installed.*PostgreSQL is not"):
        await planning.arranged(planned(), chosen_by_user=False)


async def test_on_a_server_that_is_there_only_workloads_and_clients_vary(installed: set[str]) -> None:
    steps = await planning.arranged(planned(server="mariadb", host="db7", threads="1,8"), chosen_by_user=True)
    names = [step.name for step in steps if step.probe == "sysbench"]
    assert names[:2] == ["oltp_read_write", "oltp_update_index"]
    assert "oltp_read_only threads 8" in names and len(names) == 6
    assert all(step.settings["options"] == {} for step in steps if step.probe == "sysbench")


async def test_its_kind_has_to_be_said(installed: set[str]) -> None:
    with pytest.raises(Refused, match="--set server=KIND"):
        await planning.arranged(planned(host="db7"), chosen_by_user=False)


async def test_other_scenarios_want_nothing(installed: set[str]) -> None:
    installed.clear()
    steps = scenario.expand(scenario.load("fsync-rate"), {})[1]
    assert await planning.arranged(steps, chosen_by_user=False) is steps


def test_starting_and_filling_takes_its_time_once_per_server() -> None:
    one = planned(server="mariadb", durability="high")
    two = planned(server="mariadb")
    assert planning.preparing_s(two) == 2 * planning.preparing_s(one) > 0
