"""One row for each second of a database step, for spreadsheets."""

from collections.abc import Iterator

from fstui.measure.kinds.sysbench import SysbenchFigures
from fstui.model.run import Run
from fstui.report.formats.csv import csv_text
from fstui.report.sections import Report

EXTENSION = ""
_FIGURES = ("t_s", "tps", "qps", "p95_ms", "errors_per_s")


def render(report: Report, width: int | None = None) -> str:
    """Return the seconds of all runs. ``t_s`` is the end of a second, counted from the start of its step."""
    return csv_text([("run", "name", *_FIGURES), *(row for run in report.runs for row in _rows(run))])


def _rows(run: Run) -> Iterator[tuple[object, ...]]:
    for step in run.steps:
        for second in step.figures.intervals if isinstance(step.figures, SysbenchFigures) else ():
            yield run.id, step.name, *(getattr(second, name) for name in _FIGURES)
