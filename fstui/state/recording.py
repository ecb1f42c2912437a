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
    extent: tuple[float, float] | None = None
    """The times of the first and the last record, also of those that were not read."""


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
    damaged, last = 0, 0.0
    files = ring.files(place)
    begins = [next((record.at for data in ring.objects(path) if (record := _decoded(data))), 0.0) for path in files]
    for path in _overlapping(files, begins, start, end):
        for data in ring.objects(path):
            record = _decoded(data)
            if record is None:
                damaged += 1
                continue
            last = record.at
            if isinstance(record, Header) or (start or 0.0) <= record.at <= (end or record.at):
                records.append(record)
    if not any(isinstance(record, Header) for record in records):
        records = [*_latest_header(files), *records]
    return Recording(place, records, damaged, (begins[0], last) if begins else None)


def _latest_header(files: list[Path]) -> list[Record]:
    for path in reversed(files):
        found = [record for data in ring.objects(path) if isinstance(record := _decoded(data), Header)]
        if found:
            return list(found[-1:])
    return []


def _overlapping(files: list[Path], begins: list[float], start: float | None, end: float | None) -> list[Path]:
    """Return the files that may contain records of the period, and the last file. A file ends where the next begins."""
    if start is None or end is None or not files:
        return files
    ends = [*begins[1:], end]
    kept = [max(begin, until) >= start and min(begin, until) <= end for begin, until in zip(begins, ends, strict=True)]
    return [path for path, keep in zip(files, kept, strict=True) if keep or path == files[-1]]


def _decoded(data: bytes | None) -> Record | None:
    if data is None:
        return None
    with suppress(msgspec.MsgspecError):
        return _DECODER.decode(data)
    with suppress(msgspec.MsgspecError, ValueError):  # a name that is not UTF-8 is a lone surrogate
        return cast(Record, msgspec.convert(json.loads(data), Record, strict=False))
    return None
