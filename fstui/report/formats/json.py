"""The run document on one line, for programs."""

from __future__ import annotations

from fstui.model.run import Run
from fstui.report import json
from fstui.report.sections import Report

ENDING = "json"


def render(run: Run, saved_to: str | None = None) -> bytes:
    """The document as it is saved."""
    return json.line(run)


def render_report(report: Report, width: int | None = None) -> bytes:
    """The document of the report, indented for people."""
    return json.indented(report.document)
