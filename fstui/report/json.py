"""Documents as JSON.

Printed documents have the same content as saved ones. Characters that control a terminal are written as ``\\uXXXX``.
"""

from __future__ import annotations

import msgspec

from fstui.measure.kinds import documents
from fstui.model.documents import encode
from fstui.model.events import Event
from fstui.model.run import Run
from fstui.model.watch import WatchEvent
from fstui.report.characters import escape_json


def line(document: Run | Event | WatchEvent) -> bytes:
    return escape_json(encode(document)) + b"\n"


def schema() -> bytes:
    """Return the JSON Schema of the run document."""
    return indented(documents.schema())


def indented(document: object) -> bytes:
    return msgspec.json.format(escape_json(encode(document)), indent=2) + b"\n"
