"""Steps of database workloads and runs that contain them."""

from typing import Any

from msgspec.structs import replace

from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Queries, ReportedLatency, Sysbench, SysbenchFigures
from fstui.model.counters import DeviceCounters
from fstui.model.steps import Step
from tests.factories.samples import RUN, SYNCED


def database(workload: str, tps: float, flushes: int, *, durable: bool, cpu_share: float = 0.4, **server: Any) -> Step:
    """Return a step of 2 s on a MariaDB that syncs both logs at every commit (``durable``), or at none."""
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


def with_figures(step: Step, **figures: Any) -> Step:
    assert isinstance(step.figures, SysbenchFigures)
    return replace(step, figures=replace(step.figures, **figures))


STEPS = (
    SYNCED,
    database("oltp_read_write", 15.49, 90, durable=True),
    database("oltp_update_index", 116.81, 700, durable=True),
    database("oltp_read_write", 154.9, 3, durable=False),
    database("oltp_update_index", 11681.0, 2, durable=False, cpu_share=0.93),
)
OLTP = replace(RUN, steps=STEPS)
