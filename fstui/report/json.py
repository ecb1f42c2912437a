"""The run document, and others; its schema is printed by ``fstui schema``.

What is printed is the same JSON as what is saved, in characters that no terminal takes for a command: names that hold
others have them as ``\\uXXXX``, which any reader of JSON turns back.
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
    """One document or event on one line."""
    return escape_json(encode(document)) + b"\n"


def schema() -> bytes:
    """The JSON Schema of the run document, indented for people."""
    return indented(documents.schema())


def indented(document: object) -> bytes:
    """Any document, indented for people."""
    return msgspec.json.format(escape_json(encode(document)), indent=2) + b"\n"
