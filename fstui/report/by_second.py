"""What a database got in each second of a step: transactions, queries, latency and errors, as sysbench tells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from statistics import mean

from fstui.measure.kinds.sysbench import Interval, SysbenchFigures
from fstui.model.quantities import count
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.oltp import Table

HEADER = ("until s", "tps", "qps", "p95 ms", "errors/s")


def tables(run: Run, most_rows: int | None = None) -> Iterator[Table]:
    """One per database step; with so many rows at the most, neighbouring seconds become one."""
    for step in run.steps:
        if found := intervals(step):
            length = ceil(len(found) / most_rows) if most_rows else 1
            every = "second" if length == 1 else f"{count(length)} seconds"
            parts = (found[first : first + length] for first in range(0, len(found), length))
            yield Table(f"By the {every} · {step.name}", HEADER, tuple(map(_row, parts)))


def intervals(step: Step) -> tuple[Interval, ...]:
    """Empty where no database was measured."""
    return step.figures.intervals if isinstance(step.figures, SysbenchFigures) else ()


def _row(part: Sequence[Interval]) -> tuple[str, ...]:
    """The p95 of several seconds is the worst of theirs."""
    return (
        f"{part[-1].t_s:g}",
        f"{mean(second.tps for second in part):.2f}",
        f"{mean(second.qps for second in part):.2f}",
        f"{max(second.p95_ms for second in part):.2f}",
        f"{mean(second.errors_per_s for second in part):.2f}",
    )
