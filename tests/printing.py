"""Print reports as the commands do."""

import csv
import io

from fstui.model.run import Run
from fstui.report import formats
from fstui.report.sections import Report


def as_text(report: Report, format_: str = "plain", width: int | None = None) -> str:
    """Return the report in that format, as text."""
    return _text(formats.render_report(format_, report, width))


def run_as_text(run: Run, format_: str = "plain", saved_to: str | None = None) -> str:
    """Return a run in that format, as text."""
    return _text(formats.render(format_, run, saved_to))


def csv_rows(text: str | bytes) -> list[dict[str, str]]:
    """Return the rows of a table in CSV by the names of its columns."""
    return list(csv.DictReader(io.StringIO(_text(text))))


def _text(document: str | bytes) -> str:
    return document if isinstance(document, str) else document.decode()
