"""Read the recording of ``fstui record``."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from fstui.model.recording import Header, Record
from fstui.state import paths, ring

SYSTEM = Path("/var/lib/fstui") / ring.DIRECTORY
"""Where the systemd unit keeps the recording."""
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Recording(NamedTuple):
    """Records in the order in which they were taken."""

    directory: Path
    records: list[Record]
    damaged: int = 0
    """Lines that could not be read."""


def directory() -> Path:
    """Return the directory into which this user records. Raises Refused."""
    return paths.state_dir() / ring.DIRECTORY


def read(start: float | None = None, end: float | None = None) -> Recording:
    """Read the records between two times, and the headers. Of two recordings, read the one that was written last.

    Raises Refused, OSError.
    """
    places = [place for place in (directory(), SYSTEM) if os.access(place, os.R_OK | os.X_OK) and ring.files(place)]
    place = max(places, key=lambda one: ring.files(one)[-1].stat().st_mtime, default=directory())
    records: list[Record] = []
    damaged = 0
    for path in _overlapping(ring.files(place), start, end):
        for data in ring.objects(path):
            record = _decoded(data)
            if record is None:
                damaged += 1
            elif isinstance(record, Header) or (start or 0.0) <= record.at <= (end or record.at):
                records.append(record)
    return Recording(place, records, damaged)


def _overlapping(files: list[Path], start: float | None, end: float | None) -> list[Path]:
    """Return the files that may contain records of the period: a file begins where the one before it ends."""
    if start is None or end is None or not files:
        return files
    begins = [next((record.at for data in ring.objects(path) if (record := _decoded(data))), 0.0) for path in files]
    last = [*begins[1:], float("inf")]
    kept = [max(begin, until) >= start and min(begin, until) <= end for begin, until in zip(begins, last, strict=True)]
    return [path for path, keep in zip(files, kept, strict=True) if keep]


def _decoded(data: bytes | None) -> Record | None:
    if data is None:
        return None
    with suppress(msgspec.MsgspecError):
        return _DECODER.decode(data)
    with suppress(msgspec.MsgspecError, ValueError):  # a name that is not UTF-8 is a lone surrogate
        return cast(Record, msgspec.convert(json.loads(data), Record, strict=False))
    return None
