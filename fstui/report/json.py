"""The run document, as DESIGN's contract has it; its schema is printed by ``fstui schema``."""

from __future__ import annotations

import msgspec

from fstui.model import Event, Run, encode


def line(document: Run | Event) -> bytes:
    """One document or event on one line."""
    return encode(document) + b"\n"


def schema() -> bytes:
    """The JSON Schema of the run document, indented for people."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Run)), indent=2) + b"\n"


def indented(document: msgspec.Struct) -> bytes:
    """Any document, indented for people."""
    return msgspec.json.format(encode(document), indent=2) + b"\n"
