"""sysbench against real throwaway servers."""

import json
from pathlib import Path

import pytest

from fstui.measure.kinds.sysbench import Sysbench
from fstui.measure.probes.sysbench import ROW_BYTES
from fstui.model.quantities import two_decimals
from fstui.model.run import Run
from fstui.model.steps import Step
from tests.databases import servers
from tests.databases.servers import GIB
from tests.printing import run_as_text
from tests.real import disks, headless

SYNCED_BY_A_COMMIT = {
    "mariadb": ("redo log", "binary log"),
    "mysql": ("redo log", "binary log"),
    "postgresql": ("WAL",),
}
DURABLE = {
    "mariadb": ("oltp_update_index high", 2.5, 3.6),  # the redo log once, the binary log twice: it grows
    "mysql": ("oltp_update_index high", 1.8, 4.2),
    "postgresql": ("oltp_update_index synchronous_commit on", 0.9, 2.2),
}


@pytest.mark.parametrize("server", [*DURABLE, "postgresql-16", "postgresql-18"])
def test_durable_and_lossy_commits_differ_in_the_evidence(workshop: Path, own_user: Path, server: str) -> None:
    environment = servers.require(server)
    kind, _, version = server.partition("-")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        chosen = (f"server={kind}", "workload=oltp_update_index,oltp_read_only")
        run = servers.measure(storage.directory, *chosen, environment=environment)
        assert storage.device
        name, least, most = DURABLE[kind]
        durable = headless.step_named(run, name)
        other = headless.step_named(run, name.replace("high", "low").replace("commit on", "commit off"))
        flushed = durable.device(storage.device), other.device(storage.device)
        assert flushed[0] and flushed[0].flushes and flushed[1] and flushed[1].flushes is not None
        assert least <= flushed[0].flushes / durable.ops <= most
        assert flushed[1].flushes / other.ops < 0.2
        assert (durable.syncs, other.syncs) == (durable.ops, 0)
        for file in SYNCED_BY_A_COMMIT[kind]:  # once per commit; background syncs are added
            assert syncs_of(durable, file) >= 0.9 * durable.ops
            assert syncs_of(other, file) < 0.5 * other.ops

        assert servers.server_of(durable).where == "throwaway"
        assert f" {version}" in servers.server_of(durable).title
        assert str(servers.server_of(durable).data_directory).startswith(str(storage.directory))
        (found,) = (finding for finding in run.findings if finding.rule == "commits-without-flushes")
        assert (found.scope, found.steps) == ("step", (other.name,))
        assert headless.rules_against(run) == set()
        assert headless.judge_again(run).findings == run.findings
        in_every_report_as_sysbench_said_it(run)

        assert servers.left_in(storage.directory) == []
        assert servers.processes_of(storage.directory) == []
        assert list((own_user / ".local/state/fstui/ledger").iterdir()) == []


def syncs_of(step: Step, file: str) -> int:
    (found,) = (waits for waits in servers.figures_of(step).waits if waits.file == file)
    return found.syncs or 0


@pytest.mark.parametrize(
    ("kind", "durable", "option", "variable"),
    [
        ("mariadb", "durability=high", "doublewrite", "innodb_doublewrite"),
        ("mysql", "durability=high", "doublewrite", "innodb_doublewrite"),
        ("postgresql", "synchronous_commit=on", "full_page_writes", "full_page_writes"),
    ],
)
def test_configurations_share_tables(workshop: Path, kind: str, durable: str, option: str, variable: str) -> None:
    environment = servers.require(kind)
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        chosen = (f"server={kind}", "workload=oltp_insert", durable, "warmup=1")
        alone, both = servers.without_disk_steps(storage.directory), f"{option}=true,false"
        run = servers.measure(storage.directory, *chosen, both, environment=environment, scenario=alone)
    measured = [step for step in run.steps if isinstance(step.settings, Sysbench)]
    values = [servers.settings_of(step).options[variable] for step in measured]
    assert values == [True, False]
    assert [servers.server_of(step).variables[variable].lower() for step in measured] == ["on", "off"]
    assert len({servers.server_of(step).data_directory for step in measured}) == 1
    of_the_table = servers.settings_of(measured[0]).rows * ROW_BYTES
    assert run.written_bytes - sum(step.bytes for step in run.steps) == of_the_table
    for step in measured:  # the warm-up is not counted; PostgreSQL counts a moment later
        for waits in servers.figures_of(step).waits:
            assert waits.file != "binary log" or 0.9 * step.ops <= (waits.writes or 0) <= 1.3 * step.ops


def in_every_report_as_sysbench_said_it(run: Run) -> None:
    measured = [step for step in run.steps if isinstance(step.settings, Sysbench)]
    rows, text = run_as_text(run, "csv").splitlines(), run_as_text(run, "markdown")
    for step in measured:
        figures = servers.figures_of(step)
        queries, stated = figures.queries, figures.latency_ms
        assert queries and stated and stated.p95 and stated.avg and figures.tps
        assert step.ops == figures.transactions
        assert figures.cpu_s and figures.cpu_share and figures.host_cpu_share
        assert f"{step.rate_per_s:.2f}" == f"{figures.tps:.2f}"
        assert queries.total == queries.read + queries.write + queries.other
        assert step.latency_ns and step.latency_ns.p95 == round(stated.p95 * 1e6)
        assert sum(count for _, count in step.histogram) == step.ops
        (row,) = (line for line in rows if f",{step.name}," in line)
        assert f",{figures.tps},{figures.qps}," in row
        assert f" {two_decimals(figures.tps)} |" in text and f" {stated.avg:.2f} |" in text


def test_live_line_is_updated_every_second(workshop: Path) -> None:
    environment = servers.require("mariadb")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        pairs = headless.set_options("server=mariadb", "durability=high", "workload=oltp_insert", "seconds=3")
        alone = servers.without_disk_steps(storage.directory)
        done = headless.call("run", alone, storage.directory, "--format", "events", *pairs, environment=environment)
        events = [json.loads(line) for line in done.stdout.splitlines()]
    live = [event["snapshot"] for event in events if event["event"] == "StepProgressed"]
    for snapshot in live:
        seen = len((snapshot["figures"] or {}).get("intervals", []))
        assert snapshot["elapsed_s"] - seen < 2.5  # it starts and connects first
    assert len(live[-1]["figures"]["intervals"]) >= 2
    assert live[-1]["ops"] > 0 and live[-1]["figures"]["intervals"][0]["p95_ms"] > 0
    assert any(device["flushes"] for device in live[-1]["counters"])


def test_settings_choose_the_matrix(workshop: Path) -> None:
    environment = servers.require("mariadb", "postgresql")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        run = servers.measure(
            storage.directory,
            "server=mariadb,postgresql",
            "workload=oltp_insert",
            "durability=high",
            "flush_method=fsync,O_DSYNC",
            "synchronous_commit=on",
            "wal_sync_method=open_datasync",
            "threads=1,4",
            environment=environment,
            scenario=servers.without_disk_steps(storage.directory),
        )
    measured = {step.name: step for step in run.steps if isinstance(step.settings, Sysbench)}
    assert set(measured) == {
        *(f"oltp_insert mariadb {method} threads {threads}" for method in ("fsync", "O_DSYNC") for threads in (1, 4)),
        *(f"oltp_insert postgresql threads {threads}" for threads in (1, 4)),
    }
    for step in measured.values():
        assert step.status == "finished" and step.writers == servers.settings_of(step).threads
        variables = servers.server_of(step).variables
        if "postgresql" in step.name:
            assert variables["wal_sync_method"] == "open_datasync"
        else:
            assert variables["innodb_flush_method"] == servers.settings_of(step).options["innodb_flush_method"]
    # with four clients, commits share their flushes: that is no finding
    assert headless.rules_against(run) == set()


def test_durable_settings_under_libeatmydata_are_reported(workshop: Path) -> None:
    environment = servers.require("mariadb")
    preloaded = {**environment, "LD_PRELOAD": disks.eatmydata()}
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        chosen = ("server=mariadb", "durability=high", "workload=oltp_update_index")
        run = servers.measure(storage.directory, *chosen, environment=preloaded)
    assert run.verdict == "not-durable"
    assert headless.rules_against(run) == {"sync-stubbed", "commits-without-flushes"}
    (found,) = (finding for finding in run.findings if finding.rule == "commits-without-flushes")
    assert found.scope == "process" and any("libeatmydata" in line for line in found.evidence)
    assert "innodb_flush_log_at_trx_commit = 1" in found.sentence
