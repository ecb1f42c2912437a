"""What databases got, in the table that readers of benchmarks know: one per configuration, a column per workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.measure.kinds.servers import DURABILITY, Server
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Queries, ReportedLatency, Sysbench, SysbenchFigures
from fstui.model.quantities import count, counted, rate, ratio
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures

NONE = "–"
AT_MOST = "≤ "
"""Before a count that others have added to."""
PREFIX = "oltp_"
_ROWS = {
    "queries read": "queries_read",
    "write": "queries_write",
    "other": "queries_other",
    "total": "queries_total",
    "transactions": "transactions",
    "tps": "tps",
    "qps": "qps",
    "min ms": "latency_ms_min",
    "avg ms": "latency_ms_avg",
    "max ms": "latency_ms_max",
    "p95 ms": "latency_ms_p95",
}
"""Rows of the table, and the figures in them by their columns' names in a spreadsheet."""


class Measured(NamedTuple):
    """A step that sysbench has reported of to its end."""

    step: Step
    asked: Sysbench
    told: SysbenchFigures
    tps: float

    @property
    def server(self) -> Server:
        """What it ran against."""
        return self.told.server or Server(title="server")

    @property
    def workload(self) -> str:
        """Without what all of them begin with."""
        return self.asked.workload.removeprefix(PREFIX)

    @property
    def in_force(self) -> tuple[str, ...]:
        """What was asked of the server, as it says that it has it; of an existing one what decides its durability."""
        if self.server.existing:
            return self.server.durability
        has = self.server.variables
        return tuple(f"{name} {has.get(name) or _word(value)}" for name, value in self.asked.options.items())


class Table(NamedTuple):
    """A title, a header, rows of equal length; the first column is text, the others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...] = ()
    """What stands between title and header, a line each."""


def tables(run: Run) -> list[Table]:
    """One per configuration, then durable against not durable. Empty where no database was measured."""
    counts = figures.Counts(run)
    found = [_block(counts, title, databases) for title, databases in _blocks(run).items()]
    compared = tuple(_compared(run, counts))
    if compared:
        header = ("", "durable tps", "not durable", "times", "flushes/trx")
        found.append(Table("Durable against not durable", header, compared))
    return found


def notes(run: Run) -> list[str]:
    """Sentences about what the tables alone would not tell."""
    databases = measured(run)
    servers = {each.server.title: each.server for each in databases if each.told.server}
    sentences = [
        f"{title}: its binary log was on, as replication has it. MariaDB ships with it off, and sync_binlog then "
        "changes nothing."
        for title, server in servers.items()
        if server.binary_log_turned_on
    ]
    sentences += [
        f"{title}, {server.reached}: {', '.join(server.durability)}; read, not changed."
        for title, server in servers.items()
        if server.existing and server.durability
    ]
    sentences += [
        f"{title}: its binary log is on, and took all that was written here; so did every replica."
        for title, server in servers.items()
        if server.logs_for_replicas
    ]
    sentences += [
        f"{title}: its data{_where(server)} is not on the filesystem that was measured: what the devices counted is "
        "not its doing."
        if server.located
        else f"{title}: its process was not found on this machine, so it is not known whether its data is on the "
        "filesystem that was measured. What the devices counted is not attributed to it."
        for title, server in servers.items()
        if not server.on_target
    ]
    counts = figures.Counts(run)
    if any(each.server.on_target and counts.shared_with_others(each.step) for each in databases):
        sentences.append(f"{AT_MOST}before flushes/trx: others write to these devices; theirs are counted with ours.")
    sentences += _of_the_flag(run)
    limited = [each for each in databases if each.told.limited_by_processor]
    if limited:
        shares = ", ".join(f"{each.step.name} ({round(100 * (each.told.cpu_share or 0))} %)" for each in limited)
        sentences.append(f"The processor, not the storage, was the limit of: {shares}.")
    return [*sentences, *_of_the_sessions(databases)]


def _of_the_sessions(databases: Sequence[Measured]) -> Iterator[str]:
    """Where others kept the processors busy, whoever has a session of its own waits for its turn among theirs."""
    outdone = [each for each in databases if each.asked.own_session and each.told.outdone]
    if outdone:
        shares = ", ".join(f"{each.step.name} ({round(100 * (each.told.others_cpu_share or 0))} %)" for each in outdone)
        yield (
            f"Others kept the processors busy during {shares}. This kernel shares them out among sessions "
            "(sched_autogroup_enabled = 1), and server and clients have sessions of their own: started from one shell "
            "they get another rate. --set session=shared has them share that of fstui."
        )


def _of_the_flag(run: Run) -> list[str]:
    """Whether O_DSYNC, which some databases open their files with, is taken as seriously as the call."""
    found = {step.name: step for step in run.steps if isinstance(step.settings, SyncWrites) and step.ops}
    by_call, by_flag = found.get("fdatasync"), found.get("O_DSYNC")
    if by_call is None or by_flag is None or not measured(run):
        return []
    told = ", ".join(
        f"{rate(step.rate_per_s)}/s through {what} ({_per_sync(run, step)} flushes each)"
        for step, what in ((by_call, "write + fdatasync"), (by_flag, "O_DSYNC"))
    )
    return [f"The same blocks without a database: {told}."]


def _per_sync(run: Run, step: Step) -> str:
    flushed = figures.Counts(run).flushes_per_sync(step, step.settings)
    return NONE if flushed is None else ratio(flushed)


def _where(server: Server) -> str:
    return f", {server.data_directory}," if server.data_directory else ""


def measured(run: Run) -> list[Measured]:
    """The steps that have a database's figures."""
    return [
        Measured(step, step.settings, step.figures, step.figures.tps)
        for step in run.steps
        if isinstance(step.settings, Sysbench)
        and isinstance(step.figures, SysbenchFigures)
        and step.figures.tps is not None
    ]


def csv_cells(step: Step) -> Iterator[tuple[str, object]]:
    """The columns of a step in a spreadsheet; empty for what is no database."""
    asked = step.settings if isinstance(step.settings, Sysbench) else None
    told = step.figures if isinstance(step.figures, SysbenchFigures) else SysbenchFigures()
    server = told.server or Server()
    yield "server", server.title
    for name in ("workload", "threads", "tables", "rows"):
        yield name, getattr(asked, name, None)
    yield "server_settings", "; ".join(f"{name}={value}" for name, value in server.variables.items())
    numbers = _numbers(told) if asked else {}
    for name in _ROWS.values():
        yield name, numbers.get(name)
    yield "latency_ms_p99", step.latency_ns.p99 / 1e6 if step.latency_ns and step.latency_ns.p99 else None
    yield "ignored_errors", told.ignored_errors
    yield "cpu_share", told.cpu_share
    yield "others_cpu_share", told.others_cpu_share


def _numbers(told: SysbenchFigures) -> dict[str, int | float | None]:
    """By the names of their columns."""
    queries, latency = told.queries or Queries(), told.latency_ms or ReportedLatency()
    return {
        **{f"queries_{name}": getattr(queries, name) if told.queries else None for name in queries.__struct_fields__},
        "transactions": told.transactions,
        "tps": told.tps,
        "qps": told.qps,
        **{f"latency_ms_{name}": getattr(latency, name) for name in latency.__struct_fields__},
    }


def _blocks(run: Run) -> dict[str, list[Measured]]:
    blocks: dict[str, list[Measured]] = {}
    for each in measured(run):
        blocks.setdefault(_title(each), []).append(each)
    return blocks


def _title(each: Measured) -> str:
    return " · ".join([each.server.title, *each.in_force, counted(each.asked.threads, "client")])


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _block(counts: figures.Counts, title: str, databases: Sequence[Measured]) -> Table:
    numbers = [_numbers(each.told) for each in databases]
    rows = [(label, *(_text(each[name]) for each in numbers)) for label, name in _ROWS.items()]
    rows.append(("flushes/trx", *(flushes(counts, each) for each in databases)))
    return Table(title, ("", *(each.workload for each in databases)), tuple(rows))


def _compared(run: Run, counts: figures.Counts) -> Iterator[tuple[str, ...]]:
    """Neighbours that differ in nothing but durability."""
    pairs: dict[tuple[object, ...], dict[bool, Measured]] = {}
    for each in measured(run):
        rest = tuple(pair for pair in each.asked.options.items() if pair[0] not in DURABILITY)
        key = (each.server.title, each.asked.workload, each.asked.threads, rest)
        pairs.setdefault(key, {})[not each.server.lossy] = each
    for pair in pairs.values():
        if len(pair) == 2 and not pair[True].asked.read_only:
            yield _row(counts, pair[True], pair[False])


def _row(counts: figures.Counts, durable: Measured, other: Measured) -> tuple[str, ...]:
    return (
        f"{durable.server.title} {durable.workload}",
        rate(durable.tps),
        rate(other.tps) + (" (processor)" if other.told.limited_by_processor else ""),
        f"{ratio(other.tps / durable.tps)} ×" if durable.tps else NONE,
        f"{flushes(counts, durable)} → {flushes(counts, other)}",
    )


def flushes(counts: figures.Counts, each: Measured) -> str:
    """Per transaction, where the judge counts them; ``≤`` where others have added to them."""
    flushed = counts.flushes(each.step, each.asked) if each.server.on_target else None
    if flushed is None or not each.step.ops:
        return NONE
    mark = AT_MOST if counts.shared_with_others(each.step) else ""
    return f"{mark}{ratio(flushed / each.step.ops)}"


def _text(value: int | float | None) -> str:
    return NONE if value is None else count(value) if isinstance(value, int) else f"{value:.2f}"
