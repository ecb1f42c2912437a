"""One row for each second of a database step, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from fstui.model.run import Run
from fstui.report.by_second import intervals
from fstui.report.formats.csv import spreadsheet_safe
from fstui.report.sections import Report

ENDING = ""
"""Most runs have none: no file of it is exported."""
_FIGURES = ("t_s", "tps", "qps", "p95_ms", "errors_per_s")


def render(run: Run, saved_to: str | None = None) -> str:
    """A header, and nothing beneath it where no database was measured. ``t_s``: a second's end within its step."""
    return _table([run])


def render_report(report: Report, width: int | None = None) -> str:
    """The seconds of all its runs."""
    return _table(report.runs)


def _table(runs: Iterable[Run]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("run", "name", *_FIGURES))
    for run in runs:
        for step in run.steps:
            for second in intervals(step):
                numbers = (getattr(second, name) for name in _FIGURES)
                writer.writerow((run.id, spreadsheet_safe(step.name), *numbers))
    return text.getvalue()
