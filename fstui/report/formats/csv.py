"""A table for spreadsheets and programs. Column names contain the units. The cell of an unknown figure is empty."""

import csv
import io
from collections.abc import Iterable

from fstui.report.characters import escape_controls
from fstui.report.sections import Report, cell_value

EXTENSION = "csv"
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""A spreadsheet calculates text that starts with one of these characters."""


def render(report: Report, width: int | None = None) -> str:
    table = report.table
    columns = [index for index, name in enumerate(table.header) if name]  # columns without a name contain signs
    header = [table.header[index].lower() for index in columns]
    return csv_text([header, *([cell_value(row[index]) for index in columns] for row in table.rows)])


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
