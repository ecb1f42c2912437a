"""Documents for programs."""

from __future__ import annotations

from fstui.model.run import Run
from fstui.report import json
from fstui.report.sections import Report

ENDING = "json"


def render(report: Report, width: int | None = None) -> bytes:
    """Return a run on one line, as it is saved; any other document indented."""
    return json.line(report.document) if isinstance(report.document, Run) else json.indented(report.document)
