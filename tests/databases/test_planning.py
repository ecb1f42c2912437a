"""Plans with missing programs, and with an existing server."""

import pytest

from fstui.databases import planning
from fstui.databases.programs import Programs
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.runs import scenarios


def planned(**settings: str) -> tuple[PlannedStep, ...]:
    return scenarios.expand(scenarios.load("sysbench-oltp"), settings)[1]


def replica_cut(**settings: str) -> tuple[PlannedStep, ...]:
    return scenarios.expand(scenarios.load("replica-cut"), settings)[1]


HERE = Programs(servers=frozenset({"mariadb"}), sysbench=True)
NO_SERVER = Programs(servers=frozenset(), sysbench=True)


def test_missing_server_is_one_skipped_step_with_its_package() -> None:
    steps = planning.adapt(planned(), HERE, chosen_by_user=False)
    skipped = {step.name: step.skip for step in steps if step.skip}
    assert set(skipped) == {"mysql", "postgresql"}
    assert skipped["postgresql"] and "package: postgresql on Debian" in skipped["postgresql"]
    assert sum(isinstance(step.settings, Sysbench) and not step.skip for step in steps) == 6


def test_missing_server_that_was_named_is_refused() -> None:
    said = "^no database server to run: MySQL is not installed \\(package: mysql-server-core-8"
    with pytest.raises(Refused, match=said):
        planning.adapt(planned(server="mariadb,mysql"), HERE, chosen_by_user=True)


def test_all_packages_are_named_without_any_server() -> None:
    with pytest.raises(Refused, match=r"MariaDB is not installed.*MySQL is not installed.*PostgreSQL is not"):
        planning.adapt(planned(), NO_SERVER, chosen_by_user=False)


def test_only_workloads_and_clients_vary_on_an_existing_server() -> None:
    steps = planning.adapt(planned(server="mariadb", host="db7", threads="1,8"), HERE, chosen_by_user=True)
    names = [step.name for step in steps if isinstance(step.settings, Sysbench)]
    assert names[:2] == ["oltp_read_write", "oltp_update_index"]
    assert "oltp_read_only threads 8" in names and len(names) == 6
    assert not any(step.settings.options for step in steps if isinstance(step.settings, Sysbench))


def test_kind_of_an_existing_server_must_be_named() -> None:
    with pytest.raises(Refused, match="--set server=KIND"):
        planning.adapt(planned(host="db7"), HERE, chosen_by_user=False)


def test_other_scenarios_need_no_server() -> None:
    steps = scenarios.expand(scenarios.load("fsync-rate"), {})[1]
    assert planning.adapt(steps, NO_SERVER, chosen_by_user=False) is steps


def test_server_is_filled_once_and_restarted_per_configuration() -> None:
    def preparation_s(**settings: str) -> float:
        return planning.preparation_s(planned(workload="oltp_insert", rows="600000", warmup="0", **settings))

    one = preparation_s(server="mariadb", durability="high")
    another_configuration = preparation_s(server="mariadb") - one
    assert 0 < another_configuration < one
    assert preparation_s(server="mariadb,mysql", durability="high") == 2 * one
    tables = preparation_s(server="mariadb", durability="high", tables="2")
    assert tables - one == pytest.approx(one - another_configuration)


def test_each_step_is_warmed_up() -> None:
    cold, warm = (planning.preparation_s(planned(server="mariadb", warmup=seconds)) for seconds in ("0", "4"))
    assert warm == pytest.approx(cold + 6 * 4)


ORDINARY_DISK_BYTES = 60 * 10**9


@pytest.mark.parametrize("server", ["mariadb", "mysql", "postgresql"])
def test_half_an_hour_with_ten_million_rows_fits_on_a_disk(server: str) -> None:
    steps = planned(server=server, seconds="1800", rows="10000000", workload="oltp_insert")
    held = planning.peak_bytes([step.settings for step in steps])
    assert 2 * held < 0.95 * ORDINARY_DISK_BYTES


def test_rows_of_a_step_stay_for_the_steps_after_it() -> None:
    def peak_bytes(**settings: str) -> int:
        return planning.peak_bytes([step.settings for step in planned(seconds="3600", **settings)])

    one = peak_bytes(server="mariadb", durability="high", workload="oltp_insert")
    assert peak_bytes(server="mariadb", workload="oltp_insert") > one + 5 * 10**9
    assert peak_bytes(server="mariadb,mysql", durability="high", workload="oltp_insert") == one
    assert peak_bytes(server="mariadb", workload="oltp_read_only") < one


def test_log_of_an_existing_server_grows_without_limit() -> None:
    settings = {"server": "mariadb", "workload": "oltp_read_only", "seconds": "3600"}
    own, owners = ([step.settings for step in planned(**settings, **where)] for where in ({}, {"host": "db7"}))
    assert planning.peak_bytes(owners) > planning.peak_bytes(own) + 100 * 10**9


def test_fileio_steps_are_skipped_without_sysbench() -> None:
    nothing = Programs(servers=frozenset(), sysbench=False, oltp_refusal="sysbench is not installed")
    steps = scenarios.expand(scenarios.load("fileio-classic"), {})[1]
    skipped = {step.settings.probe for step in planning.adapt(steps, nothing, chosen_by_user=False) if step.skip}
    assert skipped == {"sysbench_fileio"}
    with pytest.raises(Refused, match="sysbench is not installed"):
        planning.adapt(planned(), nothing, chosen_by_user=False)


def test_each_combination_of_replica_cut_is_a_step() -> None:
    steps = [step for step in replica_cut(server="mariadb") if isinstance(step.settings, ReplicaCut)]
    assert len(steps) == 2 * 2 * 3
    assert steps[0].name == "kill -9 asynchronous high"


def test_missing_server_of_replica_cut_is_one_skipped_step() -> None:
    steps = planning.adapt(replica_cut(), HERE, chosen_by_user=False)
    (skipped,) = (step for step in steps if step.skip)
    assert skipped.name == "mysql" and "package:" in (skipped.skip or "")
    assert sum(isinstance(step.settings, ReplicaCut) and not step.skip for step in steps) == 12
    with pytest.raises(Refused, match="MySQL is not installed"):
        planning.adapt(replica_cut(server="mysql"), HERE, chosen_by_user=True)


def test_replica_cut_requires_root() -> None:
    steps = planning.adapt(replica_cut(server="mariadb"), HERE._replace(as_root=False), chosen_by_user=True)
    assert {step.skip for step in steps} == {None, planning.NEEDS_ROOT}


def test_replica_is_as_durable_as_its_primary_by_default() -> None:
    assert ReplicaCut(server="mysql", durability="low").effective_replica_durability == "low"
    assert (
        ReplicaCut(server="mysql", durability="low", replica_durability="high").effective_replica_durability == "high"
    )
