from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from fstui.judge import judge
from fstui.measure.kinds.replica_cut import ReplicaCut, ReplicaCutFigures
from fstui.measure.kinds.sysbench import FileIO, Interval, Sysbench
from fstui.model.run import Round, Run
from fstui.model.steps import Step
from fstui.report import compare, database_details, databases
from fstui.report import run as report
from fstui.report.comparison import Comparison
from fstui.report.database_details import notes
from fstui.report.figures import Counts, step_line
from fstui.report.formats import plain
from fstui.report.sections import cell_text
from tests.factories import steps as made
from tests.factories import storage
from tests.factories.databases import OLTP, STEPS, database, with_figures
from tests.factories.evidence import busy, quiet
from tests.factories.samples import LATENCY, RUN
from tests.hostile import NAME, assert_safe
from tests.printing import as_text, csv_rows, run_as_text

LOGS = (
    FileIO(file="redo log", writes=240, bytes=240_000, syncs=234),
    FileIO(file="binary log", writes=234, bytes=46_800, syncs=234, write_ns=9, sync_ns=234_000_000),
    FileIO(file="doublewrite", writes=0, bytes=0, syncs=0),
)
GTID = "87cf44fc-e68a-11f1-9dd6-80fe7964887e"


def one(*steps: Step) -> Run:
    return replace(RUN, steps=steps)


def rows_of(*runs: Run) -> dict[str, tuple[str, ...]]:
    table = databases.workloads(runs[0]) if len(runs) == 1 else databases.workloads_compared(Comparison(runs))
    cells = (tuple(map(cell_text, row)) for row in table.rows)
    return {label: tuple(values) for label, *values in cells}


def flushes_of(run: Run) -> str:
    return rows_of(run)["flushes/tx"][0]


def test_configurations_go_down_and_workloads_across() -> None:
    table = databases.tables(OLTP)[1]
    assert table.title == (
        "Workloads by configuration · "
        "MariaDB 10.11.19 · ext4 › sda1 › sda · innodb_flush_method O_DIRECT · 1 table of 10\xa0000 rows · pool 64 M"
        " · 1 client"
    )
    assert table.lines == (
        "#1 sync_binlog 1 · innodb_flush_log_at_trx_commit 1",
        "#2 sync_binlog 0 · innodb_flush_log_at_trx_commit 2",
    )
    assert table.header == ("", "read_write", "update_index")


def test_every_figure_of_sysbench_has_a_row() -> None:
    steps = (with_figures(replace(step, latency_ns=LATENCY), ignored_errors=3) for step in STEPS[1:])
    rows = rows_of(one(*steps))
    assert rows["#1 tx/s"] == ("15.49", "116.81") and rows["#2 tx/s"] == ("154.90", "11\xa0681.00")
    assert rows["#1 avg ms"] == ("68.49", "68.49") and rows["#1 p95 ms"] == ("150.29", "150.29")
    assert rows["#1 p99"] == ("5.9 ms", "5.9 ms") and rows["#1 errors"] == ("3", "3")
    assert rows["#1 flushes/tx"] == ("2.90", "2.99")
    assert [label.removeprefix("#1 ") for label in rows][:14] == [
        *("queries read", "write", "other", "total", "transactions", "tx/s", "qps"),
        *("min ms", "avg ms", "max ms", "p95 ms", "p99", "errors", "flushes/tx"),
    ]


def test_one_configuration_needs_no_number() -> None:
    (table,) = databases.tables(one(*STEPS[1:3]))
    assert table.lines == () and rows_of(one(*STEPS[1:3]))["tx/s"] == ("15.49", "116.81")


def test_the_configuration_is_what_the_server_reports() -> None:
    step = database("oltp_insert", 9.0, 5, durable=True, variables={"sync_binlog": "0", "innodb_flush_method": "fsync"})
    assert "#1 innodb_flush_method fsync · sync_binlog 0" in databases.tables(one(step, STEPS[1]))[0].lines[0]


def test_a_missing_workload_is_a_dash() -> None:
    rows = rows_of(one(STEPS[1], STEPS[4]))
    assert rows["#1 tx/s"] == ("15.49", "–") and rows["#2 tx/s"] == ("–", "11\xa0681.00")


def test_the_table_fits_80_columns_with_many_workloads() -> None:
    names = ("read_write", "update_index", "read_only", "insert", "write_only", "update_non_index", "point_select")
    steps = (database(f"oltp_{name}", 99999.5, 5, durable=durable) for name in names for durable in (True, False))
    lines = list(plain.lines(databases.tables(one(*steps))[1], 80))
    assert max(map(cell_len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in names)
    assert sum(line.startswith("#1 tx/s") for line in lines) == 2


def test_runs_on_different_filesystems_share_one_table() -> None:
    dataset = storage.filesystem("zfs", below=("sda",), recordsize="16K", logbias="latency")
    zfs = replace(RUN, id="x7b2c9", steps=STEPS[1:3], target=storage.target(dataset, storage.disk()))
    ext4 = one(*STEPS[1:3])
    assert databases.workloads_compared(Comparison([ext4, zfs])).lines == (
        "#1 run k3f9a1 · ext4 › sda1 › sda",
        "#2 run x7b2c9 · zfs › sda · logbias=latency · recordsize=16K",
    )
    assert "#2 tx/s" in as_text(compare.comparison_report([ext4, zfs]), width=80)
    assert [rows_of(ext4, zfs)[f"#2 {label}"] for label in ("queries read", "total", "min ms", "max ms")] == [
        ("10", "10"), ("60", "60"), ("0.73", "0.73"), ("624.89", "624.89"),
    ]  # fmt: skip


def test_rounds_are_represented_by_their_median() -> None:
    def round_(number: int, side: int, tps: float) -> Run:
        order = Round(series="s", side=side, number=number, of=3)
        return replace(one(database("oltp_insert", tps, 5, durable=True)), id=f"{side}{number}", round=order)

    runs = [round_(number, side, tps + side) for side in (0, 1) for number, tps in enumerate((30.0, 10.0, 20.0), 1)]
    rows = rows_of(*runs)
    assert (rows["#1 tx/s"], rows["#2 tx/s"]) == (("20.00",), ("21.00",))
    assert (rows["#1 tx/s of all rounds"], rows["#1 total"]) == (("10.0–30.0/s",), ("60",))
    assert databases.workloads_compared(Comparison(runs)).lines == (
        "#1 run 01 ×3, median round", "#2 run 11 ×3, median round",
    )  # fmt: skip


def test_a_sweep_over_clients_has_a_curve() -> None:
    def at(threads: int, tps: float) -> Step:
        step = database("oltp_insert", tps, 5, durable=True)
        assert isinstance(step.settings, Sysbench)
        return replace(step, settings=replace(step.settings, threads=threads))

    run = one(at(1, 100.0), at(4, 350.0), at(16, 700.0), at(64, 20.0))
    swept = databases.tables(run)[1]
    assert swept.title.startswith("tx/s by clients · MariaDB 10.11.19 · ")
    assert swept.header == ("", "1", "4", "16", "64", "curve")
    assert swept.rows == (("insert", "100.00", "350.00", "700.00", "20.00", "▂▅█▁"),)
    assert "▂▅█▁" in run_as_text(run)
    assert databases.by_clients(OLTP).empty


def test_durable_and_not_durable_have_a_ratio_and_the_limit() -> None:
    compared = databases.tables(OLTP)[0]
    assert compared.rows == (
        ("MariaDB 10.11.19 read_write", "durable", "15.5", "", "2.90"),
        ("MariaDB 10.11.19 read_write", "not durable", "155", "10.00 ×", "0.01"),
        ("MariaDB 10.11.19 update_index", "durable", "117", "", "2.99"),
        ("MariaDB 10.11.19 update_index", "not durable", "11\xa0681", "100.00 ×", "0.00"),
    )
    assert compared.lines == ("CPU-bound: oltp_update_index low",)
    assert "The processor, not the storage, limited oltp_update_index low (93\xa0%)." in notes(OLTP)


def test_reads_are_not_compared_by_durability() -> None:
    both = (database("oltp_read_only", 20.0, 0, durable=durable) for durable in (True, False))
    assert not any("Durable" in table.title for table in databases.tables(one(*both)))


def test_every_format_shows_the_tables() -> None:
    markdown = run_as_text(OLTP, "markdown")
    assert "- \\#2 sync\\_binlog 0" in markdown and "| \\#2 tx/s | 154.90 | 11\xa0681.00 |" in markdown
    assert "#2 sync_binlog 0 · innodb_flush_log_at_trx_commit 2" in run_as_text(OLTP)
    rows = csv_rows(run_as_text(OLTP, "csv"))
    assert [row["tps"] for row in rows] == ["", "15.49", "116.81", "154.9", "11681.0"]
    assert rows[1]["latency_ms_p95"] == "150.29" and rows[1]["server_settings"].startswith("log_bin=ON; sync_binlog=1")
    assert rows[0]["name"] == "fdatasync"


@pytest.mark.parametrize("run", [RUN, one(Step(name="x", settings=Sysbench(server="mysql"), status="failed"))])
def test_without_a_completed_database_there_are_no_tables(run: Run) -> None:
    assert report.tables(run) == [] and notes(run) == ()
    assert "tx/s" not in run_as_text(run, "markdown")


def test_names_from_a_server_are_safe() -> None:
    run = one(database("oltp_insert", 9.0, 5, durable=False, title=NAME))
    for name in ("plain", "markdown", "csv"):
        assert_safe(run_as_text(run, name))


def test_the_binary_log_is_mentioned_once() -> None:
    assert sum("fstui enabled its binary log" in note for note in notes(OLTP)) == 1


def test_an_existing_server_is_described_with_its_settings() -> None:
    step = database(
        *("oltp_insert", 9.0, 5),
        durable=True, where="existing", on_target=False, reached="db7:3306", data_directory="/data",
    )  # fmt: skip
    settings, log, elsewhere = notes(one(step))
    expected = "MariaDB 10.11.19, db7:3306: sync_binlog = 1, innodb_flush_log_at_trx_commit = 1; read, not changed."
    assert settings == expected
    for variables in (
        {"innodb_flush_method": "O_DIRECT", "innodb_doublewrite": "OFF"},
        {"wal_sync_method": "open_datasync", "full_page_writes": "off"},
    ):
        kind = "mariadb" if "innodb_doublewrite" in variables else "postgresql"
        other = one(database("oltp_insert", 9.0, 5, durable=True, where="existing", kind=kind, variables=variables))
        stated = [f"{name} = {value}" for name, value in variables.items()]
        assert ", ".join(stated) in notes(other)[0] and " · ".join(stated) in databases.workloads(other).title
    assert "every replica received everything" in log
    assert "its data, in /data, is not on the measured filesystem" in elsewhere
    assert flushes_of(one(step)) == "–"


def test_a_server_behind_a_tunnel_has_data_in_an_unknown_place() -> None:
    step = database("oltp_insert", 9.0, 5, durable=True, where="existing", on_target=False, located=False)
    found = notes(one(step))
    assert any("it is not known whether its data is on the measured filesystem" in note for note in found)
    assert not any("is not on the measured" in note for note in found)


@pytest.mark.parametrize(
    ("where", "log_bin", "count"), [("existing", "ON", 1), ("existing", "OFF", 0), ("throwaway", "ON", 0)]
)
def test_replicas_of_an_existing_server_are_mentioned(where: str, log_bin: str, count: int) -> None:
    step = database("oltp_insert", 9.0, 5, durable=True, where=where, variables={"log_bin": log_bin})
    assert sum("every replica" in sentence for sentence in notes(one(step))) == count


def test_flushes_are_those_of_the_level_that_the_judge_uses() -> None:
    # no flush reaches loop0; the disk below it receives those of other processes
    where = storage.target(storage.filesystem(below=("loop0",), barrier="nobarrier"), *storage.on_loop().stack[1:])
    step = database("oltp_insert", 100.0, 0, durable=True)
    counters = made.counted("loop0", 0, 9), made.counted("sda", 854, 9)
    reference = made.step(flushes={"loop0": 0, "sda": 1.3})
    steps = (reference, replace(step, counters=counters))
    assert flushes_of(replace(RUN, target=where, idle=quiet(), steps=steps)) == "0.00"


@pytest.mark.parametrize("traced", [False, True], ids=["while idle", "by the trace"])
def test_flushes_of_other_processes_make_an_upper_bound(traced: bool) -> None:
    step = database("oltp_insert", 100.0, 600, durable=True)
    trace = made.traced(us=560, others=40)
    alone = replace(RUN, idle=quiet(), steps=(step,))
    shared = replace(alone, steps=(replace(step, trace=(trace,)),)) if traced else replace(alone, idle=busy("sda", 30))
    assert flushes_of(alone) == "3.00" and flushes_of(shared) == "≤ 3.00"
    assert [note for note in notes(shared) if note not in notes(alone)] == [
        "“≤” in the column flushes/tx: the count may include flushes of other processes."
    ]


def crowded(**figures: Any) -> Run:
    step = database("oltp_insert", 9.0, 5, durable=True, cpu_share=0.2)
    return one(with_figures(step, **{"host_cpu_share": 0.97, "others_cpu_share": 0.8, "autogroup": True, **figures}))


def test_a_busy_host_with_autogroup_suggests_a_shared_session() -> None:
    crowd, sessions = (note for note in notes(crowded()) if "rocessor" in note)
    expected = "which may have limited oltp_insert high (others 80\xa0%, server and clients 17\xa0%)."
    assert crowd == f"Other processes kept the processors busy, {expected}"
    assert "--set session=shared" in sessions


def test_a_busy_processor_is_reported_in_one_sentence() -> None:
    (note,) = (note for note in notes(crowded(cpu_share=0.3, autogroup=False)) if "rocessor" in note)
    assert note.startswith("Other processes kept the processors busy, which limited oltp_insert high (others 80\xa0%")


@pytest.mark.parametrize("figures", [{"autogroup": False}, {"host_cpu_share": 0.5}, {"others_cpu_share": 0.1}])
def test_other_hosts_do_not_mention_sessions(figures: dict[str, Any]) -> None:
    assert not any("session" in note for note in notes(crowded(**figures)))


def run_with_waits(waits: tuple[FileIO, ...], **server: Any) -> Run:
    step = database("oltp_update_index", 117.0, 702, durable=True, **server)
    return one(STEPS[0], with_figures(step, waits=waits))


def test_the_name_of_a_step_stands_beside_its_options() -> None:
    (high,) = database_details.table(run_with_waits(LOGS)).lines
    assert high.startswith("#1 oltp_update_index high · ")
    assert high.endswith(" · sync_binlog 1 · innodb_flush_log_at_trx_commit 1")


def test_each_written_file_has_a_row_above_the_kernels_count() -> None:
    table = database_details.table(run_with_waits(LOGS))
    rows = {str(name): cells for name, *cells in table.rows}
    assert rows["#1 redo log"] == ["1.03", "1.0 K", "1.00", "–"]
    assert rows["#1 binary log"] == ["1.00", "200 B", "1.00", "1.0 ms"]
    assert rows["#1 all syncs"][2] == "2.00" and rows["#1 device flushes"][2] == "3.00"
    assert "#1 doublewrite" not in rows


def test_no_sum_of_syncs_without_the_servers_count_of_each_file() -> None:
    """MariaDB with log_bin, O_DSYNC and performance_schema = OFF, its default: it does not count the binary log."""
    uncounted = FileIO(file="doublewrite")
    run = run_with_waits((LOGS[0], uncounted), kind="mariadb")
    rows = {str(name): cells for name, *cells in database_details.table(run).rows}
    assert rows["#1 redo log"][2] == "1.00" and rows["#1 all syncs"][2] == "–"
    assert any("performance_schema" in note for note in database_details.notes(run))


@pytest.mark.parametrize("writes", [0, 9])
def test_the_row_doublewrite_is_explained_only_if_it_is_there(writes: int) -> None:
    logs = (*LOGS[:2], FileIO(file="doublewrite", writes=writes, bytes=0, syncs=0))
    run = run_with_waits(logs, kind="mariadb")
    rows = [str(name) for name, *_ in database_details.table(run).rows]
    assert any("The row doublewrite" in note for note in notes(run)) == ("#1 doublewrite" in rows) == bool(writes)


def test_flushes_of_a_transaction_are_not_called_flushes_per_sync() -> None:
    inserts = replace(database("oltp_insert", 100.0, 600, durable=True), syncs=200)
    run = replace(one(STEPS[0], inserts), idle=quiet())
    fdatasync, insert = (step_line(step, Counts(run)) for step in run.steps)
    assert fdatasync.endswith("flushes per sync") and insert.endswith(" · 3.00 flushes per transaction")
    text = run_as_text(run)
    assert "3.00/tx" in text and "/tx in FLUSH/SYNC: flushes per transaction" in text
    assert "/tx in" not in run_as_text(one(STEPS[0]))
    assert csv_rows(run_as_text(run, "csv"))[-1]["flushes_per_sync"] == "3.0"


def test_every_format_shows_the_files() -> None:
    run = run_with_waits(LOGS)
    assert "#1 binary log" in run_as_text(run)
    assert any("commits the filesystem's journal" in note for note in notes(run))
    assert "| #1 binary log | 1.00 |" in run_as_text(run, "markdown").replace("\\#", "#")
    row = csv_rows(run_as_text(run, "csv"))[-1]
    assert (row["redo_log_syncs"], row["binary_log_writes"], row["wal_syncs"]) == ("234", "234", "")


def test_a_server_without_counters_has_no_table_of_files() -> None:
    assert database_details.table(OLTP).empty and not any("counted the syncs" in note for note in notes(OLTP))
    assert database_details.table(run_with_waits((FileIO(file="data", writes=0, syncs=0),))).empty


@pytest.mark.parametrize(
    ("file", "server"),
    [
        ("WAL", {"kind": "postgresql", "variables": {"wal_sync_method": "open_datasync"}}),
        ("redo log", {"variables": {"innodb_flush_method": "O_DSYNC", "log_bin": "ON"}}),
    ],
)
def test_each_write_with_odsync_is_a_sync(file: str, server: dict[str, Any]) -> None:
    run = run_with_waits((FileIO(file=file, writes=234, syncs=0, write_ns=234_000_000),), **server)
    table = database_details.table(run)
    assert table.rows[0] == (f"#1 {file}", "1.00", "–", "1.00", "1.0 ms")
    assert table.rows[1][3] == "1.00"
    assert any("O_DSYNC" in note for note in notes(run))
    assert csv_rows(run_as_text(run, "csv"))[-1][f"{file.lower().replace(' ', '_')}_syncs"] == "234"


def run_of(length_s: int) -> Run:
    def second(at: int) -> Interval:
        return Interval(t_s=at, tps=100.0 + at, qps=200.0, p95_ms=float(at), errors_per_s=at % 2)

    seconds = tuple(map(second, range(1, length_s + 1)))
    return one(with_figures(database("oltp_insert", 100.0, 0, durable=True), intervals=seconds))


def test_every_second_has_a_row() -> None:
    rows = csv_rows(run_as_text(run_of(3), "seconds"))
    assert [row["tps"] for row in rows] == ["101.0", "102.0", "103.0"]
    assert rows[2]["name"] == "oltp_insert high" and rows[2]["errors_per_s"] == "1"


ENDED = Step(
    name="power cut",
    settings=ReplicaCut(server="mysql", replication="semi-synchronous", durability="low", cut="power cut"),
    ops=2239,
    figures=ReplicaCutFigures(
        title="MySQL 9.7.4",
        acknowledged=2239,
        on_primary=2161,
        on_replica=2242,
        lost_on_primary=78,
        on_replica_alone=81,
        gtid_primary=f"{GTID}:1-2165",
        gtid_replica=f"{GTID}:1-2246",
    ),
)
REPLICAS = one(ENDED, Step(name="kill -9", settings=ReplicaCut(server="mysql"), status="stopped"))


def test_every_end_of_a_primary_has_a_row() -> None:
    lines = run_as_text(REPLICAS)
    assert "MySQL 9.7.4 · 4 clients" in lines and max(map(cell_len, lines.splitlines())) <= 80
    assert "…:1-2165" in lines and GTID not in lines
    assert "| semi-sync low, cut | 2\xa0239 | 78 | 0 | 0 | 81 |" in run_as_text(REPLICAS, "markdown")


@pytest.mark.parametrize(
    ("lost", "both", "sign"), [(0, 0, "✓"), (78, 0, "!"), (78, 3, "✗")], ids=["none", "on the primary", "on both"]
)
@pytest.mark.parametrize("format_", ["plain", "markdown", "html", "brief"])
def test_what_survived_comes_before_the_verdict(format_: str, lost: int, both: int, sign: str) -> None:
    assert isinstance(ENDED.figures, ReplicaCutFigures)
    figures = replace(ENDED.figures, lost_on_primary=lost, lost_everywhere=both)
    run = one(replace(ENDED, figures=figures))
    judged = judge(run)
    run = replace(run, findings=judged.findings, verdict="consistent", sentence=judged.sentence)
    headline, _, rest = run_as_text(run, format_).partition("The filesystem below: ✓ CONSISTENT")
    (found,) = (each for each in judged.findings if each.rule == "replica-cut")
    assert f"{sign} {found.title}" in headline and rest
    assert ("semi-sync low, cut" in headline) == (format_ != "brief") and "semi-sync low, cut" not in rest


def test_a_spreadsheet_has_the_replicas_by_name() -> None:
    ended, unfinished = csv_rows(run_as_text(REPLICAS, "csv"))
    assert (ended["acknowledged"], ended["lost_on_primary"], ended["on_replica_alone"]) == ("2239", "78", "81")
    assert ended["gtid_replica"] == f"{GTID}:1-2246"
    assert (unfinished["cut"], unfinished["acknowledged"]) == ("kill -9", "")
