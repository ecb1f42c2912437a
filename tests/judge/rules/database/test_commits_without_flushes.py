"""Commits that reach the device, and commits that do not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sqlite_commits import SqliteCommits, SqliteCommitsFigures
from fstui.measure.kinds.sysbench import Sysbench, SysbenchFigures
from fstui.model.judgement import Finding, Judgement
from fstui.model.steps import Step
from tests.factories.evidence import busy, finding, quiet, rules, verdict
from tests.factories.steps import counted, step, traced
from tests.factories.storage import disk, filesystem, on_disk

RULE = "commits-without-flushes"
MYSQL = {
    "high": {"log_bin": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"},
    "low": {"log_bin": "ON", "sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"},
}


POSTGRESQL = {"fsync": "on", "synchronous_commit": "on", "wal_sync_method": "fdatasync"}
SYNC = step()


def commits(
    flushes: float | None = 3.1,
    *,
    name: str = "update_index high",
    kind: str = "mariadb",
    variables: dict[str, str] | None = None,
    workload: str = "oltp_update_index",
    ops: int = 5000,
    threads: int = 1,
    **server: Any,
) -> Step:
    """A step of sysbench: flushes per transaction."""
    described = {
        "kind": kind,
        "title": "MariaDB 10.11.19",
        "where": "throwaway",
        "variables": MYSQL["high"] if variables is None else variables,
        **server,
    }
    return Step(
        name=name,
        settings=Sysbench(server=kind, workload=workload, threads=threads),  # type: ignore[arg-type]
        ops=ops,
        syncs=ops,
        writers=threads,
        elapsed_s=2.5,
        rate_per_s=ops / 2.5,
        counters=(counted("sda", None if flushes is None else round(flushes * ops), 1 << 26),),
        figures=SysbenchFigures(transactions=ops, tps=ops / 2.5, server=Server(**described)),
    )


def sqlite(flushes: float, synchronous: str = "FULL") -> Step:
    return Step(
        name=f"WAL {synchronous}",
        settings=SqliteCommits(synchronous=synchronous, journal_mode="WAL"),  # type: ignore[arg-type]
        ops=4000,
        elapsed_s=1.0,
        rate_per_s=4000,
        counters=(counted("sda", round(flushes * 4000), 1 << 25),),
        figures=SqliteCommitsFigures(sqlite="3.40.1"),
    )


def found(judgement: Judgement) -> Finding:
    return finding(judgement, RULE)


@pytest.mark.parametrize("flushes", [0.95, 1.0, 2.0, 3.1])
def test_and_reach_the_disk_are_no_finding(flushes: float) -> None:
    assert RULE not in rules(verdict(None, SYNC, commits(flushes)))


@pytest.mark.parametrize("flushes", [0.0, 0.002, 0.5, 0.85])
def test_and_do_not_are_called_out_with_the_settings_that_promise_it(flushes: float) -> None:
    judgement = verdict(None, SYNC, commits(flushes))
    accusation = found(judgement)
    assert (judgement.verdict, accusation.confidence, accusation.scope) == ("not-durable", "high", "process")
    assert "sync_binlog = 1, innodb_flush_log_at_trx_commit = 1" in accusation.sentence
    assert f"{flushes:.2f} flushes per commit at sda, 1 expected" == accusation.title
    assert any("fdatasync by fstui: 1.00 flushes each" in line for line in accusation.because)


def test_a_library_in_the_server_is_named() -> None:
    judgement = verdict(None, SYNC, commits(0.0, preloads=["/usr/lib/libeatmydata.so"]))
    assert "/usr/lib/libeatmydata.so is loaded into it" in found(judgement).sentence


def test_the_library_is_enough_where_our_own_syncs_are_stubbed_too() -> None:
    stubbed = step(flushes=0.0)
    assert RULE in rules(verdict(None, stubbed, commits(0.0, preloads=["/usr/lib/libeatmydata.so"])))
    assert RULE not in rules(verdict(None, stubbed, commits(0.0)))


def test_postgresql_and_sqlite_are_held_to_theirs() -> None:
    for lying in (commits(0.0, kind="postgresql", variables=POSTGRESQL), sqlite(0.0)):
        assert found(verdict(None, SYNC, lying)).scope == "process"


def test_btrfs_owes_two() -> None:
    where = on_disk(filesystem("btrfs"))
    assert RULE in rules(verdict(where, step(flushes=2.0, share=4.0), commits(1.0)))
    assert RULE not in rules(verdict(where, step(flushes=2.0, share=4.0), commits(2.0)))


def test_group_commit() -> None:
    assert RULE not in rules(verdict(None, SYNC, commits(0.3, threads=8)))


def test_reading() -> None:
    assert RULE not in rules(verdict(None, SYNC, commits(0.0, workload="oltp_read_only")))


def test_a_handful_of_commits() -> None:
    assert RULE not in rules(verdict(None, SYNC, commits(0.0, ops=19)))


def test_a_server_whose_data_is_elsewhere() -> None:
    assert RULE not in rules(verdict(None, SYNC, commits(0.0, where="existing", on_target=False)))


def test_a_device_that_does_not_count() -> None:
    assert RULE not in rules(verdict(None, SYNC, commits(None)))


def test_a_write_through_disk_owes_none() -> None:
    where = on_disk(filesystem(), disk(write_cache="write through"))
    assert RULE not in rules(verdict(where, step(flushes=0.0), commits(0.0)))


def test_without_a_sync_of_the_same_kind_to_compare() -> None:
    assert RULE not in rules(verdict(None, commits(0.0)))
    dsync = step("O_DSYNC", open_flags=("dsync",), sync="none")
    assert RULE not in rules(verdict(None, dsync, commits(0.0)))


def test_where_our_own_flushes_are_missing_the_storage_is_to_blame() -> None:
    judgement = verdict(None, step(flushes=0.0), commits(0.0))
    assert "flushes-missing" in rules(judgement) and RULE not in rules(judgement)


def test_forced_writes_on_a_device_with_fua() -> None:
    forced = {
        **MYSQL["high"],
        "log_bin": "OFF",
        "innodb_flush_method": "O_DSYNC",
        "innodb_log_file_buffering": "OFF",
    }
    where = on_disk(filesystem(), disk(fua=True))
    alike = step("O_DIRECT+O_DSYNC", open_flags=("direct", "dsync"), sync="none", flushes=0.0)
    assert RULE not in rules(verdict(where, SYNC, alike, commits(0.0, variables=forced)))


@pytest.mark.parametrize(
    ("asked", "accused"),
    [
        pytest.param({}, True, id="nothing was asked for"),
        pytest.param({"us": 2000}, True, id="for two commits of five"),
        pytest.param({"fua": 5000}, False, id="FUA writes by the server"),
        pytest.param({"fua_in_all": 5000}, False, id="FUA writes of whoever it was"),
        pytest.param({"kernel": 5000}, False, id="a journal's commits"),
        pytest.param({"others": 5000}, False, id="somebody else's, whose commit may have carried them"),
    ],
)
def test_forced_writes_that_no_device_counts_are_seen_by_the_trace(asked: dict[str, Any], accused: bool) -> None:
    forced = {
        **MYSQL["high"],
        "log_bin": "OFF",
        "innodb_flush_method": "O_DSYNC",
        "innodb_log_file_buffering": "OFF",
    }
    where = on_disk(filesystem(), disk(fua=True))
    flags: Any = {"open_flags": ("direct", "dsync"), "sync": "none", "flushes": 0.0}
    alike = step("O_DIRECT+O_DSYNC", changes={"trace": (traced(fua=2000),)}, **flags)
    lying = msgspec.structs.replace(commits(0.0, variables=forced), trace=(traced(**asked),))
    judgement = verdict(where, SYNC, alike, lying)
    assert (RULE in rules(judgement)) == accused
    if accused:
        assert any("expected; the kernel's trace)" in line for line in found(judgement).because)


def test_an_event_that_was_lost_accuses_nobody() -> None:
    lost = msgspec.structs.replace(
        traced(), asked_by_us=None, asked_by_kernel_threads=None, asked_by_others=None, lost=1
    )
    seen = msgspec.structs.replace(commits(1.0), trace=(lost,))
    assert RULE not in rules(verdict(None, step(changes={"trace": (traced(us=2000),)}), seen))


def test_of_a_throwaway_server_were_asked_for_and_say_nothing_of_the_disk() -> None:
    judgement = verdict(None, SYNC, commits(3.1), commits(0.0, name="update_index low", variables=MYSQL["low"]))
    said = found(judgement)
    assert (said.verdict, said.scope, said.steps) == ("not-durable", "step", ("update_index low",))
    assert "innodb_flush_log_at_trx_commit = 2, sync_binlog = 0" in said.sentence
    assert judgement.verdict == "consistent"


def test_of_a_server_that_is_there_are_its_fault_whatever_arrives() -> None:
    for flushes in (0.0, 1.0):
        judgement = verdict(None, SYNC, commits(flushes, variables=MYSQL["low"], where="existing"))
        assert (judgement.verdict, found(judgement).scope) == ("not-durable", "process")


def test_flushes_that_others_have_added_to_are_said_to_be_the_most() -> None:
    theirs = commits(4.9, variables=MYSQL["low"], where="existing")
    alone, beside = verdict(None, SYNC, theirs, idle=quiet("sda")), verdict(None, SYNC, theirs, idle=busy("sda", 600))
    assert "sent 4.90 flushes each" in found(alone).sentence
    assert "sent at most 4.90 flushes each" in found(beside).sentence


def test_of_a_managed_service_are_read_even_where_nothing_can_be_counted() -> None:
    remote = commits(None, variables=MYSQL["low"], where="existing", on_target=False)
    assert "sync_binlog = 0" in found(verdict(None, SYNC, remote)).title


def test_sync_binlog_means_nothing_without_a_binary_log() -> None:
    shipped = {"log_bin": "OFF", "sync_binlog": "0", "innodb_flush_log_at_trx_commit": "1"}
    assert RULE not in rules(verdict(None, SYNC, commits(1.1, variables=shipped)))


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_of_sqlite(synchronous: str) -> None:
    said = found(verdict(None, SYNC, sqlite(0.0, synchronous)))
    assert said.scope == "step" and f"synchronous = {synchronous}" in said.title


def test_of_postgresql() -> None:
    variables = {**POSTGRESQL, "synchronous_commit": "off"}
    said = found(verdict(None, SYNC, commits(0.0, kind="postgresql", variables=variables)))
    assert "synchronous_commit = off" in said.title and "synchronous_commit = on" in said.next[0]
