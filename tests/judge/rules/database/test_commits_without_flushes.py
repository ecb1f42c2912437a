"""Commits that reach the device, and commits that do not."""

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.sqlite_commits import SqliteCommits, SqliteCommitsFigures
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.judgement import Finding, Judgement
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.databases import database, with_figures
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
    described = {"kind": kind, "variables": MYSQL["high"] if variables is None else variables, **server}
    sent = None if flushes is None else round(flushes * ops)
    done = database(workload, ops / 2.5, sent or 0, durable=True, **described)
    return replace(
        with_figures(done, transactions=ops),
        name=name,
        settings=Sysbench(server=kind, workload=workload, threads=threads),  # type: ignore[arg-type]
        ops=ops,
        syncs=ops,
        writers=threads,
        elapsed_s=2.5,
        counters=(counted("sda", sent, 1 << 26),),
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


@pytest.mark.parametrize("flushes", [0.0, 0.002, 0.5, 0.85])
def test_commits_that_do_not_are_reported_with_the_settings(flushes: float) -> None:
    judgement = verdict(None, SYNC, commits(flushes))
    reported = found(judgement)
    assert (judgement.verdict, reported.confidence, reported.scope) == ("not-durable", "high", "process")
    assert "sync_binlog = 1, innodb_flush_log_at_trx_commit = 1" in reported.sentence
    assert f"{flushes:.2f} flushes per commit at sda, 1 expected" == reported.title
    assert any("fdatasync by fstui: 1.00 flushes each" in line for line in reported.evidence)


def test_library_in_the_server_is_named() -> None:
    stubbed = commits(0.0, preloads=["/usr/lib/libeatmydata.so"])
    assert "/usr/lib/libeatmydata.so is loaded into the server" in found(verdict(None, SYNC, stubbed)).sentence


def test_postgresql_and_sqlite_are_judged_by_their_settings() -> None:
    for step_ in (commits(0.0, kind="postgresql", variables=POSTGRESQL), sqlite(0.0)):
        assert found(verdict(None, SYNC, step_)).scope == "process"


FORCED = {**MYSQL["high"], "log_bin": "OFF", "innodb_flush_method": "O_DSYNC", "innodb_log_file_buffering": "OFF"}
WITH_FUA = on_disk(filesystem(), disk(fua=True))
WRITE_THROUGH = on_disk(filesystem(), disk(write_cache="write through"))
NO_BINLOG = {"log_bin": "OFF", "sync_binlog": "0", "innodb_flush_log_at_trx_commit": "1"}
EATMYDATA = "/usr/lib/libeatmydata.so"
LOST = replace(traced(), requested_by_us=None, requested_by_kernel_threads=None, requested_by_others=None, lost=1)
TRACED = step(changes={"trace": (traced(us=2000),)})
BTRFS, TWO_FLUSHES = on_disk(filesystem("btrfs")), step(flushes=2.0, share=4.0)
O_DSYNC = step("O_DSYNC", open_flags=("dsync",), sync="none")
FUA_WRITES = step("O_DIRECT+O_DSYNC", open_flags=("direct", "dsync"), sync="none", flushes=0.0)


@pytest.mark.parametrize(
    ("where", "steps", "reported"),
    [
        pytest.param(BTRFS, (TWO_FLUSHES, commits(1.0)), True, id="btrfs sends two"),
        pytest.param(BTRFS, (TWO_FLUSHES, commits(2.0)), False, id="btrfs"),
        pytest.param(None, (SYNC, commits(0.3, threads=8)), False, id="group commit"),
        pytest.param(None, (SYNC, commits(0.0, workload="oltp_read_only")), False, id="only reads"),
        pytest.param(None, (SYNC, commits(0.0, ops=19)), False, id="few commits"),
        pytest.param(None, (SYNC, commits(0.0, where="existing", on_target=False)), False, id="data elsewhere"),
        pytest.param(None, (SYNC, commits(None)), False, id="device does not count"),
        pytest.param(WRITE_THROUGH, (step(flushes=0.0), commits(0.0)), False, id="write through"),
        pytest.param(None, (commits(0.0),), False, id="no sync to compare with"),
        pytest.param(None, (O_DSYNC, commits(0.0)), False, id="another kind of sync"),
        pytest.param(WITH_FUA, (SYNC, FUA_WRITES, commits(0.0, variables=FORCED)), False, id="FUA writes"),
        pytest.param(None, (SYNC, commits(1.1, variables=NO_BINLOG)), False, id="sync_binlog without a binary log"),
        pytest.param(None, (step(flushes=0.0), commits(0.0)), False, id="the storage drops fstui's, too"),
        pytest.param(None, (step(flushes=0.0), commits(0.0, preloads=[EATMYDATA])), True, id="a library is loaded"),
        pytest.param(None, (TRACED, replace(commits(1.0), trace=(LOST,))), False, id="an event was lost"),
    ],
)
def test_commits_are_reported_only_if_they_can_be_counted(
    where: Target | None, steps: tuple[Step, ...], reported: bool
) -> None:
    assert (RULE in rules(verdict(where, *steps))) is reported


@pytest.mark.parametrize(
    ("trace", "reported"),
    [
        pytest.param({}, True, id="no flush"),
        pytest.param({"us": 2000}, True, id="two commits of five"),
        pytest.param({"fua": 5000}, False, id="FUA writes by the server"),
        pytest.param({"fua_in_all": 5000}, False, id="FUA writes of any process"),
        pytest.param({"kernel": 5000}, False, id="commits of a journal"),
        pytest.param({"others": 5000}, False, id="another process, whose commit may have carried them"),
    ],
)
def test_trace_sees_fua_writes_that_no_device_counts(trace: dict[str, Any], reported: bool) -> None:
    flags: Any = {"open_flags": ("direct", "dsync"), "sync": "none", "flushes": 0.0}
    alike = step("O_DIRECT+O_DSYNC", changes={"trace": (traced(fua=2000),)}, **flags)
    commit = replace(commits(0.0, variables=FORCED), trace=(traced(**trace),))
    judgement = verdict(WITH_FUA, SYNC, alike, commit)
    assert (RULE in rules(judgement)) == reported
    if reported:
        assert any("expected; the kernel's trace)" in line for line in found(judgement).evidence)


def test_settings_of_a_throwaway_server_concern_the_step() -> None:
    judgement = verdict(None, SYNC, commits(3.1), commits(0.0, name="update_index low", variables=MYSQL["low"]))
    said = found(judgement)
    assert (said.verdict, said.scope, said.steps) == ("not-durable", "step", ("update_index low",))
    assert "innodb_flush_log_at_trx_commit = 2, sync_binlog = 0" in said.sentence
    assert judgement.verdict == "consistent"


def test_settings_of_an_existing_server_are_not_durable() -> None:
    for flushes in (0.0, 1.0):
        judgement = verdict(None, SYNC, commits(flushes, variables=MYSQL["low"], where="existing"))
        assert (judgement.verdict, found(judgement).scope) == ("not-durable", "process")


def test_flushes_next_to_other_writers_are_an_upper_bound() -> None:
    existing = commits(4.9, variables=MYSQL["low"], where="existing")
    alone, noisy = (verdict(None, SYNC, existing, idle=idle) for idle in (quiet("sda"), busy("sda", 600)))
    assert "sent 4.90 flushes each" in found(alone).sentence
    assert "sent at most 4.90 flushes each" in found(noisy).sentence


def test_settings_of_a_managed_service_need_no_counters() -> None:
    remote = commits(None, variables=MYSQL["low"], where="existing", on_target=False)
    assert "sync_binlog = 0" in found(verdict(None, SYNC, remote)).title


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_settings_of_sqlite(synchronous: str) -> None:
    said = found(verdict(None, SYNC, sqlite(0.0, synchronous)))
    assert said.scope == "step" and f"synchronous = {synchronous}" in said.sentence


def test_settings_of_postgresql() -> None:
    variables = {**POSTGRESQL, "synchronous_commit": "off"}
    said = found(verdict(None, SYNC, commits(0.0, kind="postgresql", variables=variables)))
    assert "synchronous_commit = off" in said.sentence and "synchronous_commit = on" in said.next[0]
