"""A table for spreadsheets and programs. Column names contain the units. The cell of an unknown figure is empty."""

import csv
import io
from collections.abc import Iterable

from fstui.report.characters import escape_controls
from fstui.report.sections import Report, Section, cell_text

EXTENSION = "csv"
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""A spreadsheet calculates text that starts with one of these characters."""


def render(report: Report, width: int | None = None) -> str:
    table = next((section for section in report.sections if section.rows), Section())
    texts = [map(str.lower, table.header), *(map(cell_text, row) for row in table.rows)]
    return csv_text(report.records or texts)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return the rows as CSV. Text that a spreadsheet would calculate starts with an apostrophe."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_safe, row) for row in rows)
    return text.getvalue()


def _safe(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = escape_controls(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
