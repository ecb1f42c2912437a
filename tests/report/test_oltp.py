"""The comparison table of databases."""

from __future__ import annotations

import csv as spreadsheet
from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Queries, ReportedLatency, Sysbench, SysbenchFigures
from fstui.model.counters import DeviceCounters, DeviceTrace
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import oltp
from fstui.report.formats import csv, markdown, plain
from tests.factories import steps as made
from tests.factories import storage
from tests.factories.evidence import busy, quiet
from tests.factories.samples import NASTY, RUN, SYNCED


def database(workload: str, tps: float, flushes: int, *, durable: bool, cpu_share: float = 0.4, **server: Any) -> Step:
    log, commit = ("1", "1") if durable else ("0", "2")
    options = {
        "innodb_flush_method": "O_DIRECT",
        "sync_binlog": int(log),
        "innodb_flush_log_at_trx_commit": int(commit),
    }
    transactions = round(tps * 2)
    described = {
        "kind": "mariadb",
        "title": "MariaDB 10.11.19",
        "where": "throwaway",
        "variables": {"log_bin": "ON", "sync_binlog": log, "innodb_flush_log_at_trx_commit": commit},
    }
    return Step(
        name=f"{workload} {'high' if durable else 'low'}",
        settings=Sysbench(server="mariadb", workload=workload, options=options),  # type: ignore[arg-type]
        ops=transactions,
        elapsed_s=2.0,
        rate_per_s=tps,
        counters=(DeviceCounters(device="sda", writes=9, written_bytes=9, flushes=flushes),),
        figures=SysbenchFigures(
            queries=Queries(read=10, write=20, other=30, total=60),
            transactions=transactions,
            tps=tps,
            qps=2 * tps,
            latency_ms=ReportedLatency(min=0.73, avg=68.49, max=624.89, p95=150.29),
            cpu_share=cpu_share,
            server=Server(**{**described, **server}),
        ),
    )


STEPS = (
    SYNCED,
    database("oltp_read_write", 15.49, 90, durable=True),
    database("oltp_update_index", 116.81, 700, durable=True),
    database("oltp_read_write", 154.9, 3, durable=False),
    database("oltp_update_index", 11681.0, 2, durable=False, cpu_share=0.93),
)
OLTP = replace(RUN, steps=STEPS)


def test_one_table_per_configuration_and_one_column_per_workload() -> None:
    high, low, _ = oltp.tables(OLTP)
    assert high.header == ("", "read_write", "update_index") == low.header
    assert high.title == (
        "MariaDB 10.11.19 · innodb_flush_method O_DIRECT · sync_binlog 1 · innodb_flush_log_at_trx_commit 1 · 1 client"
    )
    rows = {row[0]: row[1:] for row in high.rows}
    assert list(rows) == [
        *("queries read", "write", "other", "total", "transactions", "tps", "qps"),
        *("min ms", "avg ms", "max ms", "p95 ms", "flushes/trx"),
    ]
    assert rows["tps"] == ("15.49", "116.81")
    assert rows["p95 ms"] == ("150.29", "150.29")


def test_durable_and_not_durable_stand_side_by_side_with_their_ratio_and_what_limited_them() -> None:
    *_, compared = oltp.tables(OLTP)
    assert compared.rows == (
        ("MariaDB 10.11.19 read_write", "15.5", "155", "10.00 ×", "2.90 → 0.01"),
        ("MariaDB 10.11.19 update_index", "117", "11 681 (processor)", "100.00 ×", "2.99 → 0.00"),
    )
    assert any(
        "The processor, not the storage, was the limit of: oltp_update_index low (93 %)" in n for n in oltp.notes(OLTP)
    )


def test_reading_has_nothing_to_be_durable_about() -> None:
    both = tuple(database("oltp_read_only", 20.0, 0, durable=durable) for durable in (True, False))
    assert [table.title for table in oltp.tables(replace(RUN, steps=both)) if "Durable" in table.title] == []


def test_the_binary_log_is_mentioned_once() -> None:
    assert sum("binary log was on" in note for note in oltp.notes(OLTP)) == 1


def test_an_existing_server_is_told_with_its_settings_and_where_its_data_is() -> None:
    step = database(
        "oltp_insert",
        9.0,
        5,
        durable=True,
        where="existing",
        on_target=False,
        reached="db7:3306",
        data_directory="/data",
    )
    run = replace(RUN, steps=(step,))
    told, copied, elsewhere = oltp.notes(run)
    assert told == "MariaDB 10.11.19, db7:3306: sync_binlog = 1, innodb_flush_log_at_trx_commit = 1; read, not changed."
    assert copied == "MariaDB 10.11.19: its binary log is on, and took all that was written here; so did every replica."
    assert "/data, is not on the filesystem that was measured" in elsewhere
    assert oltp.tables(run)[0].rows[-1] == ("flushes/trx", "–")


def test_a_server_behind_a_tunnel_has_data_of_unknown_place() -> None:
    step = database("oltp_insert", 9.0, 5, durable=True, where="existing", on_target=False, located=False)
    notes = oltp.notes(replace(RUN, steps=(step,)))
    assert any("it is not known whether its data is on the filesystem that was measured" in note for note in notes)
    assert not any("is not on the filesystem" in note for note in notes)


@pytest.mark.parametrize(
    ("where", "log_bin", "said"), [("existing", "ON", 1), ("existing", "OFF", 0), ("throwaway", "ON", 0)]
)
def test_that_replicas_get_it_all_is_said_of_a_server_that_was_there_and_keeps_a_binary_log(
    where: str, log_bin: str, said: int
) -> None:
    step = database("oltp_insert", 9.0, 5, durable=True, where=where, variables={"log_bin": log_bin})
    told = oltp.notes(replace(RUN, steps=(step,)))
    assert sum("so did every replica" in sentence for sentence in told) == said


def loop_without_barriers() -> Run:
    """No flush reaches loop0; the disk beneath it hears those of others."""
    where = storage.target(storage.filesystem(below=("loop0",), barrier="nobarrier"), *storage.on_loop().stack[1:])
    asked = database("oltp_insert", 100.0, 0, durable=True)
    counters = made.counted("loop0", 0, 9), made.counted("sda", 854, 9)
    reference = made.step(flushes={"loop0": 0, "sda": 1.3})
    return replace(RUN, target=where, idle=quiet(), steps=(reference, replace(asked, counters=counters)))


def test_flushes_are_those_of_the_layer_that_the_judge_speaks_of() -> None:
    found = oltp.tables(loop_without_barriers())[0].rows[-1]
    assert found == ("flushes/trx", "0.00")


@pytest.mark.parametrize("traced", [False, True], ids=["while idle", "by the trace"])
def test_flushes_that_others_have_added_to_are_marked(traced: bool) -> None:
    step = database("oltp_insert", 100.0, 600, durable=True)
    trace = DeviceTrace(device="sda", asked_by_us=560, asked_by_kernel_threads=0, asked_by_others=40, fua_writes=0,
                        fua_writes_by_us=0, requests=600)  # fmt: skip
    alone = replace(RUN, idle=quiet(), steps=(step,))
    beside = replace(alone, steps=(replace(step, trace=(trace,)),)) if traced else replace(alone, idle=busy("sda", 30))
    assert oltp.tables(alone)[0].rows[-1][1] == "3.00"
    assert oltp.tables(beside)[0].rows[-1][1] == "≤ 3.00"
    assert [note for note in oltp.notes(beside) if note not in oltp.notes(alone)] == [
        "≤ before flushes/trx: others write to these devices; theirs are counted with ours."
    ]


def test_every_report_holds_the_figures() -> None:
    assert "| tps | 15.49 | 116.81 |" in markdown.render(OLTP)
    assert any(line.split() == ["tps", "15.49", "116.81"] for line in plain.render(OLTP).splitlines())
    rows = list(spreadsheet.DictReader(StringIO(csv.render(OLTP))))
    assert [row["tps"] for row in rows] == ["", "15.49", "116.81", "154.9", "11681.0"]
    assert rows[1]["latency_ms_p95"] == "150.29" and rows[1]["server_settings"].startswith("log_bin=ON; sync_binlog=1")
    assert rows[0]["name"] == "fdatasync"


def test_runs_without_a_database_are_as_they_were() -> None:
    assert oltp.tables(RUN) == [] and oltp.notes(RUN) == []
    assert "tps" not in csv.render(RUN) and "tps" not in markdown.render(RUN)


def test_a_step_that_failed_has_no_column() -> None:
    failed: Run = replace(RUN, steps=(Step(name="oltp_insert", settings=Sysbench(server="mysql"), status="failed"),))
    assert oltp.tables(failed) == []


def test_names_from_a_server_are_safe() -> None:
    run = replace(RUN, steps=(database("oltp_insert", 9.0, 5, durable=False, title=NASTY),))
    for text in (markdown.render(run), plain.render(run), csv.render(run)):
        assert "\x1b" not in text


def crowded(**figures: Any) -> Run:
    step = database("oltp_insert", 9.0, 5, durable=True, cpu_share=0.2)
    assert isinstance(step.figures, SysbenchFigures)
    told = replace(step.figures, **{"box_cpu_share": 0.97, "others_cpu_share": 0.8, "autogroup": True, **figures})
    return replace(RUN, steps=(replace(step, figures=told),))


def test_on_a_busy_box_whose_kernel_shares_by_sessions_the_other_session_is_offered() -> None:
    (note,) = (note for note in oltp.notes(crowded()) if "session" in note)
    assert "oltp_insert high (80 %)" in note and "--set session=shared" in note


@pytest.mark.parametrize("figures", [{"autogroup": False}, {"box_cpu_share": 0.5}, {"others_cpu_share": 0.1}])
def test_elsewhere_nothing_is_said_of_sessions(figures: dict[str, Any]) -> None:
    assert not any("session" in note for note in oltp.notes(crowded(**figures)))
