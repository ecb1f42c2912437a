"""The results of database steps by configuration and by number of clients, and durable compared with not durable."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.measure.kinds.servers import DURABLE_OPTIONS, Server, option_text
from fstui.measure.kinds.sysbench import Queries, ReportedLatency, Sysbench, SysbenchFigures
from fstui.model.plan import PlannedStep
from fstui.model.quantities import count, counted, duration_ns, rate, ratio, short_size, two_decimals
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures
from fstui.report.comparison import Comparison
from fstui.report.sections import Section
from fstui.report.stack import stack_line
from fstui.report.text import NONE, sparkline
from fstui.storage.layers.zfs.datasets import PROPERTIES

AT_MOST = "≤ "
"""This stands before a count that includes flushes of other processes."""
PREFIX = "oltp_"
DURABLE_AND_NOT = "Durable against not durable"
_ROWS = {
    "queries read": "queries_read",
    "write": "queries_write",
    "other": "queries_other",
    "total": "queries_total",
    "transactions": "transactions",
    "tx/s": "tps",
    "qps": "qps",
    "min ms": "latency_ms_min",
    "avg ms": "latency_ms_avg",
    "max ms": "latency_ms_max",
    "p95 ms": "latency_ms_p95",
}
"""Rows of the table, with the names of their columns in CSV."""


class DatabaseStep(NamedTuple):
    step: Step
    settings: Sysbench
    figures: SysbenchFigures
    tps: float

    @property
    def server(self) -> Server:
        return self.figures.server or Server(title="server")

    @property
    def workload(self) -> str:
        return self.settings.workload.removeprefix(PREFIX)

    @property
    def effective_options(self) -> tuple[str, ...]:
        """The requested options with the values that the server reports; for an existing server, its own settings."""
        if self.server.existing:
            return self.server.commit_settings
        reported = self.server.variables
        return tuple(
            f"{name} {reported.get(name) or option_text(value)}" for name, value in self.settings.options.items()
        )


class _Column(NamedTuple):
    name: str
    """The name of the run if there are several."""
    run: Run
    counts: figures.Counts
    database: DatabaseStep
    spread: str = ""
    """The lowest and highest rate of several rounds."""


def database_steps(run: Run) -> list[DatabaseStep]:
    return [database for step in run.steps if (database := _database_step(step))]


def _database_step(step: Step) -> DatabaseStep | None:
    if not isinstance(step.settings, Sysbench) or not isinstance(step.figures, SysbenchFigures):
        return None
    return None if step.figures.tps is None else DatabaseStep(step, step.settings, step.figures, step.figures.tps)


def tables(run: Run) -> list[Section]:
    sections = (_durable_and_not(run), workloads(run), by_clients(run))
    return [section for section in sections if not section.empty]


def name_with_server(planned: PlannedStep) -> str:
    """Return the name of a step. The name of a database step also says which server it is."""
    settings = planned.settings
    if isinstance(settings, Sysbench) and settings.server not in planned.name:
        return f"{settings.kind.title} {planned.name}"
    return planned.name


def written_steps(run: Run) -> list[Step]:
    return [database.step for database in database_steps(run) if not database.settings.read_only]


def headline(run: Run) -> str:
    """Return ``MariaDB 10.11.19: 513 tx/s synced, 1 303 tx/s unsynced``; empty without transactions that write."""
    best: dict[str, dict[str, float]] = {}  # server → are commits synced? → transactions per second
    for database in database_steps(run):
        if not database.settings.read_only:
            rates = best.setdefault(database.server.title, {})
            word = "unsynced" if database.server.lossy else "synced"
            rates[word] = max(database.tps, rates.get(word, 0.0))
    sides = {
        server: ", ".join(f"{rate(tps)} tx/s {word}" for word, tps in rates.items()) for server, rates in best.items()
    }
    return "; ".join(f"{server}: {text}" for server, text in sides.items())


def workloads(run: Run) -> Section:
    counts = figures.Counts(run)
    return _workloads([_Column("", run, counts, database) for database in database_steps(run)])


def workloads_compared(comparison: Comparison) -> Section:
    """Return the table of workloads for all sides of a comparison, with the middle round of each step."""
    columns = []
    for side in comparison.sides:
        name = f"run {side.name}" + (", median round" if len(side.rounds) > 1 else "")
        for step in comparison.step_names:
            median = side.step(step)
            if median and (database := _database_step(median.step)):
                columns.append(_Column(name, median.run, comparison.counts(median.run), database, side.spread(step)))
    return _workloads(columns)


def _workloads(columns: Sequence[_Column]) -> Section:
    cells: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}  # configuration → workload → row → text
    for name, run, counts, database, spread in columns:
        words = (*([name] if name else []), *_configuration(run, database))
        round_rates = {"tx/s of all rounds": spread} if spread else {}
        cells.setdefault(words, {})[database.workload] = {**_figures(database, counts), **round_rates}
    if not cells:
        return Section()
    names = tuple(dict.fromkeys(workload for by_workload in cells.values() for workload in by_workload))
    shared, legend = _shared_and_own(tuple(cells))
    rows = tuple(
        (f"#{number} {label}" if legend else label, *(by_workload.get(name, {}).get(label, NONE) for name in names))
        for number, by_workload in enumerate(cells.values(), 1)
        for label in next(iter(by_workload.values()))
    )
    return Section(f"Workloads by configuration · {shared}", ("", *names), rows, legend, labelled=True)


def by_clients(run: Run) -> Section:
    """Return a table of transactions per second by the number of clients; empty if the number did not vary."""
    curves: dict[tuple[str, ...], dict[str, dict[int, float]]] = {}  # configuration → workload → clients → tps
    for database in database_steps(run):
        *words, _ = _configuration(run, database)
        curves.setdefault(tuple(words), {}).setdefault(database.workload, {})[database.settings.threads] = database.tps
    clients = sorted({number for by_workload in curves.values() for curve in by_workload.values() for number in curve})
    if len(clients) < 2:
        return Section()
    shared, legend = _shared_and_own(tuple(curves))
    rows = tuple(
        (
            f"#{number} {workload}" if legend else workload,
            *(_number_text(curve.get(threads)) for threads in clients),
            sparkline([curve.get(threads) for threads in clients]),
        )
        for number, by_workload in enumerate(curves.values(), 1)
        for workload, curve in by_workload.items()
    )
    return Section(f"tx/s by clients · {shared}", ("", *map(str, clients), "curve"), rows, legend, labelled=True)


def csv_cells(step: Step) -> Iterator[tuple[str, str | int | float | None]]:
    settings = step.settings if isinstance(step.settings, Sysbench) else None
    result = step.figures if isinstance(step.figures, SysbenchFigures) else SysbenchFigures()
    server = result.server or Server()
    yield "server", server.title
    for name in ("workload", "threads", "tables", "rows"):
        yield name, getattr(settings, name, None)
    yield "server_settings", "; ".join(f"{name}={value}" for name, value in server.variables.items())
    numbers = _numbers(result) if settings else {}
    for name in _ROWS.values():
        yield name, numbers.get(name)
    yield "latency_ms_p99", step.latency_ns.p99 / 1e6 if step.latency_ns and step.latency_ns.p99 else None
    yield "ignored_errors", result.ignored_errors
    yield "cpu_share", result.cpu_share
    yield "others_cpu_share", result.others_cpu_share


def flushes(counts: figures.Counts, database: DatabaseStep) -> str:
    """Return the flushes per transaction, with ``≤`` if other processes may also have flushed."""
    step = database.step
    most_flushes = counts.flushes_at_most(step) if database.server.on_target else None
    if most_flushes is None or not step.ops:
        return NONE
    own_flushes = counts.flushes(step, step.settings)
    return f"{AT_MOST}{ratio(most_flushes / step.ops)}" if own_flushes is None else ratio(own_flushes / step.ops)


def _figures(database: DatabaseStep, counts: figures.Counts) -> dict[str, str]:
    """Return all rows of the table. The p99 comes from the histogram, because sysbench prints only one percentile."""
    numbers = _numbers(database.figures)
    p99 = database.step.latency_ns.p99 if database.step.latency_ns else None
    return {
        **{label: _number_text(numbers[name]) for label, name in _ROWS.items()},
        "p99": NONE if p99 is None else duration_ns(p99),
        "errors": _number_text(database.figures.ignored_errors),
        "flushes/tx": flushes(counts, database),
    }


def _numbers(result: SysbenchFigures) -> dict[str, int | float | None]:
    queries, latency = result.queries or Queries(), result.latency_ms or ReportedLatency()
    return {
        **{f"queries_{name}": getattr(queries, name) if result.queries else None for name in queries.__struct_fields__},
        "transactions": result.transactions,
        "tps": result.tps,
        "qps": result.qps,
        **{f"latency_ms_{name}": getattr(latency, name) for name in latency.__struct_fields__},
    }


def _configuration(run: Run, database: DatabaseStep) -> Iterator[str]:
    yield database.server.title
    yield stack_line(run.target) or run.target_path or NONE
    yield from _zfs_properties(run)
    yield from database.effective_options
    yield database.settings.tables_in_words
    if not database.server.existing:
        yield f"pool {short_size(database.settings.pool_bytes)}"
    yield counted(database.settings.threads, "client")


def _zfs_properties(run: Run) -> Iterator[str]:
    dataset = run.target.stack[0] if run.target and run.target.stack else None
    for name in PROPERTIES if dataset and dataset.kind == "zfs" else ():
        if dataset and (value := dataset.value(name)):
            yield f"{name}={value}"


def _shared_and_own(configurations: Sequence[tuple[str, ...]]) -> tuple[str, tuple[str, ...]]:
    """Return the words that all configurations share, and one numbered line with the other words of each."""
    shared = [word for word in configurations[0] if all(word in words for words in configurations)]
    own_words = (" · ".join(word for word in words if word not in shared) for words in configurations)
    legend = tuple(f"#{number} {words}" for number, words in enumerate(own_words, 1))
    return " · ".join(shared), legend if len(legend) > 1 else ()


def _durable_and_not(run: Run) -> Section:
    """Return a table of the pairs of workloads that differ only in their durability."""
    counts = figures.Counts(run)
    pairs: dict[tuple[object, ...], dict[bool, DatabaseStep]] = {}
    for database in database_steps(run):
        other_options = tuple(pair for pair in database.settings.options.items() if pair[0] not in DURABLE_OPTIONS)
        key = (database.server.title, database.settings.workload, database.settings.threads, other_options)
        pairs.setdefault(key, {})[not database.server.lossy] = database
    complete = [pair for pair in pairs.values() if len(pair) == 2 and not pair[True].settings.read_only]
    rows = tuple(row for pair in complete for row in _pair(counts, pair[True], pair[False]))
    steps = (database for pair in complete for database in (pair[True], pair[False]))
    limited = ", ".join(database.step.name for database in steps if database.figures.limited_by_processor)
    lines = (f"CPU-bound: {limited}",) if limited else ()
    return Section(DURABLE_AND_NOT, ("", "commits", "tx/s", "factor", "flushes/tx"), rows, lines, labelled=True)


def _pair(counts: figures.Counts, durable: DatabaseStep, lossy: DatabaseStep) -> Iterator[tuple[str, ...]]:
    factor = f"{ratio(lossy.tps / durable.tps)} ×" if durable.tps else NONE
    for database, word, times in ((durable, "durable", ""), (lossy, "not durable", factor)):
        name = f"{database.server.title} {database.workload}"
        yield name, word, rate(database.tps), times, flushes(counts, database)


def _number_text(value: int | float | None) -> str:
    return NONE if value is None else count(value) if isinstance(value, int) else two_decimals(value)
