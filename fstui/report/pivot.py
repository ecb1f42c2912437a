"""What databases got, in one table: configurations down, workloads across, of one run or of several side by side.

A configuration is what was in force: what all of them share stands in the title, what tells them apart beneath it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len

from fstui.measure.kinds.sysbench import ReportedLatency
from fstui.model.quantities import count, counted, duration_ns, short_size
from fstui.model.run import Run
from fstui.report import figures, oltp, replicas, waits
from fstui.report.oltp import NONE, Measured, Table
from fstui.report.text import columns, wrap
from fstui.storage.layers.zfs.datasets import PROPERTIES

_GAP = 2
_BLOCKS = "▁▂▃▄▅▆▇█"


class Cell(NamedTuple):
    """One workload in one configuration."""

    measured: Measured
    counts: figures.Counts


_FIGURES: dict[str, Callable[[Cell], str]] = {
    "tps": lambda cell: f"{cell.measured.tps:.2f}",
    "qps": lambda cell: _decimals(cell.measured.told.qps),
    "avg ms": lambda cell: _decimals(_latency(cell).avg),
    "p95 ms": lambda cell: _decimals(_latency(cell).p95),
    "p99": lambda cell: _percentile(cell.measured),
    "errors": lambda cell: _whole(cell.measured.told.ignored_errors),
    "flushes/trx": lambda cell: oltp.flushes(cell.counts, cell.measured),
}


def tables(run: Run) -> list[Table]:
    """All of a run: the one table first where it has more than one configuration, then the curves over its clients, at
    the end what the servers say of their files."""
    together, swept, waited = of_runs([run]), by_clients(run), waits.table(run)
    return [
        *([together] if together and len(together.legend) > 1 else []),
        *([swept] if swept else []),
        *oltp.tables(run),
        *([waited] if waited else []),
        *replicas.tables(run),
    ]


def notes(run: Run) -> list[str]:
    """Sentences about what the tables alone would not tell."""
    return [*oltp.notes(run), *waits.notes(run)]


def of_runs(runs: Sequence[Run]) -> Table | None:
    """None where no database was measured."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = {}
    for run in runs:
        counts = figures.Counts(run)
        for each in oltp.measured(run):
            words = tuple(_configuration(run, each, several=len(runs) > 1))
            cells.setdefault(words, {})[each.workload] = Cell(each, counts)
    if not cells:
        return None
    workloads = tuple(dict.fromkeys(workload for found in cells.values() for workload in found))
    title, legend = _told_apart(tuple(cells))
    rows = [row for number, found in enumerate(cells.values(), 1) for row in _rows(number, found, workloads)]
    return Table(f"Workloads by configuration · {title}", ("", *workloads), tuple(rows), legend)


def by_clients(run: Run) -> Table | None:
    """Transactions per second over the number of clients, with their curve; None where that was not varied."""
    curves: dict[tuple[str, ...], dict[str, dict[int, float]]] = {}
    for each in oltp.measured(run):
        *words, _ = _configuration(run, each, several=False)
        curves.setdefault(tuple(words), {}).setdefault(each.workload, {})[each.asked.threads] = each.tps
    clients = sorted({number for found in curves.values() for curve in found.values() for number in curve})
    if len(clients) < 2:
        return None
    title, legend = _told_apart(tuple(curves))
    rows = [
        (f"#{number} {workload}", *(_decimals(curve.get(at)) for at in clients), _drawn(curve, clients))
        for number, found in enumerate(curves.values(), 1)
        for workload, curve in found.items()
    ]
    return Table(f"tps by clients · {title}", ("", *map(str, clients), "curve"), tuple(rows), legend)


def _drawn(curve: dict[int, float], clients: Sequence[int]) -> str:
    """A block for each number of clients, the highest at the most transactions."""
    most = max(curve.values()) or 1.0
    blocks = (_BLOCKS[round((len(_BLOCKS) - 1) * curve[at] / most)] if at in curve else " " for at in clients)
    return "".join(blocks)


def _told_apart(configurations: Sequence[tuple[str, ...]]) -> tuple[str, tuple[str, ...]]:
    """What all of them share, and what each has besides, under its number."""
    shared = [word for word in configurations[0] if all(word in words for words in configurations)]
    own = (" · ".join(word for word in words if word not in shared) for words in configurations)
    legend = tuple(f"#{number} {words}" for number, words in enumerate(own, 1))
    return " · ".join(shared), legend if len(legend) > 1 else ()


def lines(table: Table, width: int) -> Iterator[str]:
    """As plain text: in as many pieces as that width wants."""
    yield from wrap(table.title, width)
    for words in table.legend:
        yield from wrap(words, width)
    for header, *rows in _pieces((table.header, *table.rows), width):
        yield from columns([header, *rows], "<" + ">" * (len(header) - 1), _GAP)


def _pieces(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """The same rows with as many of their columns each as there is room for, the first one always."""
    widths = [max(cell_len(row[at]) for row in rows) + _GAP for at in range(len(rows[0]))]
    first = 1
    while first < len(widths):
        ends = accumulate(widths[first:], initial=widths[0] - _GAP)
        last = max(first + sum(end <= width for end in ends) - 1, first + 1)
        yield [(row[0], *row[first:last]) for row in rows]
        first = last


def _configuration(run: Run, each: Measured, *, several: bool) -> Iterator[str]:
    asked = each.asked
    if several:
        yield f"run {run.id}"
    yield each.server.title
    yield figures.stack_line(run.target) or (run.target.path if run.target else NONE)
    yield from _properties(run)
    yield from each.in_force
    yield asked.tables_in_words
    if not each.server.existing:
        yield f"pool {short_size(asked.pool_bytes)}"
    yield counted(asked.threads, "client")


def _properties(run: Run) -> Iterator[str]:
    """Of ZFS, what decides how its files are written."""
    dataset = run.target.stack[0] if run.target and run.target.stack else None
    for name in PROPERTIES if dataset and dataset.kind == "zfs" else ():
        if dataset and (found := dataset.reading(name)):
            yield f"{name}={found.value}"


def _rows(number: int, found: dict[str, Cell], workloads: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for label, figure in _FIGURES.items():
        told = (figure(found[workload]) if workload in found else NONE for workload in workloads)
        yield f"#{number} {label}", *told


def _latency(cell: Cell) -> ReportedLatency:
    return cell.measured.told.latency_ms or ReportedLatency()


def _percentile(each: Measured) -> str:
    """Of its histogram: sysbench itself prints one percentile."""
    latency = each.step.latency_ns
    return NONE if latency is None or latency.p99 is None else duration_ns(latency.p99)


def _decimals(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _whole(value: int | None) -> str:
    return NONE if value is None else count(value)
