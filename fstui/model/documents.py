"""Documents as JSON."""

from __future__ import annotations

from typing import Any

import msgspec


def encode(document: object) -> bytes:
    """The document as JSON. Undecodable bytes in names become visible ``\\xNN``, which JSON can hold."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(document)))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
