"""Documents as JSON.

Printed documents have the same content as saved ones. Characters that control a terminal are written as ``\\uXXXX``.
"""

import msgspec

from fstui.model.documents import encode
from fstui.model.events import Event
from fstui.model.run import Run
from fstui.model.watch import WatchEvent
from fstui.report.characters import escape_json
from fstui.report.sections import Report

EXTENSION = "json"


def render(report: Report, width: int | None = None) -> bytes:
    """Return a run on one line, as it is saved; any other document indented."""
    return line(report.document) if isinstance(report.document, Run) else indented(report.document)


def line(document: Run | Event | WatchEvent) -> bytes:
    return escape_json(encode(document)) + b"\n"


def indented(document: object) -> bytes:
    return msgspec.json.format(escape_json(encode(document)), indent=2) + b"\n"
